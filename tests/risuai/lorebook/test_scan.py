"""Which entries wake up, in which order they stand, and what they change."""

from __future__ import annotations

import pytest
from tests.risuai.lorebook.builders import entry, prompts, reasons, scanned, scene_with

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.character import read_character
from tavernkit.risuai.errors import DecoratorParseError
from tavernkit.risuai.lorebook import LorebookReason, scan
from tavernkit.risuai.module import Module
from tavernkit.risuai.settings import RisuSettings

# Matching.


def test_parts_of_words_match_whatever_the_case_and_the_spaces() -> None:
    assert prompts(scanned(entry("K R A", "A"), chat=["a Kraken"], depth=1)) == ["A"]


def test_whole_words_are_what_stands_between_spaces() -> None:
    lore = [entry("kraken", "near"), entry("reef", "far"), entry("reef!", "exact")]

    assert prompts(scanned(*lore, chat=["A kraken by the reef!"], depth=1, full_words=True)) == ["exact", "near"]


def test_comments_are_not_searched() -> None:
    lore = entry("secret", "S")

    assert prompts(scanned(lore, chat=["a {{// secret}} b {{comment:secret}}"], depth=1)) == []
    assert prompts(scanned(lore, chat=["a {{//\nsecret}}"], depth=1)) == ["S"]


def test_neither_a_key_across_messages_nor_the_greeting_is_found() -> None:
    assert prompts(scanned(entry("hellothere", "H"), chat=["hello", "there"], depth=2)) == []


@pytest.mark.parametrize(
    ("depth", "seen"), [(0, ""), (1, "d"), (4, "abcd"), (5, "d"), (6, "cd"), (8, "abcd"), (-1, "")]
)
def test_a_depth_beyond_the_chat_loses_its_beginning(depth: int, seen: str) -> None:
    lore = [entry(letter * 2, letter) for letter in "abcd"]

    result = scanned(*lore, chat=["aa", "bb", "cc", "dd"], depth=depth)

    assert sorted(prompts(result)) == sorted(seen)


def test_long_texts_and_long_keys_are_searched_to_their_ends() -> None:
    text = "x" * 32_760 + "the kraken" + "x" * 40_000 + "reef"
    lore = [entry("kraken", "K"), entry("reef", "R"), entry("x" * 300, "X"), entry("x" * 50_000, "no")]

    assert prompts(scanned(*lore, chat=[text], depth=1)) == ["X", "R", "K"]


def test_keys_that_are_parts_of_each_other_are_told_apart() -> None:
    lore = [entry("a" * length, str(length)) for length in range(1, 61)]

    result = scanned(*lore, chat=["b" + "a" * 40 + "b"], depth=1)

    assert sorted(int(prompt) for prompt in prompts(result)) == list(range(1, 41))


def test_selective_entries_need_a_secondary_key_too() -> None:
    lore = [
        entry("reef", "yes", secondary_key="moon, tide", selective=True),
        entry("reef", "no", secondary_key="sun", selective=True),
        entry("reef", "none", secondary_key="", selective=True),
    ]

    assert prompts(scanned(*lore, chat=["tide at the reef"], depth=1)) == ["none", "yes"]


def test_additional_and_excluded_keys() -> None:
    lore = [
        entry("reef", "@@additional_keys sun, tide\nmore"),
        entry("reef", "@@additional_keys sun\nmissing"),
        entry("reef", "@@exclude_keys tide\nexcluded"),
        entry("reef", "@@exclude_keys sun\nkept"),
    ]

    assert prompts(scanned(*lore, chat=["tide at the reef"], depth=1)) == ["kept", "more"]


def test_keys_that_exclude_together_must_be_in_every_message() -> None:
    lore = entry("reef", "@@exclude_keys_all reef, tide\nR")

    assert prompts(scanned(lore, chat=["reef tide", "reef"], depth=2)) == ["R"]
    assert prompts(scanned(lore, chat=["reef tide", "tide reef"], depth=2)) == []


def test_what_an_entry_says_can_end_an_exclusion_of_all() -> None:
    lore = [entry("reef", "@@exclude_keys_all reef\nR"), entry("reef", "something else")]

    assert prompts(scanned(*lore, chat=["reef"], depth=1)) == ["R", "something else"]


def test_an_expression_keeps_its_leading_slash_and_needs_flags() -> None:
    chat = ["by /pier 7"]

    assert prompts(scanned(entry(r"/pier \d/i", "R", use_regex=True), chat=chat, depth=1)) == ["R"]
    assert prompts(scanned(entry("/by/i", "R", use_regex=True), chat=chat, depth=1)) == []
    assert prompts(scanned(entry("/pier/", "R", use_regex=True), chat=chat, depth=1)) == []
    assert prompts(scanned(entry("pier", "R", use_regex=True), chat=chat, depth=1)) == []


def test_an_expression_is_overwritten_after_the_first_text() -> None:
    assert prompts(scanned(entry("/pier/i", "R", use_regex=True), chat=["no", "/pier"], depth=2)) == []
    assert prompts(scanned(entry("/i/i", "R", use_regex=True), chat=["no", "no"], depth=2)) == ["R"]


def test_a_slow_expression_is_skipped_and_reported() -> None:
    result = scanned(entry("/(a+)+$/i", "R", use_regex=True), chat=["/" + "a" * 40 + "!"], depth=1)

    assert reasons(result) == [LorebookReason.REGEX_TIMEOUT]
    assert [warning.code for warning in result.warnings] == ["regex_timeout"]


# Conditions.


def test_conditions_on_the_length_of_the_chat_count_the_greeting() -> None:
    lore = [
        entry("sea", "@@activate_only_after 3\nafter three"),
        entry("sea", "@@activate_only_after 4\nafter four"),
        entry("sea", "@@activate_only_every 3\nevery third"),
        entry("sea", "@@activate_only_every 0\nnever"),
    ]

    assert prompts(scanned(*lore, chat=["sea", "sea"], depth=2)) == ["every third", "after three"]


def test_greetings_count_from_the_first_message_of_the_character() -> None:
    lore = [entry(content=f"@@is_greeting {number}\n{number}", always_active=True) for number in range(3)]

    assert prompts(scanned(*lore, greeting=-1)) == ["0"]
    assert prompts(scanned(*lore, greeting=1)) == ["2"]


def test_the_last_force_wins_and_needs_a_key_to_be_looked_at() -> None:
    lore = [
        entry("absent", "@@dont_activate\n@@activate\nforced"),
        entry("sea", "@@activate\n@@dont_activate\nkept out"),
        entry("", "@@activate\nunseen"),
        entry("sea", "@@dont_activate\nout, too", always_active=True),
    ]

    assert prompts(scanned(*lore, chat=["sea"], depth=1)) == ["forced"]


def test_chance_is_drawn_in_every_pass() -> None:
    lore = [entry("sea", "the trident"), entry("trident", "@@probability 50\nmaybe")]

    assert prompts(scanned(*lore, chat=["sea"], depth=1, random=[0.9, 0.1])) == ["maybe", "the trident"]
    assert prompts(scanned(*lore, chat=["sea"], depth=1, random=[0.9, 0.8])) == ["the trident"]


# Recursion.


def test_what_an_entry_says_wakes_others_before_and_behind_it() -> None:
    lore = [entry("coral", "C"), entry("sea", "the trident"), entry("trident", "of coral")]

    result = scanned(*lore, chat=["sea"], depth=1)

    assert prompts(result) == ["C", "of coral", "the trident"]
    assert result.passes == 3


def test_recursion_can_be_refused_by_who_speaks_and_by_who_listens() -> None:
    lore = [
        entry("sea", "@@unrecursive\nquiet trident"),
        entry("sea", "@@recursive\nloud coral"),
        entry("trident", "T"),
        entry("coral", "C"),
        entry("coral", "@@no_recursive_search\nD"),
    ]

    assert prompts(scanned(*lore, chat=["sea"], depth=1)) == ["C", "loud coral", "quiet trident"]
    assert prompts(scanned(*lore, chat=["sea"], depth=1, recursive=False)) == ["C", "loud coral", "quiet trident"]


# Memory.


def test_a_match_can_be_kept_for_the_next_turns() -> None:
    lore = entry("sea", "@@keep_activate_after_match\nK", id="k")
    scene = scene_with(lore, chat=["sea"], depth=1)

    assert prompts(scan(scene)) == ["K"]
    assert scene.variables.get("__internal_ka_k") == "true"
    assert prompts(scanned(lore, chat=["other"], depth=1, variables={"__internal_ka_k": "true"})) == ["K"]


def test_a_match_can_be_the_last() -> None:
    scene = scene_with(entry("sea", "@@dont_activate_after_match\nD", id="d"), chat=["sea"], depth=1)

    assert [prompts(scan(scene)), prompts(scan(scene))] == [["D"], []]


def test_an_entry_without_id_is_remembered_by_its_content() -> None:
    content = (
        "@@keep_activate_after_match\n@@activate_only_every 2\n@@exclude_keys_all gull,mist\nmast mist storm coral"
    )
    scene = scene_with(entry("sea", content), chat=["sea"], depth=1)

    scan(scene)

    assert scene.variables.has("__internal_ka_0.09408093127422035")


def test_once_one_entry_asks_to_be_remembered_all_later_ones_are() -> None:
    lore = [
        entry("sea", "first", id="a"),
        entry("absent", "@@keep_activate_after_match\nB", id="b"),
        entry("sea", "third", id="c"),
    ]
    scene = scene_with(*lore, chat=["sea"], depth=1)

    scan(scene)

    assert [name for name in "abc" if scene.variables.has(f"__internal_ka_{name}")] == ["c"]


# Children, modules and the chat's own lore.


def test_a_child_stands_in_for_the_entry_of_its_id() -> None:
    parent = entry("moon", "@@role user\nParent", comment="P", id="p")
    child = entry("any", "own", mode="child", id="p")

    (lore,) = scanned(parent, child, chat=["sea"], depth=1).active

    assert (lore.prompt, lore.role, lore.source, lore.entry) == ("Parent", "user", "P", child)
    assert prompts(scanned(parent, child, chat=["moon"], depth=1)) == ["Parent"]
    assert prompts(scanned(child, parent, chat=["sea"], depth=1)) == []


def test_lore_of_the_chat_and_of_modules_comes_behind_the_character_s() -> None:
    module = Module(name="m", lore=(entry("sea", "of the module"),))
    result = scanned(
        entry("sea", "of the character"),
        chat=["sea"],
        depth=1,
        chat_lore=[entry("sea", "of the chat")],
        modules=[module],
    )

    assert prompts(result) == ["of the module", "of the chat", "of the character"]
    assert [lore.source for lore in result.active] == ["lorebook 2", "lorebook 1", "lorebook 0"]


def test_the_chat_s_lore_may_change_between_two_scans() -> None:
    lore = [entry("sea", "one")]
    scene = scene_with(chat=["sea"], depth=1, chat_lore=lore)
    before = prompts(scan(scene))

    lore.append(entry("sea", "two"))

    assert (before, prompts(scan(scene))) == (["one"], ["two", "one"])


# Budget, order, injections.


def test_the_budget_is_filled_by_priority_and_the_prompt_ordered_by_order() -> None:
    lore = [
        entry(content="@@priority 1\none two three", always_active=True, insert_order=30),
        entry(content="one two", always_active=True, insert_order=20),
        entry(content="one", always_active=True, insert_order=10),
    ]

    result = scanned(*lore, budget=4)

    assert prompts(result) == ["one", "one two"]
    assert [lore.prompt for lore in result.left_out] == ["one two three"]
    assert (result.total_tokens, result.budget) == (3, 4)


def test_a_book_that_leaves_depth_or_budget_open_is_scanned_with_those_of_the_settings() -> None:
    scene = scene_with(entry("reef", "one two"), entry("tide", "three"), chat=["reef", "tide"])
    assert scene.character is not None
    scene.settings = RisuSettings(lore_depth=1, lore_tokens=800)
    for fields, expected in (({}, ["three"]), ({"scanDepth": 2}, ["three", "one two"]), ({"tokenBudget": 0}, [])):
        character = read_character(
            LooseObject({"loreSettings": {"fullWordMatching": False, **fields}}, ReportBuilder())
        )
        scene.character = scene.character.with_(lore_settings=character.lore_settings)
        assert sorted(prompts(scan(scene))) == sorted(expected)


def test_what_is_smaller_may_fit_behind_what_does_not() -> None:
    lore = [entry(content=text, always_active=True, insert_order=order) for order, text in ((1, "a"), (2, "b c d"))]

    assert prompts(scanned(*lore, budget=2)) == ["a"]


def test_injections_go_into_the_entry_of_that_name() -> None:
    lore = [
        entry("sea", "body here", comment="Target", insert_order=50),
        entry("sea", "@@inject_lore Target\nlast", insert_order=1),
        entry("sea", "@@inject_lore Target\n@@inject_prepend\nfirst", insert_order=2),
        entry("sea", "@@inject_lore Target\n@@inject_replace body\n<$&>", insert_order=3),
        entry("sea", "@@inject_lore Nobody\nlost", insert_order=4),
    ]

    result = scanned(*lore, chat=["sea"], depth=1)

    assert prompts(result) == ["first <body> here last"]
    assert reasons(result)[1:] == [LorebookReason.INJECTED] * 3 + [LorebookReason.NO_TARGET]


def test_injections_into_the_prompt_are_left_to_whoever_builds_it() -> None:
    (lore,) = scanned(entry("sea", "@@inject_at main\n@@inject_replace foo\nbar"), chat=["sea"], depth=1).active

    assert lore.inject is not None
    assert (lore.inject.operation, lore.inject.location, lore.inject.param) == ("replace", "main", "foo")


# What cannot be read, and what does not end.


def test_a_decorator_that_cannot_be_read_is_passed_over_with_a_warning_or_raised() -> None:
    scene = scene_with(entry("sea", "@@position\n@@@role user\nBody", comment="Wreck"), chat=["sea"], depth=1)

    result = scan(scene)

    assert [(lore.prompt, lore.role) for lore in result.active] == [("Body", "user")]
    assert [warning.code for warning in result.warnings] == ["lore_decorator"]
    with pytest.raises(DecoratorParseError, match="In the entry “Wreck”: @@position takes"):
        scan(scene, strict=True)


def test_a_book_made_to_keep_the_scan_busy_is_cut_short() -> None:
    chain = [entry(f"<{number}>", f"@@probability 100\n<{number - 1}>") for number in range(50)]
    scene = scene_with(*chain, chat=["<49>"], depth=1)

    assert len(scan(scene).active) == 50
    cut = scan(scene, max_steps=200)
    assert 0 < len(cut.active) < 50
    assert [warning.code for warning in cut.warnings] == ["lore_cut_short"]
