"""Why something is not in a prompt: lore entries that came near, blocks that did not fit, prompts that are off."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sillytavern.stories.builders import custom, preset

from tavernkit import Book, BudgetPreset, Built, Character, Entry, Message, User, build, risuai, sillytavern
from tavernkit.prompt.causes import CauseCode
from tavernkit.prompt.reasons import EntryReason, EvictedReason, MissKind, NearMiss
from tavernkit.prompt.sources import Explanation
from tavernkit.risuai import PromptCard, RisuSettings
from tavernkit.risuai.lorebook.result import LorebookReason
from tavernkit.sillytavern import AuthorsNote, Story, UserSettings
from tavernkit.sillytavern.presets import SystemPrompt, TextPreset
from tavernkit.sillytavern.world_info import REASONS, WorldInfoSettings

DOCS = Path(__file__).parents[2] / "docs" / "explain.md"
CHAT = ("The ferry is late.", "So it is.", "Rain again.", "Take my coat.", "Shall we go?")


class _Words:
    """A token for each word."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


def said(*texts: str) -> list[Message]:
    return [Message(role="assistant" if place % 2 else "user", content=text) for place, text in enumerate(texts)]


def inputs(**given: Any) -> dict[str, Any]:
    usual = {"character": Character(name="Wren"), "user": User(name="Ada"), "history": said(*CHAT)}
    return {**usual, "estimator": _Words(), **given}


def on_sillytavern(**given: Any) -> Explanation:
    return sillytavern.build(**inputs(**{"preset": preset(), **given})).explain()


def on_risuai(**given: Any) -> Explanation:
    return risuai.build(**inputs(**{"preset": RisuSettings(lore_depth=2), **given})).explain()


def book(*entries: Entry) -> list[Book]:
    return [Book(name="Coast", entries=tuple(one.with_(id=str(place)) for place, one in enumerate(entries)))]


def entry(*keys: str, content: str = "The harbor.", extensions: dict[str, Any] | None = None, **fields: Any) -> Entry:
    return Entry(id="", name="Harbor", keys=keys, content=content, extensions=extensions or {}, **fields)


def depth(number: int = 2, **fields: Any) -> Story:
    return Story(world_info=WorldInfoSettings(depth=number, **fields))


@pytest.mark.parametrize(
    ("lore", "story", "miss", "sentence"),
    [
        (
            entry("ferry"),
            depth(),
            NearMiss(kind="depth", key="ferry", depth=5, message=0),
            "none of its keys was found; would activate with scan depth 5 (“ferry” in message 0)",
        ),
        (
            entry("COAT", extensions={"case_sensitive": True}),
            depth(),
            NearMiss(kind="case", key="COAT", message=3),
            "none of its keys was found; “COAT” was found in message 3 in another case",
        ),
        (
            entry("oat"),
            depth(match_whole_words=True),
            NearMiss(kind="whole_words", key="oat", message=3),
            "none of its keys was found; “oat” was found in message 3 inside a longer word",
        ),
        (
            entry("coat", selective=True, secondary_keys=("rope", "knot")),
            depth(),
            NearMiss(kind="secondary_missing", key="coat", keys=("rope", "knot"), message=3),
            "“coat” was found in message 3, but not “rope”, “knot”",
        ),
        (
            entry("coat", selective=True, secondary_keys=("go", "x"), extensions={"selectiveLogic": 2}),
            depth(),
            NearMiss(kind="secondary_found", key="coat", keys=("go",), message=3),
            "“coat” was found in message 3, and so was “go”, which excludes it",
        ),
        (
            entry("coat", enabled=False),
            depth(),
            NearMiss(kind="switched_off", key="coat", message=3),
            "switched off; “coat” was found in message 3",
        ),
        (
            entry("coat", extensions={"delay": 7}),
            depth(),
            NearMiss(kind="delay", messages=2),
            "delayed for 2 more messages",
        ),
        (
            entry("coat", extensions={"triggers": ["continue", "quiet"]}),
            depth(),
            NearMiss(kind="trigger", wanted=("continue", "quiet")),
            "only for continue, quiet",
        ),
        (
            entry("coat", content="one two three four five", extensions={}),
            depth(budget_cap=3),
            NearMiss(kind="budget", tokens=3),
            "budget short by 3 tokens",
        ),
        (
            entry("coat", extensions={"probability": 37}),
            depth(),
            NearMiss(kind="probability", probability=37, roll=61),
            "probability: 37 of 100, rolled 61",
        ),
    ],
)
def test_an_entry_of_world_info_says_how_near_it_came(lore: Entry, story: Story, miss: NearMiss, sentence: str) -> None:
    class Loaded(random.Random):
        def random(self) -> float:
            return 0.61

    (told,) = on_sillytavern(books=book(lore), story=story, rng=Loaded()).lore
    assert (told.near_miss, told.sentence) == (miss, sentence)


def test_an_entry_that_lost_its_group_says_to_whom() -> None:
    rivals = (entry("coat", extensions={"group": "w"}), entry("go", extensions={"group": "w"}).with_(name="Road"))
    lost = [one for one in on_sillytavern(books=book(*rivals), story=depth()).lore if not one.is_activated]
    winner = {"Harbor": "Road", "Road": "Harbor"}[lost[0].name]
    assert [one.sentence for one in lost] == [f"lost the group “w” to {winner}"]


def test_an_entry_that_another_one_mentions_would_activate_with_recursion() -> None:
    lore = book(entry("coat", content="A coat of silver."), entry("silver"))
    told = on_sillytavern(books=lore, story=depth()).lore[1]
    assert told.sentence == (
        "none of its keys was found; would activate with recursion: “silver” is in another activated entry"
    )


@pytest.mark.parametrize(
    ("lore", "miss"),
    [
        (entry("ferry"), NearMiss(kind="depth", key="ferry", depth=5, message=0)),
        (
            entry("oat", content="@@match_full_word\nx"),
            NearMiss(kind="whole_words", key="oat", message=3),
        ),
        (
            entry("coat", selective=True, secondary_keys=("rope",)),
            NearMiss(kind="secondary_missing", key="coat", keys=("rope",), message=3),
        ),
        (entry("coat", content="@@activate_only_after 9\nx"), NearMiss(kind="delay", messages=3)),
        (entry("coat", content="@@activate_only_every 4\nx"), NearMiss(kind="turn", messages=2)),
        (entry("coat", content="@@exclude_keys go\nx"), NearMiss(kind="secondary_found", keys=("go",), message=4)),
    ],
)
def test_an_entry_of_risuai_says_how_near_it_came(lore: Entry, miss: NearMiss) -> None:
    (told,) = on_risuai(books=book(lore)).lore
    assert told.near_miss == miss
    assert not told.is_activated


def test_an_entry_of_a_plain_build_says_how_near_it_came() -> None:
    lore = [Book(name="Coast", scan_depth=2, entries=(entry("ferry").with_(id="1"), entry("go").with_(id="2")))]
    far, near = build(**inputs(books=lore)).explain().lore
    assert far.near_miss == NearMiss(kind="depth", key="ferry", depth=5, message=0)
    assert near.is_activated


REASONS_OF_PLATFORMS = {*REASONS, *(reason.value for reason in LorebookReason)}


def test_the_reasons_are_a_closed_list_that_is_documented() -> None:
    assert set(get_args(EntryReason)) == REASONS_OF_PLATFORMS
    documented = DOCS.read_text()
    for names in (EntryReason, MissKind, EvictedReason, CauseCode):
        assert [name for name in get_args(names) if f"`{name}`" not in documented] == []


def test_of_very_many_entries_the_others_are_counted() -> None:
    entries = [entry(f"word{number}", content="x") for number in range(1_200)]
    explanation = on_sillytavern(books=book(*entries, entry("coat")), story=depth())
    assert len(explanation.lore) == 500
    assert [one.entry for one in explanation.lore if one.is_activated] == ["1200"]
    assert [(one.reason, one.count) for one in explanation.lore_cut] == [("no_key", 701)]


def test_each_message_that_did_not_fit_says_by_how_much() -> None:
    small = preset(main="", openai_max_context=50, openai_max_tokens=10)
    evicted = on_sillytavern(preset=small, history=said(*(f"{word} " * 5 for word in "abcdefgh"))).evicted
    first, *others = reversed([block for block in evicted if block.id])
    assert (first.reason, first.tokens) == ("no_room", 9)
    assert first.short_by is not None
    assert first.short_by > 0
    for newer, older in zip((first, *others), others, strict=False):
        assert older.reason == "behind"
        assert older.short_by == (newer.short_by or 0) + older.tokens
        assert older.message == (newer.message or 0) - 1
    assert all(block.text for block in evicted if block.id)


def test_messages_that_were_not_looked_at_are_one() -> None:
    small = preset(main="", openai_max_context=40, openai_max_tokens=10)
    evicted = on_sillytavern(preset=small, history=said(*(f"{number} " * 9 for number in range(90)))).evicted
    assert evicted[-1].reason == "out_of_reach"
    assert evicted[-1].source.startswith("messages 0 to ")


def test_a_plain_build_says_what_did_not_fit() -> None:
    budget = BudgetPreset(context_window_tokens=90, reserved_response_tokens=20)
    evicted = build(**inputs(preset=budget, history=said(*(f"{word} " * 20 for word in "abcd")))).explain().evicted
    assert evicted
    assert all(block.short_by and block.tokens for block in evicted)


def test_each_prompt_that_is_off_says_by_what() -> None:
    prompts = preset(
        custom("style", "Short.", name="Style"),
        custom("later", "Later.", injection_trigger=("continue",)),
        custom("blank", "{{// nothing }}"),
        main="Be {{char}}.",
        jailbreak="Stay.",
        off=("style",),
        own={"jailbreak": {"forbid_overrides": True}},
    )
    prompts = prompts.with_(prompts=(*prompts.prompts, custom("spare", "Spare.")))
    card = Character(name="Wren", system_prompt="A bird.", post_history_instructions="Sing.", description="Wren flies.")
    note = AuthorsNote(text="Slowly.", interval=5)
    off = {one.identifier: one for one in on_sillytavern(preset=prompts, character=card, story=Story(note=note)).off}
    reasons = {identifier: one.reason for identifier, one in off.items()}
    assert reasons["style"] == "switched_off"
    assert reasons["later"] == "trigger"
    assert reasons["blank"] == "empty_after_macros"
    assert reasons["spare"] == "not_in_order"
    assert reasons["personaDescription"] == "nothing_to_fill_in"
    assert reasons["main"] == "overridden"
    assert reasons["card:post_history"] == "forbid_overrides"
    assert off["authorsNote"].sentence == "it is sent with every 5 messages of the user"
    assert "charDescription" not in reasons


def test_a_text_completion_says_which_of_its_prompts_are_off() -> None:
    card = Character(name="Wren", system_prompt="A bird.")
    text = {"preset": TextPreset(max_length=2000, genamt=100), "character": card}
    for sysprompt, preferred, expected in (
        (
            SystemPrompt(enabled=False, content="Own."),
            True,
            {"sysprompt": "switched_off", "card:sysprompt": "switched_off"},
        ),
        (SystemPrompt(enabled=True, content="Own."), True, {"sysprompt": "overridden"}),
        (SystemPrompt(enabled=True, content="Own."), False, {"card:sysprompt": "not_preferred"}),
    ):
        chosen = UserSettings(sysprompt=sysprompt, prefer_character_prompt=preferred)
        off = on_sillytavern(**text, story=Story(settings=chosen)).off
        assert {one.identifier: one.reason for one in off} == expected


def test_cards_of_risuai_say_why_they_are_off() -> None:
    cards = (
        PromptCard(type="plain", name="War", text="{{#if {{getglobalvar::toggle_war}}}}Fight.{{/if}}"),
        PromptCard(type="jailbreak", name="Free", text="Speak."),
        PromptCard(type="persona"),
        PromptCard(type="chat"),
    )
    off = on_risuai(preset=RisuSettings(template=cards), story=risuai.Story(toggles={"war": "0"})).off
    assert [(one.name, one.reason, one.sentence) for one in off] == [
        (
            "War",
            "empty_after_macros",
            "nothing is left of it once its macros are expanded; of the toggles that it asks for, war is 0",
        ),
        ("Free", "switched_off", "the jailbreak is switched off in the settings"),
        ("", "nothing_to_fill_in", "there is no persona"),
    ]


entries = st.lists(
    st.sampled_from(
        (
            entry("ferry"),
            entry("coat", selective=True, secondary_keys=("go",)),
            entry(content="@@dont_activate\nx"),
            entry("coat", enabled=False),
            entry("/co.t/"),
            entry(content="x", constant=True),
            entry("coat", extensions={"group": "g", "cooldown": 2, "sticky": 1}),
        )
    ),
    max_size=6,
)


@settings(max_examples=30)
@given(entries=entries, platform=st.sampled_from(("sillytavern", "risuai", "plain")), is_traced=st.booleans())
def test_every_entry_has_one_verdict_and_an_explanation_is_read_back(
    entries: list[Entry], platform: str, is_traced: bool
) -> None:
    make: Any = {"sillytavern": sillytavern.build, "risuai": risuai.build, "plain": build}[platform]
    made: Built[Any] = make(**inputs(books=book(*entries), trace=is_traced))
    explanation = made.explain()
    assert len(explanation.lore) == len(entries)
    assert {one.reason for one in explanation.lore} <= set(get_args(EntryReason))
    assert all(one.sentence for one in explanation.lore)
    assert msgspec.convert(explanation.to_dict(), Explanation) == explanation
