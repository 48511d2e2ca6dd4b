"""SillyTavern's backup of personas: names and descriptions under the file names of their pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tavernkit.playground.storable import storable, titled
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern.persona import PersonaPosition
from tavernkit.values import Json, Value

__all__ = ["BackedUp", "read_backup", "write_backup"]

_POSITIONS: Mapping[int, str] = {place: place.name.lower() for place in PersonaPosition}
# Once a place of its own behind the character; SillyTavern itself now takes it for the one in the prompt.
_AFTER_CHARACTER = 1
_ROLES = ("system", "user", "assistant")
_UNSAFE = re.compile(r"[^\w-]+")
_MAX_PERSONAS = 5_000
_MAX_DEPTH = 10_000


class BackedUp(Value, frozen=True, kw_only=True):
    """A persona in a backup; `lorebook` is the name of its book."""

    name: str
    description: str = ""
    position: str = "in_prompt"
    depth: int = 2
    role: str = "system"
    lorebook: str = ""
    is_default: bool = False


def read_backup(data: bytes) -> tuple[list[BackedUp], ImportReport]:
    """Read a backup, or a whole `settings.json`. Raises ParseError when it is neither."""
    report = ReportBuilder()
    document = parse_json(data, what="The backup of personas")
    if isinstance(document, dict) and isinstance(document.get("power_user"), dict):
        document = document["power_user"]
    source = LooseObject(document if isinstance(document, dict) else {}, report)
    names, described = source.object("personas"), source.nested("persona_descriptions")
    default = source.optional_text("default_persona")
    if len(names) > _MAX_PERSONAS:
        report.ignored("personas", f"{len(names):,} personas; only the first {_MAX_PERSONAS:,} were read")
    personas = [
        _read(name, described.nested(avatar), is_default=avatar == default)
        for avatar, name in list(names.items())[:_MAX_PERSONAS]
    ]
    return personas, report.build("personas")


def write_backup(personas: list[BackedUp]) -> dict[str, Json]:
    """The backup that SillyTavern restores; each persona needs a file name, which is made of its place and name."""
    names: dict[str, Json] = {}
    descriptions: dict[str, Json] = {}
    default: str | None = None
    for number, persona in enumerate(personas, start=1):
        avatar = f"{number}-{_UNSAFE.sub('', persona.name)[:50]}.png"
        names[avatar] = persona.name
        descriptions[avatar] = {
            "description": persona.description,
            "position": int(PersonaPosition[persona.position.upper()]),
            "depth": persona.depth,
            "role": _ROLES.index(persona.role),
            "lorebook": persona.lorebook,
        }
        default = avatar if persona.is_default else default
    return {"personas": names, "persona_descriptions": descriptions, "default_persona": default}


def _read(name: Json, source: LooseObject, *, is_default: bool) -> BackedUp:
    position = source.integer("position")
    if position not in _POSITIONS and position != _AFTER_CHARACTER:
        source.report.ignored(source.at("position"), f"{position} is no place for a persona; it stands in the prompt")
    role = source.integer("role")
    persona = BackedUp(
        name=titled(name if isinstance(name, str) else "", "Persona"),
        description=storable(source.text("description")),
        position=_POSITIONS.get(position, "in_prompt"),
        depth=min(max(source.integer("depth", default=2), 0), _MAX_DEPTH),
        role=_ROLES[role] if 0 <= role < len(_ROLES) else "system",
        lorebook=titled(source.text("lorebook"), ""),
        is_default=is_default,
    )
    for key in source.rest():
        source.report.ignored(source.at(key), "there is no place for it here")
    return persona
