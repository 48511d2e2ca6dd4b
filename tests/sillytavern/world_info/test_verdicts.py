"""Every entry gets one verdict, and it says what happened."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.world_info.builders import awake, entry, reasons, scan, world

from tavernkit.sillytavern.world_info import REASONS, Source, WorldInfoPlace

SAID = entry("gull", content="mentions quartz")
COOLING = world(SAID, entry("gull", cooldown=5))

# For each reason the second entry of a book, and what else the scan is given; the first entry wakes up.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "activated": (entry("gull"), {}),
    "disabled": (entry("gull", disable=True), {}),
    "filtered_trigger": (entry("gull", triggers=["continue"]), {"trigger": "normal"}),
    "filtered_character": (entry("gull", characterFilter={"names": ["Other"]}), {"character_file": "Mira"}),
    "filtered_tag": (entry("gull", characterFilter={"tags": ["x"]}), {"character_tags": ("y",)}),
    "delay": (entry("gull", delay=9), {}),
    "cooldown": (entry("gull", cooldown=5), {"timed": scan(COOLING, chat=("gull",)).timed, "chat_length": 2}),
    "recursion_delayed": (entry("gull", delayUntilRecursion=1), {}),
    "recursion_excluded": (entry("quartz", excludeRecursion=True), {"recursive": True}),
    "decorator": (entry("gull", content="@@dont_activate\nno"), {}),
    "no_keys": (entry(), {}),
    "no_key": (entry("nowhere"), {}),
    "regex_timeout": (entry("/(?:x+x+)+y/"), {}),
    "secondary_logic": (entry("gull", keysecondary=["nowhere"]), {}),
    "group_lost": (entry("gull", group="g"), {"chat_books": (world(entry("gull", group="g"), name="C"),)}),
    "probability": (entry("gull", probability=1), {}),
    "budget": (entry("gull", content="far too long " * 50), {"budget": 100}),
}

SENTENCES = {
    "activated": "“gull” was found in the newest message",
    "disabled": "switched off; “gull” was found",
    "filtered_trigger": "only for continue",
    "filtered_character": "only for characters Other",
    "filtered_tag": "only for characters with the tags x",
    "delay": "delayed for 8 more messages",
    "cooldown": "cooldown for 4 more messages",
    "recursion_delayed": "waits for recursion, which did not come that far",
    "recursion_excluded": "only another entry mentions “quartz”, and it does not listen to others",
    "decorator": "@@dont_activate",
    "no_keys": "has no keys",
    "no_key": "none of its keys was found",
    "regex_timeout": "/(?:x+x+)+y/ took too long and was skipped",
    "secondary_logic": "“gull” was found, but not “nowhere”",
    "group_lost": "lost the group “g” to C.0",
    "probability": "probability: 1 of 100, rolled 40",
    "budget": "budget short by 568 tokens",
}


@pytest.mark.parametrize("reason", CASES)
def test_a_verdict_says_what_happened(reason):
    second, given = CASES[reason]
    result = scan(world(SAID, second), chat=("a gull " + "x" * 40,), random=(0.4,), **given)
    [first, verdict] = [verdict for verdict in result.verdicts if verdict.world == "B"]
    assert first.reason == "activated"
    assert (verdict.reason, str(verdict)) == (reason, SENTENCES[reason])


def test_a_book_whose_name_is_taken_is_not_passed_over_in_silence():
    result = scan(world(entry("gull")), character_books=(world(entry("owl")),), chat=("gull",))
    assert reasons(result) == ["activated", "shadowed"]
    assert str(result.verdicts[1]) == "another book of this name takes precedence"


def test_the_list_of_reasons_is_closed():
    assert set(REASONS) == {*CASES, "shadowed"}


def test_an_activation_names_its_key_and_where_it_stood():
    result = scan(world(entry("owl", "gull")), chat=("nothing", "a Gull"))
    [verdict] = result.verdicts
    assert (verdict.cause, verdict.key, verdict.place) == ("key", "gull", WorldInfoPlace(message=1))


def test_an_activation_by_another_entry_says_so():
    result = scan(world(entry("gull", content="a quartz"), entry("quartz")), chat=("gull",), recursive=True)
    assert result.verdicts[1].place == WorldInfoPlace(source=Source.RECURSION)
    assert str(result.verdicts[1]) == "“quartz” was found in another entry"


@pytest.mark.parametrize(
    ("key", "text", "place"),
    [
        ("/Gu.l/", "a Gull", WorldInfoPlace(message=1)),
        ("{{k}}", "a gull", WorldInfoPlace(message=1)),
        ("/^\\x01/", "", WorldInfoPlace(message=0)),
    ],
)
def test_keys_that_are_worked_out_have_a_place_too(key, text, place):
    result = scan(world(entry(key)), chat=("nothing", text), expand=lambda text: text.replace("{{k}}", "gull"))
    assert result.verdicts[0].place == place


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"constant": True}, "constant"),
        ({"content": "@@activate\nx"}, "decorator"),
    ],
)
def test_an_entry_that_needs_no_key_says_why(fields, cause):
    result = scan(world(entry("nowhere", **fields)))
    assert result.verdicts[0].cause == cause


def test_a_forced_entry_says_so():
    result = scan(world(entry("nowhere")), forced=frozenset({"B.0", "B.77"}))
    assert (awake(result), result.verdicts[0].cause) == (["B.0"], "forced")


def test_a_near_miss_tells_the_depth_that_would_do():
    result = scan(world(entry("owl", "gull")), chat=("1", "2", "3", "4", "a gull", "an owl"), depth=2)
    assert str(result.verdicts[0]) == "none of its keys was found; would activate with scan depth 5 (“gull”)"


def test_a_near_miss_tells_of_longer_words():
    result = scan(world(entry("gull")), chat=("gullible",), match_whole_words=True)
    assert str(result.verdicts[0]) == "none of its keys was found; “gull” was found inside a longer word"


def test_what_an_entry_does_not_listen_to_is_no_reason_unless_it_was_called():
    book = world(entry("gull", content="nothing"), entry("nowhere", excludeRecursion=True))
    assert reasons(scan(book, chat=("gull",), recursive=True)) == ["activated", "no_key"]


def test_verdicts_come_in_the_order_of_books_and_files():
    one = world(entry("x", order=1), entry("x", order=2), name="One")
    two = world(entry("x", order=3), name="Two")
    verdicts = scan(one, two).verdicts
    assert [(verdict.world, verdict.entry.id) for verdict in verdicts] == [("One", "0"), ("One", "1"), ("Two", "0")]


def test_verdicts_are_a_sequence():
    first, second = (scan(world(entry("x"), entry("y"))).verdicts for _ in range(2))
    assert (len(first), first[1].entry.id, len(first[:1])) == (2, "1", 1)
    assert first == second
    assert hash(first) == hash(second)
    assert first == list(second)
    assert first != "xy"
    assert "no_key" in repr(first)
