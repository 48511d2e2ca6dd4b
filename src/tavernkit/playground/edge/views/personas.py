"""What the pages about personas show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import ConfigDict

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.forms import one_newline, typed
from tavernkit.playground.story.personas.documents import PersonaFields
from tavernkit.playground.story.personas.service import personas_page
from tavernkit.values import Value

PERSONAS_PER_PAGE = 100

POSITIONS: Final = {
    "in_prompt": _("In prompt"),
    "top_of_note": _("Before author's note"),
    "bottom_of_note": _("After author's note"),
    "at_depth": _("At depth"),
    "none": _("None (name only)"),
}
ROLES: Final = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}
LABELS: Final = {
    "name": _("Name"),
    "description": _("Description"),
    "position": _("Position of description"),
    "depth": _("Depth"),
    "role": _("Role at depth"),
    "is_default": _("Default persona"),
}


@typed
class PersonaForm(PersonaFields):
    """The boxes as they stand; a box with a tick says `on`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def fields(self) -> dict[str, str | bool]:
        """The fields as the service takes them."""
        return {
            **self.model_dump(),
            "name": self.name.strip(),
            "description": one_newline(self.description),
            "is_default": bool(self.is_default),
        }


class PersonasView(Value, frozen=True, kw_only=True):
    """The list of personas."""

    personas: Sequence[Persona]
    is_first: bool
    next: str | None


async def personas_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> PersonasView:
    """A page of the person's personas."""
    async with runtime.database.read() as session:
        rows = await personas_page(session, viewer, behind=behind_name(after), limit=PERSONAS_PER_PAGE + 1)
    shown = rows[:PERSONAS_PER_PAGE]
    return PersonasView(
        personas=shown,
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > PERSONAS_PER_PAGE else None,
    )


def differences(mine: PersonaForm, theirs: PersonaForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    wanted = mine.fields()
    named = {"position": POSITIONS, "role": ROLES, "is_default": {"True": _("Yes"), "False": _("No")}}
    return tuple(
        (LABELS[name], named.get(name, {}).get(str(now), str(now)) or _("Empty"))
        for name, now in theirs.fields().items()
        if now != wanted[name]
    )
