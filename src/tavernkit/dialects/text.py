"""The whole conversation as one text, for models that complete text."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.wire import WireMessage, text_of


def text(messages: Sequence[WireMessage], options: DialectOptions) -> str:
    """A line per message, `System: …`, `user: …`, `assistant: …`, and the assistant's name for the reply."""
    if options.verbatim:
        return "".join(text_of(message.body, index) for index, message in enumerate(messages))
    lines = [f"{_speaker(message)}: {text_of(message.body, index)}" for index, message in enumerate(messages)]
    reply = f" {options.prefill}" if options.prefill else ""
    return "\n".join(lines) + f"\nassistant:{reply}"


def _speaker(message: WireMessage) -> str:
    """Only system messages are known by name, since that is how examples are told apart."""
    if message.role != "system":
        return message.role
    return "System" if isinstance(message.name, UnsetType) else message.name
