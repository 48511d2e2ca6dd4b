"""Profiles as the library reads them: the one place where what is stored becomes a profile; and what is wrong with one
while somebody writes it.
"""

from __future__ import annotations

import json
from collections.abc import Container

from anyio import to_thread

from tavernkit.artifacts.pipelines import (
    Profile,
    ProfileProblem,
    PythonStep,
    check_profile,
    read_profile,
    readable_profile,
)
from tavernkit.errors import InvalidProfileError, ParseError
from tavernkit.playground.base.database.models import PipelineProfile
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import presentable
from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject, Value

MAX_CONTENT_CHARACTERS = 1_000_000
_OF_THE_ROW = ("id", "version", "name", "description")


async def checked_content(content: JsonObject) -> dict[str, Json]:
    """The content as it is stored, if a profile with it can be used; all that is wrong with it, if not."""
    return await to_thread.run_sync(_checked, content)


def profile_of(profile: PipelineProfile, content: JsonObject) -> Profile:
    """A version of a profile; its id, its number and its name are those of the row. What an earlier application has
    saved may be more than this one can use."""
    try:
        return read_profile(_source(profile, content))
    except InvalidProfileError as error:
        sentence = _(
            "“{name}” cannot be used as saved. Open it and correct it. {reason}",
            name=shown_name(profile.name),
            reason=str(error),
        )
        raise Refused("conflict", sentence) from None


def readable_part(profile: PipelineProfile, content: JsonObject) -> Profile:
    """As much of a version as can be read, also of one that cannot be used."""
    return readable_profile(_source(profile, content))


def _source(profile: PipelineProfile, content: JsonObject) -> dict[str, Json]:
    return {
        **content,
        "id": str(profile.id),
        "version": profile.settings_version,
        "name": profile.name,
        "description": profile.description,
    }


def _checked(content: JsonObject) -> dict[str, Json]:
    stored: dict[str, Json] = presentable({key: value for key, value in content.items() if key not in _OF_THE_ROW})
    if len(json.dumps(stored)) > MAX_CONTENT_CHARACTERS:
        sentence = _("A profile can have at most {count} characters. Split it.", count=MAX_CONTENT_CHARACTERS)
        raise Refused("too_long", sentence)
    try:
        read_profile({**stored, "id": "profile"})
    except InvalidProfileError as error:
        raise Refused("invalid", str(error)) from None
    return stored


OF_THE_ROW = ("id", "version", "name", "description")
LONGEST_TEXT = 4 * MAX_CONTENT_CHARACTERS
"""Spaces and line breaks are counted here, and not where it is stored."""


class Checked(Value, frozen=True, kw_only=True):
    """A profile's content, if it is one at all; the profile as far as it can be read; and everything that is wrong."""

    content: JsonObject | None = None
    profile: Profile | None = None
    problems: tuple[ProfileProblem, ...] = ()

    @property
    def errors(self) -> tuple[ProfileProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[ProfileProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def summary(self) -> str:
        """How it stands, in one line."""
        errors = ngettext("{count} error", "{count} errors", len(self.errors))
        warnings = ngettext("{count} warning", "{count} warnings", len(self.warnings))
        match bool(self.errors), bool(self.warnings):
            case True, True:
                return _("{errors}, {warnings}. The profile cannot be saved.", errors=errors, warnings=warnings)
            case True, False:
                return _("{errors}. The profile cannot be saved.", errors=errors)
            case False, True:
                return _("{warnings}. The profile can be saved.", warnings=warnings)
            case _none:
                return _("No problems found.")


async def check_text(text: str, functions: Container[str]) -> Checked:
    """Check what somebody has typed; it need not even be JSON."""
    return await to_thread.run_sync(_check_text, text, functions)


async def check_content(content: Json, functions: Container[str]) -> Checked:
    """Check a content; `functions` are those that steps may call here."""
    return await to_thread.run_sync(_check, content, functions)


def _check_text(text: str, functions: Container[str]) -> Checked:
    try:
        return _check(parse_json(text, what="This", max_bytes=LONGEST_TEXT), functions)
    except ParseError as error:
        return Checked(problems=(ProfileProblem(path="", message=str(error)),))


def _check(content: Json, functions: Container[str]) -> Checked:
    if not isinstance(content, dict):
        return Checked(problems=check_profile(content))
    source = {**{key: value for key, value in content.items() if key not in OF_THE_ROW}, "id": "profile"}
    profile = readable_profile(source)
    problems = check_profile(source)
    return Checked(
        content=content,
        profile=profile,
        problems=(*problems, *_missing_functions(source, profile, problems, functions), *_left_out(content)),
    )


def _missing_functions(
    source: Json, profile: Profile, known: tuple[ProfileProblem, ...], functions: Container[str]
) -> list[ProfileProblem]:
    """Only warnings: what another server can run may be written on this one."""
    if not any(isinstance(step, PythonStep) for pipeline in profile.pipelines for step in pipeline.steps):
        return []
    found = check_profile(source, functions=functions)
    return [problem.with_(severity="warning") for problem in found if problem not in known]


def _left_out(content: JsonObject) -> list[ProfileProblem]:
    words = {
        "name": _("The name in the JSON is ignored. Use the Name field."),
        "description": _("The description in the JSON is ignored. Use the Description field."),
    }
    return [
        ProfileProblem(path=key, message=sentence, severity="warning")
        for key, sentence in words.items()
        if key in content
    ]
