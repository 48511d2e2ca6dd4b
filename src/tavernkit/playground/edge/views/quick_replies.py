"""What the pages about quick replies show, and the buttons above the composer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from pydantic import ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import QuickReplySet
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.views.characters import other_characters
from tavernkit.playground.edge.web.forms import as_lines, one_newline, typed
from tavernkit.playground.story.access.access import SpaceAccess
from tavernkit.playground.story.quick_replies.documents import (
    ButtonFields,
    ButtonOut,
    SetFields,
    button_of,
    buttons_in,
    set_fields,
)
from tavernkit.playground.story.quick_replies.queries import (
    PlaceOfSet,
    places_of_set,
    set_for,
    sets_in_use,
    sets_page,
    sets_shown,
)
from tavernkit.playground.story.spaces.queries import spaces_run_by
from tavernkit.values import Value

SETS_PER_PAGE = 100
BUTTONS_SHOWN = 200
SPACES_SHOWN = 200
CHARACTERS_SHOWN = 8

SET_LABELS: Final = {
    "name": _("Name"),
    "disable_send": _("Insert without sending"),
    "place_before_input": _("Place before typed text"),
    "inject_input": _("Send typed text along"),
    "color": _("Colour"),
    "only_border_color": _("Colour the border only"),
}
BUTTON_LABELS: Final = {
    "label": _("Label"),
    "title": _("Tooltip"),
    "message": _("Message"),
    "icon": _("Icon"),
    "show_label": _("Show label with icon"),
    "is_hidden": _("Hidden"),
    "context_list": _("Sets in context menu"),
    "prevent_auto_execute": _("Do not trigger others"),
    "execute_on_startup": _("On startup"),
    "execute_on_user": _("On user message"),
    "execute_on_ai": _("On reply"),
    "execute_on_chat_change": _("On opening a chat"),
    "execute_on_group_member_draft": _("On group member draft"),
    "execute_on_new_chat": _("On new chat"),
    "execute_before_generation": _("Before generation"),
    "automation_id": _("Automation ID"),
}
CHAINED = "+ "
"""Stands before the name of a set that is chained, in the box of the sets in a context menu."""


@typed
class SetForm(SetFields):
    """The boxes as they stand; a box with a tick says `on`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def fields(self) -> dict[str, Any]:
        """The fields as the service takes them."""
        return _ticked(self.model_dump(), SetFields) | {"name": self.name.strip(), "color": self.color.strip()}


@typed
class ButtonForm(ButtonFields):
    """The boxes of a button; sets of the context menu stand on lines of their own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    context_list: str = ""  # type: ignore[assignment] # lines in a box, a list in the model

    def fields(self) -> dict[str, Any]:
        """The fields as the service takes them."""
        menu = [
            {"set": line.removeprefix(CHAINED.strip()).strip(), "is_chained": line.startswith(CHAINED.strip())}
            for line in as_lines(self.context_list)
        ]
        texts = {name: one_newline(value) for name, value in self.model_dump().items()}
        return _ticked(texts, ButtonFields) | {"context_list": menu}


def _ticked(texts: Mapping[str, str], model: type[SetFields] | type[ButtonFields]) -> dict[str, Any]:
    """Boxes with a tick as what they say."""
    flags = {name for name, field in model.model_fields.items() if field.annotation is bool}
    return {name: bool(value) if name in flags else value for name, value in texts.items()}


def set_form(row: QuickReplySet) -> SetForm:
    """The form of a set as it is stored."""
    return SetForm.model_validate(
        {name: _box(value) for name, value in {**set_fields(row.data), "name": row.name}.items()}
    )


def button_form(button: ButtonOut | ButtonFields) -> ButtonForm:
    """The form of a button as it is stored."""
    boxes = {name: _box(getattr(button, name)) for name in ButtonFields.model_fields if name != "context_list"}
    menu = [f"{CHAINED if item.is_chained else ''}{item.set}" for item in button.context_list]
    return ButtonForm.model_validate({**boxes, "context_list": "\n".join(menu)})


def _box(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return one_newline(str(value))


def differences(
    mine: SetForm | ButtonForm, theirs: SetForm | ButtonForm, labels: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    wanted, flags = mine.model_dump(), {True: _("Yes"), False: _("No")}
    kept = theirs.fields()
    return tuple(
        (labels[name], flags[kept[name]] if isinstance(kept[name], bool) else box or _("Empty"))
        for name, box in theirs.model_dump().items()
        if one_newline(wanted[name]) != box
    )


class SetLine(Value, frozen=True, kw_only=True):
    """A set in the list; `is_used`: in all stories."""

    row: QuickReplySet
    buttons: int
    is_used: bool


class SetsView(Value, frozen=True, kw_only=True):
    """The list of sets."""

    sets: Sequence[SetLine]
    is_first: bool
    next: str | None


class SetView(Value, frozen=True, kw_only=True):
    """A set with its buttons and the places where it is used; `found` are characters that it could be used with."""

    row: QuickReplySet
    buttons: Sequence[ButtonOut]
    is_used: bool
    places: Sequence[PlaceOfSet]
    spaces: Mapping[str, str]
    search: str
    found: Mapping[UUID, str]


class BarButton(Value, frozen=True, kw_only=True):
    """A button above the composer."""

    key: str
    label: str
    title: str
    script: str
    color: str
    only_border: bool


async def sets_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> SetsView:
    """A page of the person's sets."""
    async with runtime.database.read() as session:
        rows = await sets_page(session, viewer, behind=behind_name(after), limit=SETS_PER_PAGE + 1)
        used = await sets_in_use(session, viewer)
    shown = rows[:SETS_PER_PAGE]
    return SetsView(
        sets=[
            SetLine(row=row, buttons=len(row.data["qrList"]), is_used=row.id in used and used[row.id].visible)
            for row in shown
        ],
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > SETS_PER_PAGE else None,
    )


async def set_view(runtime: Runtime, viewer: Viewer, set_id: UUID, *, search: str = "") -> SetView:
    """A set, and where it is and could be used."""
    search = search.replace("\x00", "").strip()
    async with runtime.database.read() as session:
        row = await set_for(session, viewer, set_id)
        places = await places_of_set(session, viewer, set_id)
        spaces = await spaces_run_by(session, viewer, limit=SPACES_SHOWN)
        known = {place.link.character_id for place in places}
        found = (
            await other_characters(session, viewer, known=known, search=search, limit=CHARACTERS_SHOWN)
            if search
            else []
        )
    used = {place.link.space_id for place in places}
    return SetView(
        row=row,
        buttons=buttons_in(row.data),
        is_used=any(place.link.user_id is not None and place.link.visible for place in places),
        places=[place for place in places if place.link.user_id is None],
        spaces={str(space.id): space.name for space in spaces if space.id not in used},
        search=search,
        found={line.id: line.nickname or line.name for line in found},
    )


async def bar_of(session: AsyncSession, viewer: Viewer, access: SpaceAccess) -> tuple[BarButton, ...]:
    """The buttons above this person's composer."""
    shown = await sets_shown(session, viewer, access)
    buttons = (
        BarButton(
            key=f"{row.id}/{button.id}",
            label=button.label.strip() or button.title.strip() or button.icon.strip() or _("Quick reply"),
            title=button.title,
            script=button.message if button.is_script else "",
            color=fields["color"],
            only_border=fields["only_border_color"],
        )
        for row in shown
        for fields in (set_fields(row.data),)
        for button in map(button_of, row.data["qrList"])
        if not button.is_hidden
    )
    return tuple(islice(buttons, BUTTONS_SHOWN))
