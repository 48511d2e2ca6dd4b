"""Prompts that a preset switches on and that are not sent: each is named, with the reason."""

from __future__ import annotations

from typing import Any

from tests.sillytavern.stories.builders import ADA, WREN, book, chat, custom, entry, preset

from tavernkit import User, sillytavern
from tavernkit.sillytavern import unsent_prompts
from tavernkit.sillytavern.presets import ChatPreset

NOT_THERE = [
    "worldInfoBefore",
    "charPersonality",
    "scenario",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "jailbreak",
]
"""What a story of few words has nothing for."""


def unsent(given: ChatPreset, **inputs: Any) -> dict[str, str]:
    usual: dict[str, Any] = {"character": WREN, "user": ADA, "history": chat("Wren: Tea?", "Ada: Yes.")}
    built = sillytavern.build(preset=given, **{**usual, **inputs})
    return {prompt.identifier: prompt.reason for prompt in unsent_prompts(given, built)}


def test_every_reason_has_its_own_name() -> None:
    given = preset(
        custom("sent", "Here."),
        custom("later", "Go on.", injection_trigger=("continue",)),
        custom("blank", ""),
        custom("silent", "{{setvar::mood::calm}}"),
        custom("tool", "In the chat.", injection_depth=1, role="tool"),
        custom("ahead", "In the chat.", injection_depth=-1),
        custom("own", "Words.", system_prompt=True),
        custom("off", "Words."),
        custom("marked", "", marker=True),
        off=("off",),
    )
    reasons = unsent(given.with_(prompts=given.prompts[:-1]))
    assert {name: reason for name, reason in reasons.items() if name not in NOT_THERE} == {
        "later": "trigger",
        "blank": "empty",
        "silent": "empty_after_macros",
        "tool": "role",
        "ahead": "depth",
        "own": "no_place",
        "marked": "unknown_identifier",
    }
    assert unsent(given)["marked"] == "nothing_to_fill_in"
    assert {reasons[name] for name in NOT_THERE} == {"nothing_to_fill_in", "empty"}


def test_what_is_filled_in_is_sent() -> None:
    full = WREN.with_(
        personality="Kind.",
        scenario="Dusk.",
        mes_example="<START>\nAda: Hm?\nWren: Ha!",
        system_prompt="{{original}}",
        post_history_instructions="Brief.",
    )
    lore = book(entry("Before.", position=0), entry("After.", position=1))
    assert unsent(preset(), character=full, books=[lore]) == {"nsfw": "empty"}
    assert set(unsent(preset(), character=full, user=User(name="Ada"))) >= {"personaDescription", "worldInfoBefore"}


def test_prompts_that_are_joined_into_one_message_are_sent() -> None:
    customs = (custom("one", "One.", injection_depth=0), custom("two", "Two.", injection_depth=0))
    for squash in (False, True):
        reasons = unsent(preset(*customs, custom("three", "Three."), squash_system_messages=squash))
        assert reasons.keys() == set(NOT_THERE)


def test_what_trimming_leaves_out_is_a_block_of_the_plan() -> None:
    given = preset(custom("long", "Words. " * 500), openai_max_context=200)
    built = sillytavern.build(preset=given, character=WREN, user=ADA)
    assert "long" not in {prompt.identifier for prompt in unsent_prompts(given, built)}
    assert [block.enabled for block in built.plan.blocks if block.slot == "long"] == [False]
