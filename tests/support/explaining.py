"""What every explanation of a build must hold to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tavernkit import Built
from tavernkit.prompt.sources import ExplainedSpan, Explanation, FromMacro, TextSource

Names = Callable[[TextSource], bool]


def spans(explanation: Explanation) -> list[ExplainedSpan]:
    return [span for message in explanation.messages for span in message.spans]


def check_same(plain: Built[Any], traced: Built[Any]) -> None:
    """A traced build is the untraced one, but for what it knows."""
    assert traced.plan.with_(blocks=(), trace=None) == plain.plan.with_(blocks=())
    assert tuple(block.with_(trail=()) for block in traced.plan.blocks) == plain.plan.blocks
    assert traced.result.variables == plain.result.variables


def check_whole(traced: Built[Any]) -> None:
    """Every character of the request is in one span, and has a source of its own."""
    explanation = traced.explain()
    for message in explanation.messages:
        assert "".join(span.text for span in message.spans) == message.content
        assert all(span.text for span in message.spans)
    if traced.result.dialect == "text":
        assert [message.content for message in explanation.messages] == [traced.request.body]
    else:
        assert [message.content for message in explanation.messages] == [
            message.content for message in traced.plan.messages
        ]
    unknown = [span for span in spans(explanation) if not span.source.is_precise]
    assert unknown == []


def check_change(before: Built[Any], after: Built[Any], names: Names) -> None:
    """Where a source has changed by as many characters as it had, only spans that name it have another text.

    What `{{pick}}` chooses depends on the whole text that it stands in, so that it may change as well.
    """
    old, new = spans(before.explain()), spans(after.explain())
    assert [len(span.text) for span in old] == [len(span.text) for span in new]
    changed = [span for span, other in zip(old, new, strict=True) if span.text != other.text]
    assert all(any(names(source) or _picks(source) for source in span.source.named()) for span in changed), changed


def _picks(source: TextSource) -> bool:
    return isinstance(source, FromMacro) and source.name == "pick"
