"""Group files, as SillyTavern writes them and as other hands have left them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.groups.builders import member

from tavernkit import Character
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.groups import CardMode, DepthPrompt, GroupMember, GroupStrategy, StoryGroup, read_group
from tavernkit.sillytavern.groups.group import MAX_MEMBERS
from tavernkit.sillytavern.macros import GroupNames

CAST = (member("Mira"), member("Oskar"))


def test_a_group_file_is_read_whole() -> None:
    source = {
        "members": ["oskar.png", "mira.png"],
        "disabled_members": ["mira.png"],
        "activation_strategy": 3,
        "generation_mode": 2,
        "generation_mode_join_prefix": "<",
        "generation_mode_join_suffix": ">",
        "allow_self_responses": True,
    }
    assert read_group(source, CAST, chat_metadata={"scenario": "S", "mes_example": "E"}) == StoryGroup(
        cast=CAST,
        members=("oskar.png", "mira.png"),
        disabled=frozenset({"mira.png"}),
        activation_strategy=GroupStrategy.POOLED,
        generation_mode=CardMode.APPEND_DISABLED,
        allow_self_responses=True,
        join_prefix="<",
        join_suffix=">",
        scenario_override="S",
        mes_example_override="E",
    )


def test_an_empty_file_is_an_empty_group_in_natural_order() -> None:
    assert read_group({}, CAST) == StoryGroup(cast=CAST, members=())


@pytest.mark.parametrize(
    ("value", "strategy"),
    [
        (None, GroupStrategy.NATURAL),
        ("", GroupStrategy.NATURAL),
        ("1", GroupStrategy.LIST),
        (2.0, GroupStrategy.MANUAL),
        (9, None),
        ([], None),
    ],
)
def test_strategies_are_read_as_javascript_reads_numbers(value: Any, strategy: GroupStrategy | None) -> None:
    assert read_group({"activation_strategy": value}, CAST).activation_strategy is strategy


def test_a_strategy_that_nobody_knows_is_reported() -> None:
    report = ReportBuilder()
    read_group({"activation_strategy": "tidal"}, CAST, report=report)
    assert [note.path for note in report.build("group").ignored] == ["activation_strategy"]


@pytest.mark.parametrize(
    ("value", "mode"),
    [(None, CardMode.SWAP), (0, CardMode.SWAP), (1, CardMode.APPEND), ("2", CardMode.APPEND), (7, CardMode.APPEND)],
)
def test_any_mode_but_none_joins_cards(value: Any, mode: CardMode) -> None:
    assert read_group({"generation_mode": value}, CAST).generation_mode is mode


def test_a_crowd_is_cut_off_and_reported() -> None:
    report = ReportBuilder()
    group = read_group({"members": ["mira.png"] * 50_000}, CAST, report=report)
    assert len(group.members) == MAX_MEMBERS
    assert "50,000" in report.build("group").ignored[0].message


@pytest.mark.parametrize(
    ("extensions", "talkativeness"),
    [
        ({}, 0.5),
        ({"talkativeness": None}, 0),
        ({"talkativeness": "0.7"}, 0.7),
        ({"talkativeness": "abc"}, 0.5),
        ({"talkativeness": ""}, 0),
        ({"talkativeness": True}, 1),
        ({"talkativeness": {}}, 0.5),
        ({"talkativeness": "Infinity"}, 1),
        ({"talkativeness": -(10**400)}, -1),
    ],
)
def test_talkativeness_is_what_the_card_gives(extensions: dict[str, Any], talkativeness: float) -> None:
    assert GroupMember.of(Character(name="Mira", extensions=extensions), "mira.png").talkativeness == talkativeness


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, DepthPrompt()),
        ("a note", DepthPrompt()),
        ({"prompt": "x"}, DepthPrompt(text="x", depth=4, role="system")),
        ({"prompt": "x", "depth": None, "role": None}, DepthPrompt(text="x")),
        ({"prompt": "x", "depth": "0", "role": "assistant"}, DepthPrompt(text="x", depth=0, role="assistant")),
        ({"prompt": "x", "role": "ghost"}, DepthPrompt(text="x")),
    ],
)
def test_a_depth_prompt_is_read_from_the_cards_extensions(written: Any, read: DepthPrompt) -> None:
    assert member("Mira", extensions={"depth_prompt": written}).depth_prompt == read


def test_macros_see_the_names_of_who_is_at_hand() -> None:
    group = StoryGroup.of(*CAST).with_(members=("oskar.png", "ghost.png", "mira.png"), disabled=frozenset({"mira.png"}))
    assert group.macro_group == GroupNames(members=("Oskar", "Mira"), muted=frozenset({"Mira"}))
