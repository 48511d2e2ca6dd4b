"""What wakes up, where it goes, and what is left for the next turn."""

from __future__ import annotations

import pytest
from tests.sillytavern.world_info.builders import awake, entry, reasons, scan, world
from tests.support.hanging import not_hanging

from tavernkit.lore.book import Book, Entry
from tavernkit.sillytavern.world_info import (
    SHIPPED_SETTINGS,
    DepthInsertion,
    Insertions,
    ScanTexts,
    TimedState,
    WorldInfo,
    WorldInfoInput,
    WorldInfoSettings,
)


def test_an_entry_made_by_hand_needs_no_file():
    book = Book(name="B", entries=(Entry(id="1", keys=("Gull",), content="x", case_sensitive=True),))
    assert awake(scan(book, chat=("a Gull",))) == ["B.1"]
    assert awake(scan(book, chat=("a gull",))) == []


def test_the_shipped_settings_recurse_and_want_whole_words():
    book = world(entry("gull", content="quartz"), entry("quartz"), entry("gul"))
    assert awake(scan(book, chat=("gull",), settings=SHIPPED_SETTINGS)) == ["B.0", "B.1"]


def test_names_are_part_of_what_is_scanned():
    assert WorldInfoSettings().message_text("Zed", "hello") == "Zed: hello"
    assert WorldInfoSettings(include_names=False).message_text("Zed", "hello") == "hello"


@pytest.mark.parametrize(
    ("percent", "cap", "context", "budget"),
    [(25, 0, 4096, 1024), (25, 100, 4096, 100), (25, 2000, 4096, 1024), (0, 0, 4096, 1), (25, 0, 0, 1), (25, 0, 2, 1)],
)
def test_the_budget_is_a_share_of_the_context(percent, cap, context, budget):
    assert WorldInfoSettings(budget_percent=percent, budget_cap=cap).budget(context) == budget


def test_what_does_not_fit_is_reported():
    book = world(entry("gull", content="a" * 30, order=200), entry("gull", content="b" * 80), entry("gull"))
    result = scan(book, chat=("gull",), budget=50)
    assert (awake(result), result.overflowed, result.total_tokens) == (["B.0"], True, 30)
    assert result.trim_report is not None
    assert [eviction.block_id for eviction in result.trim_report.evictions] == ["B.1", "B.2"]
    assert result.trim_report.tokens_saved == 80


def test_tokens_are_counted_only_when_the_budget_is_near():
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    book = world(*(entry("gull", content=f"number {n}") for n in range(50)))
    assert len(awake(scan(book, chat=("gull",), count_tokens=count, budget=10_000))) == 50
    assert len(counted) == 1


def test_positions_are_eight():
    book = world(*(entry("gull", content=f"p{n}", position=n, outletName="o") for n in range(8)))
    insertions = scan(book, chat=("gull",)).insertions
    assert insertions.before_character == "p0"
    assert insertions.after_character == "p1"
    assert (insertions.note_top, insertions.note_bottom) == (("p2",), ("p3",))
    assert insertions.at_depth == (DepthInsertion(depth=4, role=0, entries=("p4",)),)
    assert [(example.placement, example.content) for example in insertions.examples] == [
        ("after", "p6"),
        ("before", "p5"),
    ]
    assert insertions.outlets == {"o": ("p7",)}


def test_an_entry_whose_position_is_null_wakes_up_and_goes_nowhere():
    result = scan(world(entry("gull", content="x", position=None)), chat=("gull",))
    assert (awake(result), result.insertions) == (["B.0"], Insertions())


def test_an_outlet_without_a_name_goes_nowhere():
    result = scan(world(entry("gull", content="x", position=7)), chat=("gull",))
    assert (awake(result), result.insertions.outlets) == (["B.0"], {})


def test_entries_are_given_in_the_order_of_the_prompt():
    result = scan(world(entry("gull", order=3), entry("gull", order=1), entry("gull", order=2)), chat=("gull",))
    assert awake(result) == ["B.0", "B.2", "B.1"]
    assert [one.id for one in result.activated_entries] == ["1", "2", "0"]


def test_a_book_of_several_scopes_counts_once():
    book = world(entry("gull"))
    result = scan(book, chat=("gull",), character_books=(book,), chat_books=(book,), persona_books=(book,))
    assert (awake(result), reasons(result)) == (["B.0"], ["activated"])


def test_books_without_a_name_are_not_mistaken_for_each_other():
    first, second = Book(entries=(Entry(id="0", keys=("gull",)),)), Book(entries=(Entry(id="0", keys=("gull",)),))
    assert len(awake(scan(first, second, chat=("gull",), chat_books=(first,)))) == 3


def test_an_effect_lasts_while_the_chat_grows():
    book = world(entry("gull", sticky=2, cooldown=2))
    state = TimedState()
    woken = []
    for length, text in enumerate(["gull", "-", "-", "gull", "gull"], start=1):
        result = scan(book, chat=(text,), chat_length=length, depth=1, timed=state)
        state = result.timed
        woken.append(bool(awake(result)))
    assert woken == [True, True, False, False, True]


def test_an_effect_does_not_carry_over_to_an_edited_entry():
    state = scan(world(entry("gull", sticky=5)), chat=("gull",)).timed
    edited = world(entry("gull", sticky=5, content="new"))
    result = scan(edited, chat=("-",), chat_length=2, timed=state)
    assert (awake(result), list(result.timed.sticky)) == ([], ["B.0"])
    assert scan(edited, chat=("-",), chat_length=6, timed=state).timed == TimedState()


def test_an_effect_ends_when_the_entry_no_longer_asks_for_it():
    book = world(entry("gull", sticky=5))
    state = scan(book, chat=("gull",)).timed
    assert scan(world(entry("gull")), chat=("-",), chat_length=9, timed=state).timed == TimedState()


def test_a_delay_holds_in_a_dry_run():
    book = world(entry("gull", delay=3))
    assert reasons(scan(book, chat=("gull",), dry_run=True)) == ["delay"]


def test_the_numbers_that_were_drawn_are_given_back():
    book = world(entry("gull", probability=50), entry("gull", group="g"), entry("gull", group="g"))
    result = scan(book, chat=("gull",), random=(0.7, 0.2))
    assert (awake(result), result.rolls) == (["B.0", "B.2"], (0.7, 0.2))


def test_groups_that_are_numbers_are_settled_first():
    book = world(
        entry("gull", group="z"),
        entry("gull", group="z"),
        entry("gull", group="7"),
        entry("gull", group="7"),
    )
    assert awake(scan(book, chat=("gull",), random=(0.9, 0.1))) == ["B.0", "B.3"]


def test_a_sticky_member_keeps_its_group():
    book = world(entry("gull", sticky=3, group="g"), entry("owl", group="g", groupOverride=True))
    state = scan(book, chat=("gull",)).timed
    result = scan(book, chat=("owl",), chat_length=2, timed=state)
    assert (awake(result), reasons(result)) == (["B.0"], ["activated", "group_lost"])


def test_a_sticky_member_in_its_cooldown_loses_its_group():
    book = world(entry("gull", sticky=3, cooldown=3, group="g"), entry("gull", sticky=3, cooldown=3))
    state = scan(book, chat=("gull",)).timed
    result = scan(book, chat=("owl",), chat_length=2, timed=state)
    assert (awake(result), reasons(result)) == (["B.1"], ["group_lost", "activated"])


def test_who_loses_two_groups_takes_the_last_one_along():
    first, torn, second = (
        entry("gull", group="g", groupOverride=True),
        entry("gull", group="g, h"),
        entry("gull", group="h"),
    )
    bystander = entry("gull")
    assert awake(scan(world(first, torn, second), chat=("gull",), random=(0.9,))) == ["B.0"]
    assert awake(scan(world(first, torn, second, bystander), chat=("gull",), random=(0.9,))) == ["B.0", "B.2"]


def test_the_level_of_an_entry_that_is_off_is_waited_for():
    waiting = entry("gull", delayUntilRecursion=2)
    assert awake(scan(world(waiting), chat=("gull",))) == []
    assert awake(scan(world(waiting, entry("owl", delayUntilRecursion=1, disable=True)), chat=("gull",))) == ["B.0"]


@pytest.mark.parametrize("key", ["a\x01b", "\ud83d", "  "])
def test_odd_keys_are_looked_for_as_well(key):
    assert awake(scan(world(entry(key)), chat=("x a\x01b \ud83d y",))) == ["B.0"]


def test_keys_may_span_what_is_joined():
    book = world(entry("gull\n\x01owl"), entry("/gull\\n\\x01owl/"), entry("gullowl"))
    assert awake(scan(book, chat=("GULL", "Owl"))) == ["B.0"]


def test_texts_beside_the_chat_are_for_those_who_ask():
    book = world(entry("topaz", matchPersonaDescription=True), entry("topaz"), entry("opal"))
    result = scan(book, texts=ScanTexts(persona_description="a topaz"), injections=("an opal",))
    assert awake(result) == ["B.0", "B.2"]
    assert [str(verdict) for verdict in result.verdicts][0::2] == [
        "“topaz” was found in the persona",
        "“opal” was found in an injected text",
    ]


def test_macros_are_expanded_in_keys_and_contents():
    book = world(entry("{{k}}", content="{{k}}!"), entry("gull", keysecondary=["{{k}}"]))
    result = scan(book, chat=("gull",), expand=lambda text: text.replace("{{k}}", "gull"))
    assert awake(result) == ["B.0", "B.1"]
    assert result.insertions.before_character == "gull!"


def test_macros_of_keys_nobody_needs_are_not_expanded():
    expanded: list[str] = []

    def expand(text: str) -> str:
        expanded.append(text)
        return "gull"

    scan(world(entry("{{first}}", "{{second}}", content="c")), chat=("gull",), expand=expand)
    assert expanded == ["{{first}}", "c"]


@pytest.mark.parametrize(("logic", "asked"), [(0, 1), (1, 2), (2, 3), (3, 3), (9, 3)])
def test_secondary_keys_are_asked_until_the_answer_is_known(logic, asked):
    expanded: list[str] = []

    def expand(text: str) -> str:
        expanded.extend([text] if "{{" in text else [])
        return text.strip("{}")

    keys = ["{{owl}}", "{{nope}}", "{{owl}}"]
    scan(world(entry("gull", keysecondary=keys, selectiveLogic=logic)), chat=("gull, owl",), expand=expand)
    assert len(expanded) == asked


def test_a_key_that_expands_to_nothing_is_not_found():
    assert awake(scan(world(entry("{{k}}")), chat=("gull",), expand=lambda _: "")) == []


def test_a_hostile_expression_is_reported_and_skipped_in_time():
    book = world(entry("/(?:x+x+)+y/", "gull"), entry("/(?:x+x+)+y/", content="gull"), entry("/gu./"))
    with not_hanging():
        result = scan(book, chat=("x" * 60, "gull"), recursive=True)
    assert reasons(result) == ["activated", "regex_timeout", "activated"]
    assert [warning.code for warning in result.warnings] == ["regex_timeout"]


def test_min_activations_look_further_back():
    book = world(entry("gull"), entry("owl"))
    result = scan(book, chat=("-", "-", "gull", "owl"), depth=1, min_activations=1)
    assert (awake(result), result.passes) == (["B.0"], 3)


def test_a_plan_is_kept_for_a_book_and_changes_with_it():
    engine = WorldInfo()
    book = world(entry("gull"))

    def woken(given: Book, text: str, **settings: bool) -> list[str]:
        scan_input = WorldInfoInput(
            messages=(text,),
            books=(given,),
            settings=WorldInfoSettings(**settings),
            count_tokens=len,
            random=lambda: 0.5,
        )
        return awake(engine.scan(scan_input))

    assert woken(book, "gull") == woken(book, "gull") == ["B.0"]
    assert woken(book, "gullible", match_whole_words=True) == []
    assert woken(book.with_(entries=()), "gull") == []
    assert woken(book, "Gull", case_sensitive=True) == []


def test_an_engine_forgets_the_books_it_has_not_seen_for_long():
    engine = WorldInfo()
    for number in range(40):
        scan_input = WorldInfoInput(
            messages=("gull",), books=(world(entry("gull"), name=str(number)),), count_tokens=len, random=lambda: 0.5
        )
        assert awake(engine.scan(scan_input)) == [f"{number}.0"]
