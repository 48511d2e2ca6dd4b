"""What the pages about personas show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from pydantic import ConfigDict

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.views.characters import other_characters
from tavernkit.playground.edge.web.forms import one_newline, typed
from tavernkit.playground.story.personas.connections import connections_of
from tavernkit.playground.story.personas.documents import ConnectionOut, PersonaFields
from tavernkit.playground.story.personas.queries import personas_page, spaces_with_persona
from tavernkit.values import Value

PERSONAS_PER_PAGE = 100
CHARACTERS_SHOWN = 8
SPACES_SHOWN = 50

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
    "title": _("Title"),
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
            "title": self.title.strip(),
            "description": one_newline(self.description),
            "is_default": bool(self.is_default),
        }


class PersonasView(Value, frozen=True, kw_only=True):
    """The list of personas."""

    personas: Sequence[Persona]
    search: str
    is_first: bool
    next: str | None


class PersonaView(Value, frozen=True, kw_only=True):
    """What belongs to a persona beside its form: what selects it, and the spaces that use it; `found` are
    characters that could select it."""

    connections: Sequence[ConnectionOut]
    spaces: Sequence[tuple[UUID, str]]
    search: str
    found: Mapping[UUID, str]


async def personas_view(
    runtime: Runtime, viewer: Viewer, after: str | None = None, *, search: str = ""
) -> PersonasView:
    """A page of the person's personas."""
    search = storable(search).strip()
    async with runtime.database.read() as session:
        rows = await personas_page(
            session, viewer, behind=behind_name(after), limit=PERSONAS_PER_PAGE + 1, search=search
        )
    shown = rows[:PERSONAS_PER_PAGE]
    return PersonasView(
        personas=shown,
        search=search,
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > PERSONAS_PER_PAGE else None,
    )


async def persona_view(runtime: Runtime, viewer: Viewer, persona_id: UUID, *, search: str = "") -> PersonaView:
    """What belongs to a persona beside its form."""
    search = storable(search).strip()
    async with runtime.database.read() as session:
        connections = await connections_of(session, viewer, persona_id)
        spaces = await spaces_with_persona(session, viewer, persona_id, limit=SPACES_SHOWN)
        known = {connection.character_id for connection in connections}
        found = (
            await other_characters(session, viewer, known=known, search=search, limit=CHARACTERS_SHOWN)
            if search
            else []
        )
    return PersonaView(
        connections=connections,
        spaces=[(space.id, space.name) for space in spaces],
        search=search,
        found={line.id: line.nickname or line.name for line in found},
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
