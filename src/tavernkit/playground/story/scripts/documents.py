"""Regex scripts as JSON: where they are, what one looks like, and what changes one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.errors import RegexError
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.regex_scripts.prepared import in_order
from tavernkit.sillytavern.regex_scripts import RegexScript, embedded_scripts
from tavernkit.sillytavern.regex_scripts.applying import find_pattern
from tavernkit.text.js_regex import JsRegex, compile_regex
from tavernkit.values import Json, JsonObject, Value

Scope: TypeAlias = Literal["global", "space", "character", "preset"]
ScriptKind: TypeAlias = Literal["sillytavern", "risuai"]

MAX_SCRIPTS = 500
MAX_SCRIPT_CHARACTERS = 500_000
DISABLED = "disabled"
"""The type of a script of RisuAI that never runs."""


class ScriptHolder(Value, frozen=True, kw_only=True):
    """What has scripts: a person, who has them for all spaces, or a space, a character or a preset. `lists` are those
    of each platform that it can have, as files have them."""

    scope: Scope
    id: UUID
    name: str
    lists: Mapping[ScriptKind, tuple[JsonObject, ...]]
    may_change: bool = True


def mark_of(script: JsonObject) -> str:
    """Tells a script from every other, and from what it was before a change."""
    return blake2b(json.dumps(script, sort_keys=True).encode(), digest_size=12).hexdigest()


def decoded(kind: ScriptKind, script: JsonObject) -> RegexScript | RisuRegexScript:
    """A script as the library knows it."""
    if kind == "sillytavern":
        return embedded_scripts({"regex_scripts": [script]})[0]
    return RisuRegexScript.read(LooseObject(script, ReportBuilder()))


def name_of(script: RegexScript | RisuRegexScript) -> str:
    """What a script is called: its name, else the beginning of what it looks for."""
    named, find = (
        (script.scriptName, script.findRegex) if isinstance(script, RegexScript) else (script.comment, script.pattern)
    )
    return storable(named.strip() or find.strip()[:60])


def is_enabled(script: RegexScript | RisuRegexScript) -> bool:
    return not script.disabled if isinstance(script, RegexScript) else script.type != DISABLED


def pattern_problem(script: RegexScript | RisuRegexScript) -> str:
    """What is wrong with its regular expression, and where; nothing for one that can be used, or that has macros in it
    which are expanded first."""
    if isinstance(script, RegexScript):
        if not script.findRegex or (script.substituteRegex and "{{" in script.findRegex):
            return ""
        found = find_pattern(script.findRegex)
        return "" if isinstance(found, JsRegex) else storable(found) + _where(script.findRegex)
    (prepared,) = in_order([script])
    if not script.pattern or prepared.expands_pattern:
        return ""
    try:
        compile_regex(script.pattern, prepared.flags)
    except RegexError as error:
        return storable(str(error)) + _where(script.pattern)
    return ""


_LONGEST_SEARCHED = 200


def _where(pattern: str) -> str:
    """The place of what is wrong: behind the longest beginning that is right by itself."""
    body, start = (
        (pattern[1 : pattern.rfind("/")], 1) if pattern[:1] == "/" and pattern.rfind("/") > 0 else (pattern, 0)
    )
    if len(body) > _LONGEST_SEARCHED:
        return ""
    for end in range(len(body) - 1, -1, -1):
        try:
            compile_regex(body[:end], "")
        except RegexError:
            continue
        return f" See character {start + end + 1}: {storable(body[end : end + 10])}"
    return ""


Place = Annotated[int, Field(ge=0, lt=MAX_SCRIPTS, description="The place in its list, from 0.")]
Mark = Annotated[str, Field(min_length=1, max_length=64, description="The `mark` of the script that was read.")]


class ScriptOut(BaseModel):
    """A script in its place; `data` is all of it, as the files of its platform have it."""

    kind: ScriptKind
    place: int
    mark: str = Field(description="Another one whenever the script is changed.")
    name: str
    enabled: bool
    problem: str = Field(description="What is wrong with its regular expression; usually empty.")
    data: dict[str, Any]

    @classmethod
    def of(cls, kind: ScriptKind, place: int, data: JsonObject) -> Self:
        script = decoded(kind, data)
        return cls(
            kind=kind,
            place=place,
            mark=mark_of(data),
            name=name_of(script),
            enabled=is_enabled(script),
            problem=pattern_problem(script),
            data=presentable(dict(data)),
        )


class ScriptListOut(BaseModel):
    """The scripts of one place, each platform's in the order in which they run."""

    scope: Scope
    holder_id: UUID
    name: str
    scripts: list[ScriptOut]

    @classmethod
    def of(cls, holder: ScriptHolder) -> Self:
        scripts = [
            ScriptOut.of(kind, place, data)
            for kind, listed in holder.lists.items()
            for place, data in enumerate(listed)
        ]
        return cls(scope=holder.scope, holder_id=holder.id, name=storable(holder.name), scripts=scripts)


class NewScript(StrictModel):
    kind: ScriptKind = "sillytavern"
    data: dict[str, Any] = Field(description="Fields as the files of the platform have them.")


class PatchScript(StrictModel):
    mark: Mark
    data: dict[str, Any] = Field(default={}, description="The fields to change; the others stay as they are.")
    to: Place | None = Field(default=None, description="Move it to this place.")


class CopyScript(StrictModel):
    mark: Mark
    scope: Scope
    holder_id: UUID = Field(description="Your account, the space, the character or the preset.")
    move: bool = Field(default=False, description="Take it away from where it is.")


class TryScript(StrictModel):
    kind: ScriptKind = "sillytavern"
    data: dict[str, Any]
    text: Annotated[str, Field(max_length=100_000)] = ""
    conversation_id: UUID | None = Field(default=None, description="Take a message of this conversation as the text.")
    message: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        default=None, description="The number (`seq`) of the message; without one, the last."
    )


class ScriptTrialOut(BaseModel):
    """What a script makes of a text, whether it would run on that message, and why not."""

    text: str
    result: str
    changed: bool
    runs_on: list[Literal["display", "prompt", "stored", "edit"]] = Field(
        description="Where it runs on this message; empty without a message, or where it does not."
    )
    depth: int | None = None
    problems: list[str] = []


Fields: TypeAlias = dict[str, Json]
