"""What a preset of RisuAI's says and nobody can do: each problem with its place."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.reading import Note
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.risuai.template.cards import KNOWN_CARDS, ROLES


def preset_problems(settings: RisuSettings) -> tuple[Note, ...]:
    """What of a preset has no effect, or another one than its author will have meant."""
    return tuple(Note(path=path, outcome="ignored", message=message) for path, message in _problems(settings))


def _problems(settings: RisuSettings) -> Iterator[tuple[str, str]]:
    if settings.max_prompt_tokens == 0:
        reply = f"the reply may take {settings.max_response:,} of {settings.max_context:,} tokens"
        yield "maxResponse", f"{reply}, which leaves none for the prompt"
    if settings.template is None:
        if "chats" not in settings.order:
            yield "formatingOrder", "chats is not in it, so the chat is not sent"
        return
    if not any(card.type == "chat" for card in settings.template):
        yield "promptTemplate", "it has no card for the chat, so the chat is not sent"
    for place, card in enumerate(settings.template):
        yield from ((f"promptTemplate[{place}].{field}", message) for field, message in _of_card(card))


def _of_card(card: PromptCard) -> Iterator[tuple[str, str]]:
    if card.type not in KNOWN_CARDS:
        yield "type", f"{card.type!r} is unknown; the card is not sent"
    if card.role not in ROLES:
        yield "role", f"{card.role!r} is unknown; use one of {', '.join(ROLES)}"
