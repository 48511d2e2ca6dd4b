"""Cards of a template that are switched on and not sent: each is named, with the reason."""

from __future__ import annotations

from typing import Any

from tests.risuai.prompt.builders import CHAT, always, built, chat, marlow, plain

from tavernkit.risuai import PromptCard, RisuSettings, RollingSummary, Story, unsent_prompts


def unsent(*cards: PromptCard, settings: dict[str, Any] | None = None, **inputs: Any) -> dict[str, str]:
    found = unsent_prompts(RisuSettings(template=cards, **(settings or {})), built(*cards, settings=settings, **inputs))
    return {card.identifier: card.reason for card in found}


def test_every_reason_has_its_own_name() -> None:
    cards = [
        PromptCard(type=type) for type in ("authornote", "lorebook", "memory", "riddle", "cache", "postEverything")
    ]
    cards += [plain(""), plain("{{#if 0}}x{{/if}}"), PromptCard(type="chatML", text="no message"), plain("Sent."), CHAT]
    assert unsent(*cards) == {
        "card:0:authornote": "nothing_to_fill_in",
        "card:1:lorebook": "nothing_to_fill_in",
        "card:2:memory": "nothing_to_fill_in",
        "card:3:riddle": "unknown_card",
        "card:6:plain": "empty",
        "card:7:plain": "empty_after_macros",
        "card:8:chatML": "empty",
    }


def test_what_is_filled_in_is_sent() -> None:
    cards = (*(PromptCard(type=type) for type in ("persona", "description", "authornote", "lorebook", "memory")), CHAT)
    history = chat(*(f"{'ua'[number % 2]}: {'word ' * 60}" for number in range(8)))
    story = Story(note="Dusk.", lore=(always("Fog."),), memory=RollingSummary(lambda _: "They met."))
    assert unsent(*cards, story=story, history=history, settings={"max_context": 600, "max_response": 100}) == {}
    assert unsent(*cards, character=marlow(description=""), history=history).keys() == {
        *("card:1:description", "card:2:authornote", "card:3:lorebook", "card:4:memory"),
    }


def test_a_card_that_is_switched_off_is_not_missed() -> None:
    cards = (PromptCard(type="jailbreak", text=""), PromptCard(type="cot", text=""), CHAT)
    assert unsent(*cards) == {}
    assert unsent(*cards, settings={"jailbreak_on": True}) == {"card:0:jailbreak": "empty"}


def test_a_preset_without_a_template_has_no_cards() -> None:
    assert unsent_prompts(RisuSettings(), built()) == ()
