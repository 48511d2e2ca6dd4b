"""Decorators, settings, scopes and keys, each by itself."""

from __future__ import annotations

import pytest
from tests.sillytavern.world_info.builders import awake, entry, reasons, scan, world

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.world_info import InsertionStrategy, WorldInfoSettings, read_settings
from tavernkit.sillytavern.world_info.fields import split_decorators


@pytest.mark.parametrize(
    ("content", "decorators", "rest"),
    [
        ("plain", (), "plain"),
        ("@@activate\nbody", ("@@activate",), "body"),
        ("@@activate", ("@@activate",), "@@activate"),
        ("@@unknown\n@@@activate\nbody", ("@@activate",), "body"),
        ("@@activate\n@@@dont_activate\nbody", ("@@activate",), "body"),
        ("@@unknown\nbody", (), "body"),
        ("@@activate now\nbody", ("@@activate now",), "body"),
        ("body\n@@activate", (), "body\n@@activate"),
    ],
)
def test_decorators_stand_at_the_start(content, decorators, rest):
    assert split_decorators(content) == (decorators, rest)


def test_settings_are_read_by_their_names_in_the_application():
    given = {"world_info_depth": 5, "world_info_recursive": True, "world_info_character_strategy": 2}
    settings = read_settings(LooseObject(given, ReportBuilder()))
    assert settings == WorldInfoSettings(depth=5, recursive=True, strategy=InsertionStrategy.GLOBAL_FIRST)


def test_a_strategy_nobody_knows_is_the_default():
    settings = read_settings(LooseObject({"world_info_character_strategy": 9}, ReportBuilder()))
    assert settings.strategy == InsertionStrategy.CHARACTER_FIRST


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (InsertionStrategy.EVENLY, ["Chat.0", "Me.0", "Glob.0", "Char.0", "Glob.1"]),
        (InsertionStrategy.CHARACTER_FIRST, ["Chat.0", "Me.0", "Char.0", "Glob.0", "Glob.1"]),
        (InsertionStrategy.GLOBAL_FIRST, ["Chat.0", "Me.0", "Glob.0", "Glob.1", "Char.0"]),
    ],
)
def test_the_strategy_orders_character_and_global_books(strategy, expected):
    result = scan(
        world(entry("gull", order=3), entry("gull", order=1), name="Glob"),
        character_books=(world(entry("gull", order=2), name="Char"),),
        chat_books=(world(entry("gull", order=0), name="Chat"),),
        persona_books=(world(entry("gull", order=9), name="Me"),),
        chat=("gull",),
        strategy=strategy,
    )
    assert awake(result) == expected


def test_entries_whose_uid_is_no_number_come_last():
    book = world(entry("gull", uid="z"), entry("gull", uid=10), entry("gull", uid=9))
    assert awake(scan(book, chat=("gull",))) == ["B.9", "B.10", "B.z"]


@pytest.mark.parametrize("key", ["/(/", "/a/b/", "/gull/x", "/gull/gg", "//"])
def test_what_is_no_expression_is_literal(key):
    assert awake(scan(world(entry(key)), chat=(f"a gull {key} b",))) == ["B.0"]
    assert awake(scan(world(entry(key)), chat=("a gull",))) == []


def test_a_word_may_stand_whole_behind_a_part_of_another():
    book = world(entry("a\x01gull", "gull"), entry("gull\ud800"))
    assert awake(scan(book, chat=("gullible gull gull\ud800x gull\ud800",), match_whole_words=True)) == ["B.0", "B.1"]


@pytest.mark.parametrize(
    ("logic", "secondary", "wakes"),
    [
        (0, ["owl", "no"], True),
        (0, ["no"], False),
        (1, ["owl", "no"], True),
        (1, ["owl"], False),
        (1, ["owl", ""], True),
        (2, ["no"], True),
        (2, ["owl", "no"], False),
        (3, ["owl", "gull"], True),
        (3, ["owl", "no"], False),
        (3, ["owl", ""], False),
        (9, ["owl"], False),
    ],
)
def test_secondary_keys_have_four_logics(logic, secondary, wakes):
    result = scan(world(entry("gull", keysecondary=secondary, selectiveLogic=logic)), chat=("gull owl",))
    assert reasons(result) == ["activated" if wakes else "secondary_logic"]
    assert str(result.verdicts[0])
