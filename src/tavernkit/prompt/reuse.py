"""How much of a request a provider could take from its cache: what it begins with as the request before it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from tavernkit.prompt.block import Block
from tavernkit.prompt.built import Built
from tavernkit.prompt.explaining import PROMPT, explained_message
from tavernkit.prompt.message import Message
from tavernkit.prompt.sources import AnySource, ExplainedMessage, ExplainedSpan, Explanation
from tavernkit.prompt.tokens import ModelTokenEstimator, TokenEstimator, default_estimator, message_tokens
from tavernkit.prompt.tracing import common_length
from tavernkit.values import JsonObject, Value

EXCERPT = 60
"""Characters of each text around a difference."""


class CacheRule(Value, frozen=True, kw_only=True):
    """What a provider can reuse of a common prefix: nothing below `at_least` tokens, and above it in a `step`."""

    at_least: int
    step: int

    def reusable(self, common_tokens: int) -> int:
        """How many of the common tokens it reuses at most."""
        return 0 if common_tokens < self.at_least else common_tokens - (common_tokens - self.at_least) % self.step


CACHE_RULES: Mapping[str, CacheRule] = {"openai": CacheRule(at_least=1024, step=128)}
"""The rules that providers have published, by the name of the provider."""


class PrefixBreak(Value, frozen=True, kw_only=True):
    """Where two requests differ first: a message of the later one by its place, and the character of its content.

    `source` is where the text comes from that stands there now, `replaced` where that comes from which stood there
    before; None where the request, or its message, has ended. `common` is the text in front of the difference, `before`
    and `after` what the two requests go on with.
    """

    message: int
    offset: int
    role: str
    source: AnySource | None
    replaced: AnySource | None
    common: str
    before: str
    after: str

    def __str__(self) -> str:
        now, then = self.source or "the end", self.replaced or "the end"
        return f"message {self.message} at {self.offset}: {now}" + ("" if now == then else f", before it {then}")


class Reuse(Value, frozen=True, kw_only=True):
    """What a request has in common with the one before it, counted from its beginning.

    `broken_by` is None where the earlier request is the beginning of the later one, or the later one of the earlier.
    """

    common_tokens: int
    total_tokens: int
    broken_by: PrefixBreak | None = None

    @property
    def share(self) -> float:
        """The share of the request's tokens that are in the common prefix."""
        return self.common_tokens / self.total_tokens if self.total_tokens else 1.0

    def __str__(self) -> str:
        figures = f"{self.common_tokens:,} of {self.total_tokens:,} tokens ({self.share:.1%})"
        return figures if self.broken_by is None else f"{figures}, up to {self.broken_by}"


AnyRequest: TypeAlias = Explanation | Built[Any] | Iterable[Message | JsonObject]
"""What can be compared: a build, what it explains, or the messages alone, of which no source is known."""


class _Piece(NamedTuple):
    """A message: what must be the same before its content is looked at, the content, and what can be asked of it."""

    key: Sequence[object]
    content: str
    tokens: Callable[[TokenEstimator, str | None], int]
    spans: Callable[[], Sequence[ExplainedSpan]]


def reuse(
    before: AnyRequest, after: AnyRequest, *, estimator: TokenEstimator | None = None, model: str | None = None
) -> Reuse:
    """Compare a request with the one before it, message by message in their order: roles, names, attachments and texts.

    Tokens are counted as `Block.tokens` counts them: of what is said, without what a provider adds around a message. In
    the message that differs, tokens are compared where the estimator knows them, else those of the common text count.
    """
    counter = default_estimator() if estimator is None else estimator
    old, new = _pieces(before), _pieces(after)
    counts = [piece.tokens(counter, model) for piece in new]
    same = 0
    for place, (then, now) in enumerate(zip_longest(old, new)):
        if then is None or now is None:
            break
        if (then.key, then.content) != (now.key, now.content):
            return _broken(place, then, now, same, sum(counts), counter, model)
        same += counts[place]
    return Reuse(common_tokens=same, total_tokens=sum(counts))


def _broken(
    place: int, then: _Piece, now: _Piece, same: int, total: int, counter: TokenEstimator, model: str | None
) -> Reuse:
    length = common_length(then.content, 0, now.content, 0) if then.key == now.key else 0
    return Reuse(
        common_tokens=same + common_tokens(then.content, now.content, length, counter, model),
        total_tokens=total,
        broken_by=PrefixBreak(
            message=place,
            offset=length,
            role=str(now.key[0]),
            source=_source_at(now, length),
            replaced=_source_at(then, length),
            common=now.content[max(0, length - EXCERPT) : length],
            before=then.content[length : length + EXCERPT],
            after=now.content[length : length + EXCERPT],
        ),
    )


def common_tokens(before: str, after: str, length: int, estimator: TokenEstimator, model: str | None = None) -> int:
    """The tokens that two texts begin with alike, of which the first `length` characters are the same."""
    if not length:
        return 0
    if isinstance(estimator, ModelTokenEstimator):
        old, new = (estimator.tokenize(text, model) for text in (before, after))
        if old and new:
            pairs = enumerate(zip(old, new, strict=False))
            return next((place for place, (then, now) in pairs if then.id != now.id), min(len(old), len(new)))
    return min(estimator.estimate(after[:length], model), estimator.estimate(after, model))


def _source_at(piece: _Piece, place: int) -> AnySource | None:
    at = 0
    for span in piece.spans():
        at += len(span.text)
        if place < at:
            return span.source
    return None


def _pieces(request: AnyRequest) -> list[_Piece]:
    match request:
        case Explanation():
            return [_explained_piece(message) for message in request.messages]
        case Built() if request.result.dialect == "text":
            return [_explained_piece(explained_message(PROMPT, request.plan.enabled_blocks))]
        case Built():
            return [_piece(block, block) for block in request.plan.enabled_blocks]
        case _:
            return [_piece(message) for message in map(Message.coerce, request)]


def _explained_piece(message: ExplainedMessage) -> _Piece:
    def tokens(estimator: TokenEstimator, model: str | None) -> int:
        return estimator.estimate(message.content, model)

    # As a message that has nothing but its text.
    return _Piece((message.role, None, (), {}), message.content, tokens, lambda: message.spans)


def _piece(said: Message | Block, block: Block | None = None) -> _Piece:
    metadata = said.metadata if isinstance(said, Message) else said.message_metadata
    calls = {name: metadata[name] for name in ("tool_calls", "tool_call_id") if name in metadata}

    def tokens(estimator: TokenEstimator, model: str | None) -> int:
        return message_tokens(said, estimator, model)

    def spans() -> Sequence[ExplainedSpan]:
        return () if block is None else explained_message(block.role, [block]).spans

    return _Piece((said.role, said.name, said.attachments, calls), said.content, tokens, spans)
