"""Sending thoughts back: they stand before the content of the newest messages, as many as the settings allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.values import Value

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
        formatted = f"{prefix}{reasoning}" if is_open else f"{prefix}{reasoning}{suffix}{separator}"
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
