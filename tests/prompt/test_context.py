import random
from datetime import UTC, datetime

import pytest

from tavernkit import BuildWarning, Character, Context, MissingInputError, User, Variables


class Platform:
    def __init__(self, turn: int) -> None:
        self.turn = turn


def test_metadata_is_reached_by_key() -> None:
    ctx = Context(metadata={"a": 1})
    ctx["b"] = 2
    assert (ctx["a"], ctx["b"], ctx.get("c", 3), "a" in ctx, "c" in ctx) == (1, 2, 3, True, False)


def test_a_platform_attaches_one_object_of_its_own_type() -> None:
    ctx = Context()
    with pytest.raises(MissingInputError, match="needs a Platform"):
        ctx.platform(Platform)
    ctx.attach(Platform(turn=3))
    assert ctx.platform(Platform).turn == 3


def test_a_duplicate_goes_its_own_way() -> None:
    ctx = Context(metadata={"a": 1}, rng=random.Random(1), variables=Variables())
    ctx.attach(Platform(turn=1))
    ctx.add_block(source="x", content="shared")
    twin = ctx.dup()
    twin["a"] = 2
    twin.add_block(source="y", content="only here")
    twin.platform(Platform).turn = 9
    twin.warn("odd", "Odd.")
    assert (ctx["a"], len(ctx.blocks), ctx.platform(Platform).turn, ctx.warnings) == (1, 1, 1, [])
    assert twin.rng.random() == ctx.rng.random()
    assert twin.variables is ctx.variables


def test_a_build_cannot_do_without_a_character_and_a_user() -> None:
    with pytest.raises(MissingInputError, match="character="):
        Context(user=User(name="R")).validate()
    with pytest.raises(ValueError, match="user="):
        Context(character=Character(name="M")).validate()


def test_clock_ids_and_chance_are_inputs() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    ctx = Context(clock=lambda: noon, ids=iter(["one", "two"]).__next__, rng=random.Random(5))
    assert ctx.clock() == noon
    assert [ctx.add_block(source="s").id, ctx.add_block(source="s").id] == ["one", "two"]
    assert ctx.rng.random() == random.Random(5).random()


def test_the_same_warning_is_given_once() -> None:
    told: list[BuildWarning] = []
    ctx = Context(warning_handler=told.append)
    for position in (1, 2):
        ctx.warn("odd", "character.description: Odd.", position=position)
    ctx.dup().warn("odd", "character.description: Odd.")
    ctx.warn("odd", "character.scenario: Odd.")
    ctx.warn("strange", "character.scenario: Odd.")
    assert [(warning.code, warning.message, dict(warning.where)) for warning in ctx.warnings] == [
        ("odd", "character.description: Odd.", {"position": 1}),
        ("odd", "character.scenario: Odd.", {}),
        ("strange", "character.scenario: Odd.", {}),
    ]
    assert told == ctx.warnings
