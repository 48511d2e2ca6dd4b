"""Prompts of RisuAI for tests, in one line each."""

from __future__ import annotations

from typing import Any

from tavernkit import Built, Message, Plan, User
from tavernkit.risuai import PromptCard, RisuResult, RisuSettings, Story, build
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.trigger import Trigger

TESS = User(name="Tess", persona="{{user}} draws maps.")
CHAT = PromptCard(type="chat")


class Words:
    """Every word is a token."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


def marlow(**fields: Any) -> RisuCharacter:
    usual = {"name": "Marlow", "id": "cha-1", "description": "{{char}} tends the light.", "first_message": "Hello."}
    return RisuCharacter(**{**usual, **fields})


def always(content: str, **fields: Any) -> LoreEntry:
    """An entry that is always awake."""
    return LoreEntry(content=content, always_active=True, **fields)


def plain(text: str, **fields: Any) -> PromptCard:
    return PromptCard(type="plain", text=text, **fields)


def on_start(*effects: dict[str, Any]) -> Trigger:
    return Trigger(type="start", effects=effects)


def chat(*lines: str) -> list[Message]:
    """Messages from `u: …` and `a: …`."""
    roles = {"u": "user", "a": "assistant"}
    return [Message(role=roles[line[0]], content=line[3:]) for line in lines]


def built(
    *cards: PromptCard,
    character: RisuCharacter | None = None,
    story: Story | None = None,
    settings: dict[str, Any] | None = None,
    **inputs: Any,
) -> Built[RisuResult]:
    """The build for a template of these cards, or for the older order without any."""
    fields = {"template": cards or None, "main_prompt": "MAIN", "max_context": 8000, **(settings or {})}
    return build(
        story=(story or Story()).with_(character=character or marlow()),
        preset=RisuSettings(**fields),
        **{"user": TESS, **inputs},
    )


def told(*cards: PromptCard, **inputs: Any) -> Plan:
    """The plan of such a build."""
    return built(*cards, **inputs).plan


def texts(plan: Plan) -> list[str]:
    return [message.content for message in plan.messages]
