"""What everybody who needs to know a size in tokens asks for."""

from __future__ import annotations

from typing import Protocol

from tavernkit.prompt.message import Attachment, Message

IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85


class TokenEstimator(Protocol):
    """Says how many tokens a text is; must give a number for any text, never an exception."""

    def estimate(self, text: str, model_hint: str | None = None) -> int: ...


def message_tokens(message: Message, estimator: TokenEstimator, model_hint: str | None = None) -> int:
    """Content, name and attachments; what a provider adds around a message is not counted here."""
    total = estimator.estimate(message.content, model_hint)
    if message.name:
        total += estimator.estimate(message.name, model_hint)
    return total + sum(map(attachment_tokens, message.attachments))


def attachment_tokens(attachment: Attachment) -> int:
    """What the attachment says it costs; else a square megapixel for an image, and nothing for other kinds."""
    if attachment.tokens is not None:
        return attachment.tokens
    if attachment.kind != "image":
        return 0
    return LOW_DETAIL_IMAGE_TOKENS if attachment.detail == "low" else IMAGE_TOKENS
