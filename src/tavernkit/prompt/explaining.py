"""What a finished prompt says of where its characters come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tavernkit.prompt.block import Block
from tavernkit.prompt.evictions import evicted_blocks
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import Findings
from tavernkit.prompt.sources import (
    AnySource,
    ExplainedMessage,
    ExplainedSpan,
    Explanation,
    FromArtifact,
    FromBlock,
    FromLore,
    SourceSpan,
)
from tavernkit.prompt.tracing import covering

PROMPT = "prompt"
"""The role of a text completion, which has none."""


def explained(plan: Plan, findings: Findings, *, is_one_text: bool) -> Explanation:
    """The blocks that are sent, each as a message, or all of them as one text; and what is not sent."""
    blocks = plan.enabled_blocks
    messages = (
        (explained_message(PROMPT, blocks),)
        if is_one_text
        else tuple(explained_message(block.role, [block]) for block in blocks)
    )
    return Explanation(
        messages=messages,
        lore=tuple(findings.lore),
        lore_cut=tuple(findings.lore_cut),
        evicted=evicted_blocks(plan),
        off=tuple(findings.off),
        facts={group.kind: group.values for group in findings.facts if group.values},
    )


def explained_message(role: str, blocks: Sequence[Block]) -> ExplainedMessage:
    """The blocks as one message."""
    return ExplainedMessage(
        role=role,
        content="".join(block.content for block in blocks),
        spans=tuple(span for block in blocks for span in _spans(block)),
    )


def _spans(block: Block) -> Iterator[ExplainedSpan]:
    content, source = block.content, block.source
    rest = _artifact(block) or FromBlock(stage=str(source.get("stage") or ""), id=str(source.get("id") or ""))
    for start, end, origin in covering(block.trail or _lore(block), len(content), rest):
        yield ExplainedSpan(text=content[start:end], source=origin)


def _artifact(block: Block) -> FromArtifact | None:
    """The artifact that has made or changed a block, the last of them: what nobody else has said is its."""
    match block.metadata.get("artifacts"):
        case [*_, {"artifact": str(name), "version": int(version)}]:
            return FromArtifact(artifact=name, version=version)
    return None


def _lore(block: Block) -> Iterator[SourceSpan]:
    """What a build that was not traced knows."""
    for part in block.lore_parts:
        source: AnySource = FromLore(book=part.book, entry=part.source, name=part.name, cause=part.cause, key=part.key)
        yield part.start, part.end, source
