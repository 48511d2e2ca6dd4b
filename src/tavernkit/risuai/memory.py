"""Remembering what no longer fits into the prompt: the protocol, and a summary that rolls along with the chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from tavernkit.errors import MissingInputError, TokenBudgetExceeded
from tavernkit.risuai.errors import MemoryStateError
from tavernkit.values import Value

Summarise: TypeAlias = Callable[[str], str]
"""The caller's model: a text in, its summary out."""

SAFETY_TOKENS = 10
LARGEST_CHUNK = 1200
LONGEST_NOTES = 4
"""So many notes are kept apart; then they are summed up to one."""

SHORTEST_STATE = 5
_PUNCTUATION = re.compile(r"[.,/#!$%^&*;:{}=\-_`~()]")


class MemoryMessage(Value, frozen=True, kw_only=True):
    """A message that stands before the reply: whose it is, what it says and costs. `id` is None for a message that is
    not of the chat itself, such as an example's; `opens_chat` is the line behind which the chat begins."""

    speaker: str
    text: str
    tokens: int
    id: str | None = None
    opens_chat: bool = False


class MemoryRequest(Value, frozen=True, kw_only=True):
    """What a memory is asked: `tokens` is what the whole prompt costs with all of `messages`, `budget` its limit.

    `state` is what the last recollection left behind, and `count` says what a text costs.
    """

    messages: Sequence[MemoryMessage]
    tokens: int
    budget: int
    state: str
    count: Callable[[str], int]


class Recollection(Value, frozen=True, kw_only=True):
    """`text` is told in the place of the first `covered` messages. The caller keeps `state` with the chat."""

    text: str
    covered: int
    state: str


class Memory(Protocol):
    """Decides what is told of the messages that do not fit."""

    def recall(self, request: MemoryRequest) -> Recollection | None:
        """None leaves the messages as they are, because they fit."""


class RollingSummary:
    """A summary of the oldest messages, taken up again where it ended.

    Its state is RisuAI's own: the id of the first message that is still told, a line break, the summary. Without
    `summarise` only a summary that is already there is used; its punctuation is dropped, unless it `keeps_punctuation`.
    """

    def __init__(self, summarise: Summarise | None = None, *, keeps_punctuation: bool = False) -> None:
        self._summarise = summarise
        self._keeps_punctuation = keeps_punctuation

    def recall(self, request: MemoryRequest) -> Recollection | None:
        tokens = request.tokens + SAFETY_TOKENS
        if tokens <= request.budget:
            return None
        costs = [message.tokens for message in request.messages]
        covered = next((place for place, message in enumerate(request.messages) if message.opens_chat), 0)
        summary = ""
        if len(request.state) >= SHORTEST_STATE:
            first, _, kept = request.state.partition("\n")
            covered = _find(first, request.messages, covered)
            summary = kept if self._keeps_punctuation else _PUNCTUATION.sub("", kept)
            tokens += request.count(summary)
        tokens -= sum(costs[:covered])
        if tokens < request.budget:
            return Recollection(text=f"{summary}\n\n", covered=covered, state=request.state)
        return self._roll_on(request, summary, covered, tokens)

    def _roll_on(self, request: MemoryRequest, summary: str, covered: int, tokens: int) -> Recollection:
        """Sum up more messages, a chunk at a time, until the rest fits."""
        notes = [note for note in summary.split("\n\n") if note]
        limit = min(request.budget // 3, LARGEST_CHUNK)
        while tokens > request.budget:
            end = _chunk_end(request.messages, covered, limit)
            if end == covered:
                notes, saved = self._condense(notes, request)
                if saved <= 0:
                    raise TokenBudgetExceeded(
                        budget=request.budget,
                        actual=tokens,
                        advice="It does not fit even with a summary. Shorten the prompts or raise the context size.",
                    )
                tokens -= saved
                continue
            chunk = request.messages[covered:end]
            note = self._ask("\n\n".join(f"{message.speaker}: {message.text}" for message in chunk))
            if len(notes) >= LONGEST_NOTES:
                notes, saved = self._condense(notes, request)
                tokens -= saved
            notes.append(note)
            tokens += request.count(note) - sum(message.tokens for message in chunk)
            covered = end
        text = "\n\n".join(notes)
        return Recollection(text=text, covered=covered, state=f"{request.messages[covered].id or ''}\n{text}")

    def _condense(self, notes: list[str], request: MemoryRequest) -> tuple[list[str], int]:
        """The notes as one, and how much shorter that is."""
        if not notes:
            return notes, 0
        text = "\n\n".join(notes)
        note = self._ask(text)
        return [note], request.count(text) - request.count(note)

    def _ask(self, text: str) -> str:
        if self._summarise is None:
            raise MissingInputError(
                "The chat no longer fits and has to be summed up: pass Story(memory=RollingSummary(your_model))."
            )
        return re.sub(r"\n+", "\n", self._summarise(text))


def _find(id: str, messages: Sequence[MemoryMessage], start: int) -> int:
    if id.startswith("hypa:"):
        raise MemoryStateError(
            "The memory of this chat was written by HypaMemory, which a rolling summary cannot read."
        )
    place = next((place for place in range(start, len(messages)) if messages[place].id == id), None)
    if place is None:
        raise MemoryStateError(
            f"The summary ends before the message {id!r}, which is not in the chat: begin a new one."
        )
    return place


def _chunk_end(messages: Sequence[MemoryMessage], start: int, limit: int) -> int:
    """Where the next chunk ends: at least one message, as many as fit, and never the last of the chat."""
    end, size = start, 0
    while end < len(messages) - 1 and (end == start or size + messages[end].tokens <= limit):
        size += messages[end].tokens
        end += 1
    return end
