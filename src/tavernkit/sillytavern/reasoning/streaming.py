"""Finding the thoughts while a reply is arriving."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from tavernkit.sillytavern.reasoning.parsing import Origin
from tavernkit.sillytavern.reasoning.returning import ReasoningPrefix
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value


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
