"""A model's thoughts: found in its replies, whole or as they arrive, and sent back with the chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from tavernkit.prompt.parts import joined
from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.text.js_strings import js_trim
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


NO_THOUGHTS = "\u200b"
"""What older chats hold in place of thoughts that the model kept to itself."""


class ChatThought(Value, frozen=True, kw_only=True):
    """One message of the chat: who said it, its content as it goes into the prompt, and the thoughts before it."""

    content: str
    name: str = ""
    reasoning: str = ""


class ReasoningPrefix(Value, frozen=True, kw_only=True):
    """The thoughts of the message that is being continued. `formatted` is what they have put before its content.

    A message of thoughts alone is `open`: the prompt ends inside the block, and the model goes on thinking.
    """

    reasoning: str = ""
    formatted: str = ""
    open: bool = False

    @property
    def unfinished(self) -> str:
        """What the prompt ended with, when it ended inside the block."""
        return self.formatted if self.open else ""

    def removed_from(self, content: str) -> str:
        """The content of the continued message as it was before."""
        return content[len(self.formatted) :]


class PromptReasoning:
    """Adds thoughts to the messages of one prompt, which come newest first, and counts them."""

    def __init__(self, settings: ReasoningSettings, *, expand: Callable[[str], str] = str) -> None:
        self.settings = settings
        self.count = 0
        self.prefix = ReasoningPrefix()
        self._expand = expand

    @property
    def limit_reached(self) -> bool:
        """Whether no further message gets its thoughts back."""
        return not self.settings.add_to_prompts or self.count >= self.settings.max_additions

    def add(self, content: str, reasoning: str, *, continued: bool = False) -> str:
        """The content with its thoughts before it. A message that is being continued always gets its own."""
        if (self.limit_reached and not continued) or reasoning in ("", NO_THOUGHTS):
            return content
        self.count += 1
        prefix, separator, suffix = map(
            self._expand, (self.settings.prefix, self.settings.separator, self.settings.suffix)
        )
        is_open = continued and not content
        formatted = joined("", (prefix, reasoning) if is_open else (prefix, reasoning, suffix, separator))
        if continued:
            self.prefix = ReasoningPrefix(reasoning=reasoning, formatted=formatted, open=is_open)
        return formatted + content


def returned_reasoning(
    chat: Sequence[ChatThought],
    prompt_reasoning: PromptReasoning,
    *,
    is_continue: bool = False,
    speaker: str | None = None,
    apply_regex: Callable[[str, int], str] = lambda text, _: text,
) -> tuple[str, ...]:
    """The contents of a chat, oldest first, with the thoughts that go back to the model.

    In a group, `speaker` is the member who is about to speak: only that member's thoughts are returned. `apply_regex`
    gets the thoughts and the depth of their message.
    """
    contents = [message.content for message in chat]
    for place in reversed(range(len(chat))):
        message = chat[place]
        if speaker is not None and message.name != speaker:
            continue
        depth = len(chat) - place - (2 if is_continue else 1)
        thoughts = apply_regex(message.reasoning, depth) if message.reasoning else ""
        continued = is_continue and place == len(chat) - 1
        contents[place] = prompt_reasoning.add(message.content, thoughts, continued=continued)
        if prompt_reasoning.limit_reached:
            break
    return tuple(contents)


def format_reasoning(
    reasoning: str, content: str, template: ReasoningTemplate, *, expand: Callable[[str], str] = str
) -> str:
    """A message as one text: its thoughts in the template, then its content. Without either, the content alone."""
    if not (reasoning and template.prefix and template.suffix):
        return content
    return f"{expand(template.prefix)}{reasoning}{expand(template.suffix)}{expand(template.separator)}{content}"


class ReasoningState(StrEnum):
    """How far the thoughts of a reply have come."""

    NONE = "none"
    THINKING = "thinking"
    DONE = "done"


class StreamedReply(Value, frozen=True, kw_only=True):
    """A reply so far. `reasoning` is None until the first thought has arrived."""

    content: str
    reasoning: str | None
    state: ReasoningState
    origin: Origin | None


class ReasoningStream:
    """Sorts a reply into thoughts and content as it arrives.

    The reply must begin with the prefix itself. Until the suffix is whole, everything behind it is thoughts.
    `continues` is the `PromptReasoning.prefix` of a prompt that continues a message, and None for a new one.
    """

    def __init__(
        self,
        settings: ReasoningSettings,
        *,
        trim_spaces: bool = True,
        continues: ReasoningPrefix | None = None,
        apply_regex: Callable[[str], str] = str,
    ) -> None:
        self._settings = settings
        self._trim: Callable[[str], str] = js_trim if trim_spaces else str
        self._apply_regex = apply_regex
        self._unfinished = "" if continues is None else continues.unfinished
        self._thoughts = "" if continues is None else continues.reasoning
        self._state = ReasoningState.NONE if continues is None or continues.open else ReasoningState.DONE
        self._in_block = False
        self._content_start: int | None = None
        self._shown: str | None = None
        self._origin: Origin | None = None
        self._text = self._content = ""

    def feed(self, chunk: str) -> StreamedReply:
        """Take the next piece of the reply."""
        return self.update(self._text + chunk)

    def update(self, text: str) -> StreamedReply:
        """Take the whole reply as far as it has arrived."""
        self._text = self._content = text
        behind = self._sort(self._unfinished + text)
        if self._thoughts:
            before = self._shown
            self._show()
            if self._state is ReasoningState.NONE:
                self._state = ReasoningState.THINKING
            elif self._state is ReasoningState.THINKING and self._shown == before and behind:
                self._state = ReasoningState.DONE
        return self._reply()

    def finish(self) -> StreamedReply:
        """The reply is over, and so are the thoughts, whether they were closed or not."""
        if self._state is ReasoningState.THINKING:
            self._state = ReasoningState.DONE
            self._show()
        return self._reply()

    def _sort(self, text: str) -> bool:
        """Divide the text; gives whether something stands behind the thoughts, so that they can be over."""
        prefix, suffix = self._settings.prefix, self._settings.suffix
        if not (self._settings.auto_parse and prefix and suffix):
            return self._settings.auto_parse
        if self._content_start is not None:
            self._content = self._trim(text[self._content_start :])
            return True
        if self._state is ReasoningState.NONE and text.startswith(prefix) and len(text) > len(prefix):
            self._in_block, self._state = True, ReasoningState.THINKING
        if not self._in_block:
            return True
        self._thoughts, closing, _ = text[len(prefix) :].partition(suffix)
        self._content = ""
        if closing:
            # From the very beginning, as SillyTavern does it: this shows when the prefix contains the suffix.
            self._content_start = text.index(suffix) + len(suffix)
            self._content = self._trim(text[self._content_start :])
            self._in_block = False
        return bool(self._content)

    def _show(self) -> None:
        self._thoughts = self._trim(self._thoughts)
        self._shown = self._apply_regex(self._thoughts)
        self._origin = "parsed" if self._in_block or self._content_start is not None else "model"

    def _reply(self) -> StreamedReply:
        return StreamedReply(content=self._content, reasoning=self._shown, state=self._state, origin=self._origin)
