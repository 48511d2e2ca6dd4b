"""How much of a prompt the provider could take from its cache: compared with what the conversation sent it before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Block
from tavernkit.playground.base.database.models import PromptBlock, PromptSnapshot, Run
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.records import REUSE, KeptReuse, PromptRecord
from tavernkit.prompt.explaining import PROMPT, explained
from tavernkit.prompt.reuse import reuse
from tavernkit.prompt.sources import (
    AnySource,
    ExplainedMessage,
    ExplainedSpan,
    Explanation,
    FromBlock,
    FromLore,
)
from tavernkit.values import Json

LOOKED_BACK = 5
"""So many prompts of the conversation are looked at for one that went to the same model."""


class _Earlier(NamedTuple):
    """The prompt before, block by block."""

    run_id: UUID
    blocks: Sequence[Mapping[str, Any]]


async def measured(
    runtime: Runtime, conversation_id: UUID, prompt: BuiltPrompt, record: PromptRecord, *, run_id: UUID | None = None
) -> PromptRecord:
    """The record, whose report says how much of the prompt the last one to this model has in common with it.

    `run_id` is the run of the prompt itself. Only the blocks that differ are read and counted.
    """
    async with runtime.database.read() as session:
        earlier = await _earlier(session, conversation_id, run_id, record)
        if earlier is None:
            return record
        pairs = zip(earlier.blocks, record.blocks["blocks"], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: _key(pair[0]) == _key(pair[1]), pairs))
        is_text = prompt.built.result.dialect == "text"
        # A text goes on behind the end of a block; in a message, its end is a difference.
        tail = earlier.blocks[same:] if is_text else earlier.blocks[same : same + 1]
        hashes = {str(block["sha256"]) for block in tail}
        kept = await session.scalars(select(PromptBlock).where(PromptBlock.sha256.in_(hashes)))
        texts = {row.sha256: row.content for row in kept}
    found = await asyncio.to_thread(_compared, prompt, record, earlier, same, texts, is_text=is_text)
    return record.with_(report={**record.report, REUSE: msgspec.to_builtins(found)}, reuse=found)


async def _earlier(
    session: AsyncSession, conversation_id: UUID, run_id: UUID | None, record: PromptRecord
) -> _Earlier | None:
    """The newest prompt of the conversation that went to the same model of the same provider."""
    query = (
        select(PromptSnapshot.run_id, PromptSnapshot.request, PromptSnapshot.blocks)
        .join(Run, Run.id == PromptSnapshot.run_id)
        .where(Run.conversation_id == conversation_id, Run.id != run_id)
        .order_by(Run.created_at.desc(), Run.id)
        .limit(1)
    )
    for place in range(LOOKED_BACK):
        row = (await session.execute(query.offset(place))).one_or_none()
        if row is None:
            return None
        if all(row.request.get(name) == record.request.get(name) for name in ("provider", "kind", "dialect", "model")):
            return _Earlier(row.run_id, row.blocks["blocks"])
    return None


def _key(block: Mapping[str, Any]) -> tuple[object, ...]:
    pictures = [picture["sha256"] for picture in block.get("pictures", ())]
    return block["sha256"], block["role"], block["name"], pictures


def _compared(
    prompt: BuiltPrompt,
    record: PromptRecord,
    earlier: _Earlier,
    same: int,
    texts: Mapping[str, str],
    *,
    is_text: bool,
) -> KeptReuse:
    written: Sequence[Mapping[str, Any]] = record.blocks["blocks"]
    now = [
        _message(block, record.texts[block["sha256"]], sent)
        for block, sent in zip(written[same:], prompt.plan.enabled_blocks[same:], strict=True)
    ]
    # One that is gone from the database says nothing, which is a difference, too.
    before = [_message(block, texts.get(block["sha256"], "")) for block in earlier.blocks[same:]]
    if not is_text:
        now, before = now[:1], before[:1]
    elif now and before:
        now, before = [_joined(now)], [_joined(before)]
    estimator, model = prompt.inputs.estimator, prompt.inputs.provider.model
    then = Explanation(messages=tuple(before))
    found = reuse(then, Explanation(messages=tuple(now)), estimator=estimator, model=model)
    common, total = (sum(block["tokens"] for block in blocks) for blocks in (written[:same], written))
    broken = found.broken_by
    if broken is not None and not is_text:
        broken = broken.with_(message=same)
    common = min(common + found.common_tokens, total)
    return KeptReuse(
        before=earlier.run_id,
        common_tokens=common,
        total_tokens=total,
        share=round(common / total, 4) if total else 1.0,
        broken_by=None if broken is None else presentable(msgspec.to_builtins(broken)),
    )


def _message(block: Mapping[str, Any], content: str, sent: Block | None = None) -> ExplainedMessage:
    """A block as it is kept; where all of it may be shown, the one that is sent says where its parts are from."""
    spans: tuple[ExplainedSpan, ...] = (ExplainedSpan(text=content, source=_source(block)),)
    if sent is not None and sent.content == content:
        spans = explained([sent], is_one_text=False).messages[0].spans
    return ExplainedMessage(role=block["role"], content=content, spans=spans)


def _source(block: Mapping[str, Json]) -> AnySource:
    source, lore = block["source"], block.get("lore")
    if isinstance(lore, list) and len(lore) == 1:
        return msgspec.convert(lore[0], FromLore)
    found = source if isinstance(source, dict) else {}
    return FromBlock(stage=str(found.get("stage") or ""), id=str(found.get("id") or ""))


def _joined(messages: Sequence[ExplainedMessage]) -> ExplainedMessage:
    return ExplainedMessage(
        role=PROMPT,
        content="".join(message.content for message in messages),
        spans=tuple(span for message in messages for span in message.spans),
    )
