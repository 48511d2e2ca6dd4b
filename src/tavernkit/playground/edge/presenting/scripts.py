"""What the pages about regex scripts show, and the form of a script: fields as texts in boxes, and back into the file.

Only what was changed is written, so that a field that the form shows in its own way stays as its file wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Preset, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.presenting.home import recent_stories
from tavernkit.playground.edge.presenting.panel import trail_title
from tavernkit.playground.edge.web.forms import one_newline, whole_number
from tavernkit.playground.story.scripts.documents import (
    ScriptHolder,
    ScriptKind,
    ScriptOut,
    ScriptTrialOut,
    decoded,
)
from tavernkit.playground.story.scripts.service import read_holder
from tavernkit.sillytavern.regex_scripts import Placement, RegexScript
from tavernkit.text.js_values import to_number
from tavernkit.values import Json, JsonObject, Value

NAMELESS: Final = _("Unnamed")
KINDS: Final[Mapping[ScriptKind, str]] = {"sillytavern": _("SillyTavern scripts"), "risuai": _("RisuAI scripts")}
PLACEMENTS: Final[Mapping[str, tuple[Placement, str]]] = {
    "user_input": (Placement.USER_INPUT, _("User input")),
    "ai_output": (Placement.AI_OUTPUT, _("AI output")),
    "slash": (Placement.SLASH, _("Slash commands (here: narration)")),
    "world_info": (Placement.WORLD_INFO, _("World Info")),
    "reasoning": (Placement.REASONING, _("Reasoning")),
}
SUBSTITUTIONS: Final = {
    "0": _("Do not substitute"),
    "1": _("Substitute (raw)"),
    "2": _("Substitute (escaped)"),
}
TYPES: Final = {
    "editinput": _("Modify input"),
    "editoutput": _("Modify output"),
    "editprocess": _("Modify request data"),
    "editdisplay": _("Modify display"),
    "edittrans": _("Modify translation (kept, not run)"),
    "disabled": _("Disabled"),
}
LABELS: Final[Mapping[str, str]] = {
    "name": _("Script name"),
    "find": _("Find regex"),
    "replace": _("Replace with"),
    "trim": _("Trim out"),
    "placement": _("Affects"),
    "enabled": _("Enabled"),
    "display": _("Alter chat display"),
    "prompt": _("Alter outgoing prompt"),
    "edit": _("Run on edit"),
    "substitute": _("Macros in find regex"),
    "min_depth": _("Min depth"),
    "max_depth": _("Max depth"),
    "script_id": _("Id"),
    "comment": _("Name"),
    "pattern": "IN",
    "replacement": "OUT",
    "type": _("Modification type"),
    "has_flags": _("Custom flags"),
    "flags": _("Flags"),
}
RUNS_ON: Final = {
    "display": _("chat display"),
    "prompt": _("outgoing prompt"),
    "stored": _("when it is sent or received"),
    "edit": _("when it is edited"),
}


class ScriptForm(BaseModel):
    """The boxes as they stand; a box with a tick says `on`. A script has those of its platform."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    find: str = ""
    replace: str = ""
    trim: str = ""
    user_input: str = ""
    ai_output: str = ""
    slash: str = ""
    world_info: str = ""
    reasoning: str = ""
    enabled: str = ""
    display: str = ""
    prompt: str = ""
    edit: str = ""
    substitute: str = "0"
    min_depth: str = ""
    max_depth: str = ""
    script_id: str = ""
    comment: str = ""
    pattern: str = ""
    replacement: str = ""
    type: str = "editdisplay"
    has_flags: str = ""
    flags: str = ""

    def tidy(self) -> ScriptForm:
        """The same with line breaks as they are stored."""
        return ScriptForm(**{name: one_newline(value) for name, value in self})


class _Box(NamedTuple):
    """The field of the file that a box shows, and how: from the file, and back into it."""

    field: str
    read: Callable[[Json], str]
    write: Callable[[str], Json]


def _text(value: Json) -> str:
    return storable(value) if isinstance(value, str) else ""


def _tick(value: Json) -> str:
    return "on" if value else ""


def _untick(value: Json) -> str:
    return "" if value else "on"


def _number(value: Json) -> str:
    number = to_number(value)
    if value is None or isinstance(value, list) or number != number:
        return ""
    return str(int(number)) if float(number).is_integer() else str(number)


def _depth(name: str, least: int) -> Callable[[str], Json]:
    def write(text: str) -> Json:
        return whole_number(text, name=LABELS[name], least=least, most=10_000) if text.strip() else None

    return write


def _lines(value: Json) -> str:
    return "\n".join(storable(one) for one in value if isinstance(one, str)) if isinstance(value, list) else ""


_BOXES: Final[Mapping[ScriptKind, Mapping[str, _Box]]] = {
    "sillytavern": {
        "name": _Box("scriptName", _text, str),
        "find": _Box("findRegex", _text, str),
        "replace": _Box("replaceString", _text, str),
        "trim": _Box("trimStrings", _lines, lambda text: [line for line in text.split("\n") if line]),
        "enabled": _Box("disabled", _untick, lambda text: not text),
        "display": _Box("markdownOnly", _tick, bool),
        "prompt": _Box("promptOnly", _tick, bool),
        "edit": _Box("runOnEdit", _tick, bool),
        "substitute": _Box("substituteRegex", lambda value: _number(value) or "0", lambda text: int(text)),
        "min_depth": _Box("minDepth", _number, _depth("min_depth", -1)),
        "max_depth": _Box("maxDepth", _number, _depth("max_depth", 0)),
        "script_id": _Box("id", _text, str),
    },
    "risuai": {
        "comment": _Box("comment", _text, str),
        "pattern": _Box("in", _text, str),
        "replacement": _Box("out", _text, str),
        "type": _Box("type", _text, str),
        "has_flags": _Box("ableFlag", _tick, bool),
        "flags": _Box("flag", _text, str),
    },
}


def script_form(kind: ScriptKind, data: JsonObject) -> ScriptForm:
    """A script as the boxes show it."""
    stored = presentable(dict(data))
    fields = {name: box.read(stored.get(box.field)) for name, box in _BOXES[kind].items()}
    if kind == "sillytavern":
        places = decoded(kind, data)
        chosen = places.placement if isinstance(places, RegexScript) else ()
        fields |= {name: "on" if place in chosen else "" for name, (place, _label) in PLACEMENTS.items()}
    return ScriptForm(**fields).tidy()


def changed_fields(kind: ScriptKind, data: JsonObject, after: ScriptForm) -> dict[str, Json]:
    """The fields of the file whose boxes were changed."""
    before, after = script_form(kind, data), after.tidy()
    fields: dict[str, Json] = {}
    for name, box in _BOXES[kind].items():
        value = getattr(after, name)
        if value != getattr(before, name):
            fields[box.field] = box.write(value)
    if kind == "sillytavern" and any(getattr(before, name) != getattr(after, name) for name in PLACEMENTS):
        known = {int(place) for place, _label in PLACEMENTS.values()}
        stored = data.get("placement")
        others = [place for place in stored if place not in known] if isinstance(stored, list) else []
        chosen = [int(place) for name, (place, _label) in PLACEMENTS.items() if getattr(after, name)]
        fields["placement"] = [*chosen, *others]
    return fields


def differences(kind: ScriptKind, mine: ScriptForm, theirs: ScriptForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    named: Mapping[str, Mapping[str, str]] = {"substitute": SUBSTITUTIONS, "type": TYPES}
    places = {name: label for name, (_place, label) in PLACEMENTS.items()} if kind == "sillytavern" else {}
    mine, theirs = mine.tidy(), theirs.tidy()
    return tuple(
        ({**LABELS, **places}[name], named.get(name, {}).get(now, _said(now)))
        for name in (*_BOXES[kind], *places)
        if (now := getattr(theirs, name)) != getattr(mine, name)
    )


def _said(value: str) -> str:
    return value or _("(empty)")


class ScriptRow(Value, frozen=True, kw_only=True):
    """A script in the list; `about` says where it runs."""

    out: ScriptOut
    name: str
    about: tuple[str, ...]

    @property
    def id(self) -> str:
        """What a list that is put in order calls it."""
        return f"{self.out.place}.{self.out.mark}"


class ScriptSection(Value, frozen=True, kw_only=True):
    """The scripts of one platform."""

    kind: ScriptKind
    title: str
    rows: tuple[ScriptRow, ...]


class ScriptsView(Value, frozen=True, kw_only=True):
    """The scripts of one place."""

    holder: ScriptHolder
    name: str
    back: str
    sections: tuple[ScriptSection, ...]

    @property
    def address(self) -> str:
        return f"/scripts/{self.holder.scope}/{self.holder.id}"


_BACK: Final[Mapping[str, str]] = {"space": "/spaces/", "character": "/characters/", "preset": "/presets/"}


async def scripts_view(runtime: Runtime, viewer: Viewer, scope: str, holder_id: UUID) -> ScriptsView:
    """The page of one place."""
    match scope:
        case "global" | "space" | "character" | "preset":
            return view_of(await read_holder(runtime, viewer, scope, holder_id))
        case _:
            raise ValueError(scope)


def view_of(holder: ScriptHolder) -> ScriptsView:
    return ScriptsView(
        holder=holder,
        name=shown_name(holder.name) if holder.name else _("All spaces"),
        back=f"{_BACK[holder.scope]}{holder.id}" if holder.scope in _BACK else "",
        sections=tuple(
            ScriptSection(
                kind=kind,
                title=KINDS[kind],
                rows=tuple(script_row(ScriptOut.of(kind, place, data)) for place, data in enumerate(listed)),
            )
            for kind, listed in holder.lists.items()
        ),
    )


def script_row(out: ScriptOut) -> ScriptRow:
    return ScriptRow(out=out, name=shown_name(out.name) if out.name else NAMELESS, about=tuple(_about(out)))


def _about(out: ScriptOut) -> Iterable[str]:
    form = script_form(out.kind, out.data)
    if out.kind == "risuai":
        yield TYPES.get(form.type, storable(form.type))
        return
    if form.display:
        yield LABELS["display"]
    if form.prompt:
        yield LABELS["prompt"]
    for name, (_place, label) in PLACEMENTS.items():
        if getattr(form, name):
            yield label
    if form.min_depth or form.max_depth:
        yield _("depth {least} to {most}", least=form.min_depth or "0", most=form.max_depth or "∞")


class TargetGroup(Value, frozen=True, kw_only=True):
    """Where a script can be copied to."""

    label: str
    choices: tuple[tuple[str, str], ...]


CHOICES = 100


async def copy_targets(runtime: Runtime, viewer: Viewer, kind: ScriptKind) -> tuple[TargetGroup, ...]:
    """The places that a script can be copied to, those that changed last first."""
    kinds = ("chat", "text") if kind == "sillytavern" else ("risuai", "module")
    async with runtime.database.read() as session:
        spaces = await session.execute(
            select(Space.id, Space.name)
            .where(Space.owner_id == viewer.user_id, Space.status == "active")
            .order_by(Space.updated_at.desc())
            .limit(CHOICES)
        )
        characters = await session.execute(
            select(Character.id, Character.name)
            .where(Character.owner_id == viewer.user_id, Character.status == "ready")
            .order_by(Character.updated_at.desc())
            .limit(CHOICES)
        )
        presets = await session.execute(
            select(Preset.id, Preset.name)
            .where(Preset.owner_id == viewer.user_id, Preset.kind.in_(kinds), Preset.trashed_at.is_(None))
            .order_by(Preset.updated_at.desc())
            .limit(CHOICES)
        )
        groups = (
            (_("Global"), (("global", viewer.user_id, _("All spaces")),)),
            (_("Spaces"), tuple(("space", *row) for row in spaces)),
            (_("Characters"), tuple(("character", *row) for row in characters)),
            (_("Presets"), tuple(("preset", *row) for row in presets)),
        )
    return tuple(
        TargetGroup(
            label=label,
            choices=tuple(
                (f"{scope}.{id}", name if scope == "global" else shown_name(name)) for scope, id, name in rows
            ),
        )
        for label, rows in groups
        if rows
    )


async def stories_to_test(runtime: Runtime, viewer: Viewer) -> dict[str, str]:
    """The conversations whose messages a script can be tried on, by their ids; first, none."""
    async with runtime.database.read() as session:
        stories = await recent_stories(session, viewer, limit=CHOICES)
    return {
        "": _("The text above"),
        **{str(one.conversation.id): trail_title(one.space.name, one.conversation.name) for one in stories},
    }


def trial_sentence(trial: ScriptTrialOut) -> str:
    """Where a script runs on the message that it was tried on."""
    if not trial.runs_on:
        return _("The script does not run on this message: look at its options, its placement and its depths.")
    places = ", ".join(str(RUNS_ON[place]) for place in trial.runs_on)
    return _("The script runs on this message: {places}.", places=places)
