"""SillyTavern's presets as templates."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.prompt.builders import texts, told
from tests.strategies import json_values

from tavernkit.risuai import PromptCard, RisuSettings, convert_preset, to_chat_preset


def preset(*names: str, off: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    prompts = [{"identifier": name, "content": f"{name} text", "role": "system", "name": name} for name in names]
    order = [{"identifier": name, "enabled": name not in off} for name in names]
    return {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}], **fields}


def test_prompts_become_cards_in_their_order() -> None:
    names = ("main", "worldInfoBefore", "personaDescription", "charDescription", "nsfw", "chatHistory", "custom")
    assert [(card.type, card.kind) for card in convert_preset(preset(*names))] == [
        ("plain", "main"), ("lorebook", "normal"), ("persona", "normal"), ("description", "normal"),
        ("jailbreak", "normal"), ("chat", "normal"), ("plain", "normal"),
    ]  # fmt: skip


def test_what_is_switched_off_or_told_elsewhere_has_no_card() -> None:
    assert convert_preset(preset("main", "scenario", "dialogueExamples", "charPersonality", off=("main",))) == ()


def test_a_prompt_that_is_only_in_the_order_has_no_card() -> None:
    document = preset("main")
    document["prompt_order"][0]["order"].append({"identifier": "lost", "enabled": True})
    assert len(convert_preset(document)) == 1


def test_roles_get_risuais_names() -> None:
    document = preset("custom")
    document["prompts"][0]["role"] = "assistant"
    assert convert_preset(document) == (PromptCard(type="plain", name="custom", text="custom text", role="bot"),)


def test_a_prefill_is_for_models_that_take_one() -> None:
    cards = convert_preset(preset("main", assistant_prefill="Sure,"))
    assert [card.type for card in cards] == ["plain", "postEverything", "plain"]
    assert texts(told(*cards)) == ["main text"]
    assert texts(told(*cards, settings={"model": "claude-3"})) == ["main text", "Sure,"]


@given(json_values | st.fixed_dictionaries({"prompts": json_values, "prompt_order": json_values}))
def test_no_document_is_too_strange(document: Any) -> None:
    cards = convert_preset(document if isinstance(document, dict) else {})
    assert all(isinstance(card, PromptCard) for card in cards)


markers = st.sampled_from(("chat", "lorebook", "description", "persona"))
written = st.builds(
    PromptCard, type=st.just("plain"), name=st.text(min_size=1), text=st.text(), role=st.sampled_from(("user", "bot"))
)


@given(st.lists(st.builds(PromptCard, type=markers) | written, unique_by=lambda card: card.name or card.type))
def test_a_template_that_became_a_preset_becomes_the_same_template(cards: list[PromptCard]) -> None:
    template = (PromptCard(type="plain", kind="main", text="Main."), *cards, PromptCard(type="jailbreak", text="Stay."))
    document, report = to_chat_preset(RisuSettings(template=template, jailbreak_on=True))
    assert report.is_exact
    assert convert_preset(document) == template
