"""The side panel of a chat: its tabs, and who may open it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import refuse_in, wants_streams
from tavernkit.playground.edge.web.streams import CONTENT_TYPE, stream
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.values import Value

KINDS: Mapping[str, str] = {"branch": _("Branch"), "checkpoint": _("Checkpoint"), "thread": _("Thread")}
"""What a conversation is called that is not the first of its tree."""


class ChoiceView(Value, frozen=True, kw_only=True):
    """Something to choose from a list."""

    value: str
    label: str
    is_chosen: bool = False
    hint: str = ""


class TrailView(Value, frozen=True, kw_only=True):
    """Where a conversation stands: its space, and the root if it is none itself. `kind` is then what it is.

    A crumb is a name with an address, which is empty for those who may not go there.

    `has_panel`: the viewer is in the space, and may open the side panel.
    """

    space_id: str = ""
    crumbs: tuple[tuple[str, str], ...] = ()
    kind: str = ""
    has_panel: bool = False
    may_begin: bool = False
    may_import: bool = False
    may_share: bool = False


def trail_title(space: str, conversation: str) -> str:
    """A conversation behind its space, which is only named where it is called something else."""
    return shown_name(conversation) if space == conversation else f"{shown_name(space)} › {shown_name(conversation)}"


async def trail_of(session: AsyncSession, conversation: Conversation, access: SpaceAccess) -> TrailView:
    """The way to a conversation for somebody who may read it; the root is only named where it is another one."""
    space = access.space
    is_inside = access.member is not None or access.level >= Access.ADMINISTER
    crumbs = [(shown_name(space.name), f"/spaces/{space.id}" if is_inside else "")]
    root_id = conversation.root_conversation_id
    if root_id is not None and root_id != conversation.id:
        root = await session.get(Conversation, root_id)
        # Who may see a branch may not always see what it came from.
        root = None if root is None or root.status == "deleting" else root
        if root is not None and (access.level >= Access.ADMINISTER or root.visibility == conversation.visibility):
            crumbs.append((shown_name(root.name), f"/conversations/{root.id}"))
    return TrailView(
        space_id=str(space.id),
        crumbs=tuple(crumbs),
        kind=KINDS.get(conversation.kind, ""),
        has_panel=is_inside,
        may_begin=access.level >= Access.TAKE_PART and space.status == "active",
        may_import=access.level >= Access.ADMINISTER and space.status == "active",
        may_share=access.level >= Access.ADMINISTER,
    )


Tab: TypeAlias = Literal["members", "settings", "lore", "prompt", "state", "pipelines", "runs", "usage"]

TABS: dict[Tab, str] = {
    "members": _("Members"),
    "settings": _("Settings"),
    "lore": _("Lore"),
    "prompt": _("Prompt"),
    "state": _("State"),
    "pipelines": _("Pipelines"),
    "runs": _("Runs"),
    "usage": _("Usage"),
}
SHOWS: dict[Tab, str] = {
    "members": "members",
    "settings": "",
    "lore": "lore members space",
    "prompt": "injections toggles settings members reply message_changed message_hidden message_restored",
    "state": "artifact.updated state_changed reply message_changed message_hidden message_restored pipelines steps",
    "pipelines": "pipelines members space",
    "runs": "run reply",
    "usage": "run reply",
}
"""Which kinds of events a tab is drawn anew for. The form of the settings takes in by itself what was changed."""

FRAME = "side_panel_frame"
PROBLEM = "panel_problem"
"""Where the panel says why something was not done."""
IN_PANEL = [refuse_in(PROBLEM)]
"""The dependencies of the routers of tabs."""

_UNCACHED = {"Cache-Control": "no-store"}


async def panel_access(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID
) -> tuple[Conversation, SpaceAccess]:
    """The conversation, for those who are in its space: others who may read the story do not see what is behind it."""
    conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    if access.member is None and access.level < Access.ADMINISTER:
        raise not_found(_("conversation"))
    return conversation, access


class PanelView(Value, frozen=True, kw_only=True):
    """What every tab shows around what is its own. `problem` is why the last thing that was asked for was not done."""

    conversation: Conversation
    space: Space
    tab: Tab
    problem: str = ""

    @property
    def address(self) -> str:
        """Where the tab is, and where its forms go."""
        return f"/conversations/{self.conversation.id}/panel/{self.tab}"

    @property
    def shows(self) -> str:
        """The kinds of events that make it old."""
        return SHOWS[self.tab]

    @property
    def tabs(self) -> Mapping[Tab, str]:
        return TABS


def panel_view(conversation: Conversation, access: SpaceAccess, tab: Tab, problem: str = "") -> PanelView:
    return PanelView(conversation=conversation, space=access.space, tab=tab, problem=problem)


def panel_page(request: Request, tab: Tab, view: object, status: int = 200) -> Response:
    """A tab: the frame alone for the chat page that asks for it, else a page of its own."""
    framed = request.headers.get("turbo-frame") == FRAME
    layout = "panel/_frame.html" if framed else "panel/_page.html"
    html = render(f"panel/{tab}.html", view=view, layout=layout)
    return HTMLResponse(str(html), status, _UNCACHED)


def panel_answer(
    request: Request, tab: Tab, view: object, *, otherwise: str, refused: Refused | None = None
) -> Response:
    """What a form of the panel is answered: the tab as it is now, or the way to it."""
    if wants_streams(request):
        html = stream("replace", "panel_content", render(f"panel/{tab}.html", view=view, layout="panel/_content.html"))
        return HTMLResponse(str(html), refused.status if refused else 200, media_type=CONTENT_TYPE)
    if refused is not None:
        return panel_page(request, tab, view, refused.status)
    return RedirectResponse(otherwise, status_code=303)
