"""SillyTavern's backup of personas: names and descriptions under the file names of their pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.storable import storable, titled
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern.story import PersonaPosition
from tavernkit.values import Json, JsonObject, Value

_POSITIONS: Mapping[int, str] = {place: place.name.lower() for place in PersonaPosition}
# Once a place of its own behind the character; SillyTavern itself now takes it for the one in the prompt.
_AFTER_CHARACTER = 1
_ROLES = ("system", "user", "assistant")
UNSAFE = re.compile(r"[^\w-]+")
MAX_PERSONAS = 5_000
_MAX_DEPTH = 10_000
MAX_CONNECTIONS = 500
MAX_KEY = 300


class Connection(Value, frozen=True, kw_only=True):
    """What selects a persona: `kind` is `character`, or `other` for groups; `key` is what SillyTavern calls it."""

    kind: str
    key: str
    source: JsonObject = {}

    def written(self) -> dict[str, Json]:
        return dict(self.source) or {"type": "character", "id": self.key}


class BackedUp(Value, frozen=True, kw_only=True):
    """A persona in a backup; `lorebook` is the name of its book.

    `avatar` is the file name of its picture, and `entry` everything that the backup has under it, also what has no
    place here.
    """

    name: str
    description: str = ""
    position: str = "in_prompt"
    depth: int = 2
    role: str = "system"
    lorebook: str = ""
    title: str = ""
    connections: tuple[Connection, ...] = ()
    is_default: bool = False
    avatar: str = ""
    entry: JsonObject = {}


def read_backup(data: bytes) -> tuple[list[BackedUp], ImportReport]:
    """Read a backup, or a whole `settings.json`. Raises ParseError when it is neither."""
    report = ReportBuilder()
    document = parse_json(data, what="The backup of personas")
    if isinstance(document, dict) and isinstance(document.get("power_user"), dict):
        document = document["power_user"]
    personas = read_personas(LooseObject(document if isinstance(document, dict) else {}, report))
    return personas, report.build("personas")


def read_personas(source: LooseObject) -> list[BackedUp]:
    """The personas in a backup, or in the `power_user` of settings."""
    report = source.report
    names, described = source.object("personas"), source.nested("persona_descriptions")
    default = source.optional_text("default_persona")
    if len(names) > MAX_PERSONAS:
        report.ignored(
            "personas", _("{count} personas; only the first {limit} were read", count=len(names), limit=MAX_PERSONAS)
        )
    if default is not None and default not in names:
        report.ignored("default_persona", _("the file has no persona “{name}”", name=storable(default[:100])))
    return [
        read_entry(name, described.nested(avatar)).with_(is_default=avatar == default, avatar=avatar)
        for avatar, name in list(names.items())[:MAX_PERSONAS]
    ]


def write_backup(personas: list[BackedUp]) -> dict[str, Json]:
    """The backup that SillyTavern restores.

    A persona that came from a backup keeps its file name there; another one gets one made of its place and name.
    """
    names: dict[str, Json] = {}
    descriptions: dict[str, Json] = {}
    default: str | None = None
    kept = {persona.avatar for persona in personas}
    for number, persona in enumerate(personas, start=1):
        avatar = persona.avatar
        if not avatar or avatar in names:
            made = f"{number}-{UNSAFE.sub('', persona.name)[:50]}.png"
            avatar = f"_{made}" if made in kept else made
        names[avatar] = persona.name
        descriptions[avatar] = _entry(persona)
        default = avatar if persona.is_default else default
    return {"personas": names, "persona_descriptions": descriptions, "default_persona": default}


def _entry(persona: BackedUp) -> dict[str, Json]:
    """What a backup says about a persona: as it was read, with what has changed since."""
    now: dict[str, Json] = {
        "description": persona.description,
        "position": int(PersonaPosition[persona.position.upper()]),
        "depth": persona.depth,
        "role": _ROLES.index(persona.role),
        "lorebook": persona.lorebook,
        "title": persona.title,
        "connections": [connection.written() for connection in persona.connections],
    }
    if not persona.entry:
        return now
    before = read_entry(persona.name, LooseObject(persona.entry, ReportBuilder()))
    changed = {key: value for key, value in now.items() if getattr(persona, key) != getattr(before, key)}
    return {**persona.entry, **changed}


def read_entry(name: Json, source: LooseObject) -> BackedUp:
    """The persona of this name, by what a backup says about it."""
    position = source.integer("position")
    if position not in _POSITIONS and position != _AFTER_CHARACTER:
        source.report.ignored(
            source.at("position"), _("unknown position {position}; the prompt is used", position=str(position))
        )
    role = source.integer("role")
    persona = BackedUp(
        name=titled(name if isinstance(name, str) else "", "Persona"),
        description=storable(source.text("description")),
        position=_POSITIONS.get(position, "in_prompt"),
        depth=min(max(source.integer("depth", default=2), 0), _MAX_DEPTH),
        role=_ROLES[role] if 0 <= role < len(_ROLES) else "system",
        lorebook=titled(source.text("lorebook"), ""),
        title=titled(source.text("title"), ""),
        connections=_connections(source),
        entry=source.source,
    )
    for key in source.rest():
        source.report.add(source.at(key), "exact", "kept for the export; not used here")
    return persona


def _connections(source: LooseObject) -> tuple[Connection, ...]:
    found: dict[tuple[str, str], Connection] = {}
    for one in source.objects("connections"):
        kind, key = one.text("type"), storable(one.text("id"))
        if key and len(key) <= MAX_KEY and len(found) < MAX_CONNECTIONS:
            known = "character" if kind == "character" else "other"
            found.setdefault((kind, key), Connection(kind=known, key=key, source=dict(one.source)))
    return tuple(found.values())
