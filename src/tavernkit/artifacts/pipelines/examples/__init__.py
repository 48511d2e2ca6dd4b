"""Three profiles to begin with: a state in a panel, thoughts before the reply, voices beside it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import msgspec

from tavernkit.artifacts.pipelines.checking import read_profile
from tavernkit.artifacts.pipelines.profile import Profile
from tavernkit.reading import parse_json

__all__ = ["EXAMPLES", "example_profile", "example_source"]

EXAMPLES = ("rpg_state", "pre_thinking", "commentators")
"""The ids of the profiles that come along."""


def example_source(id: str) -> Mapping[str, object]:
    """The JSON of one of them, to be edited."""
    written = files(__name__).joinpath(f"{id}.json").read_bytes()
    return msgspec.convert(parse_json(written, what=f"The example {id}"), dict[str, object])


def example_profile(id: str) -> Profile:
    """One of them, ready to be used."""
    return read_profile(example_source(id))
