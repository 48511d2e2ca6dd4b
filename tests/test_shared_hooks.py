"""Build hooks that load hooks have registered run in every build, on every platform."""

from collections.abc import Callable
from typing import Any

import pytest

import tavernkit
from tavernkit import BuildHooks, Character, Context, User, on_load, risuai, sillytavern
from tavernkit.risuai.character import RisuCharacter

MIRA, ROBIN = Character(name="Mira"), User(name="Robin")
LOG = "tests.log"


def add_hooks(hooks: BuildHooks, name: str) -> None:
    def note(moment: str) -> Callable[[Context], None]:
        # Other tests of this process build as well.
        return lambda ctx: ctx[LOG].append(f"{name} {moment}") if LOG in ctx else None

    hooks.before_build(note("before_build"))
    hooks.before_trimming(note("before_trimming"))
    hooks.after_build(note("after_build"))


@on_load("tavernkit.build_hooks", id="tests.shared")
def add_shared(hooks: BuildHooks) -> None:
    add_hooks(hooks, "shared")


def plain(**inputs: Any) -> object:
    return tavernkit.build(character=MIRA, user=ROBIN, **inputs)


def on_sillytavern(**inputs: Any) -> object:
    return sillytavern.build(character=MIRA, user=ROBIN, **inputs)


def on_risuai(**inputs: Any) -> object:
    return risuai.build(story=risuai.Story(character=RisuCharacter(name="Mira")), user=ROBIN, **inputs)


@pytest.mark.parametrize("build", [plain, on_sillytavern, on_risuai])
def test_shared_hooks_run_in_every_build_before_its_own(build: Callable[..., object]) -> None:
    log: list[str] = []
    own = BuildHooks()
    add_hooks(own, "own")
    build(metadata={LOG: log})
    moments = ("before_build", "before_trimming", "after_build")
    assert log == [f"shared {moment}" for moment in moments]
    log.clear()
    build(metadata={LOG: log}, hooks=own)
    assert log == [f"{name} {moment}" for moment in moments for name in ("shared", "own")]
