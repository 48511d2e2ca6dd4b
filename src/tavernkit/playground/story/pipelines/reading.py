"""Profiles as the library reads them: the one place where what is stored becomes a profile."""

from __future__ import annotations

import json

from anyio import to_thread

from tavernkit.artifacts.pipelines import Profile, read_profile, readable_profile
from tavernkit.errors import InvalidProfileError
from tavernkit.playground.base.database.models import PipelineProfile
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import presentable
from tavernkit.values import Json, JsonObject

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
        sentence = f"“{shown_name(profile.name)}” cannot be used as it was saved. Open it and mend it. {error}"
        raise Refused(code="conflict", sentence=sentence) from None


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
        raise Refused(
            code="too_long", sentence=f"A profile has at most {MAX_CONTENT_CHARACTERS:,} characters. Divide it."
        )
    try:
        read_profile({**stored, "id": "profile"})
    except InvalidProfileError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    return stored
