"""Finding the thoughts in a whole reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.text.replies import split_thoughts
from tavernkit.values import Value

Origin: TypeAlias = Literal["parsed", "model"]
"""Whether thoughts were found in the text of a reply, or were the message's own already."""

PLACEHOLDER = "..."
"""The text of a message that is waiting for its reply."""


class Parsed(Value, frozen=True, kw_only=True):
    """A reply taken apart; `reasoning` is empty where no thoughts were found."""

    reasoning: str
    content: str


class ReceivedReply(Value, frozen=True, kw_only=True):
    """What a message holds once its reply has arrived; `reasoning` is None where it never had any."""

    content: str
    reasoning: str | None = None
    origin: Origin | None = None


def parse_reasoning(
    text: str, template: ReasoningTemplate, *, strict: bool = True, trim_spaces: bool = True
) -> Parsed | None:
    """Take the first block of thoughts out of a reply; None when the template lacks a prefix or a suffix.

    `strict` accepts a block at the beginning only, after white space at most. Macros in the template are not expanded.
    """
    if not (template.prefix and template.suffix):
        return None
    found = split_thoughts(text, template.prefix, template.suffix, strict=strict, trim_spaces=trim_spaces)
    return Parsed(reasoning="", content=text) if found is None else Parsed(reasoning=found[0], content=found[1])


def remove_reasoning(text: str, settings: ReasoningSettings, *, trim_spaces: bool = True) -> str:
    """The reply without its thoughts, if the settings say that thoughts are looked for."""
    parsed = parse_reasoning(text, settings, trim_spaces=trim_spaces) if settings.auto_parse else None
    return text if parsed is None else parsed.content


def receive_reply(
    text: str,
    settings: ReasoningSettings,
    *,
    known: str | None = None,
    known_origin: Origin | None = None,
    unfinished: str = "",
    trim_spaces: bool = True,
    apply_regex: Callable[[str], str] = str,
) -> ReceivedReply:
    """Sort a finished reply into thoughts and content, as the settings say.

    `known` are the thoughts that the message has already: then nothing is looked for, unless the prompt ended inside
    them. In that case `unfinished` is how it ended (`ReasoningPrefix.unfinished`), and the block is completed with it.
    """
    untouched = ReceivedReply(content=text, reasoning=known, origin=known_origin)
    if not settings.auto_parse or not text or text == PLACEHOLDER or (known and not unfinished):
        return untouched
    parsed = parse_reasoning(unfinished + text, settings, trim_spaces=trim_spaces)
    if parsed is None:
        return untouched
    if not parsed.reasoning:
        return untouched.with_(content=parsed.content)
    return ReceivedReply(content=parsed.content, reasoning=apply_regex(parsed.reasoning), origin="parsed")
