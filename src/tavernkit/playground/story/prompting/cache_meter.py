"""How much of a prompt the provider could take from its cache: compared with what the conversation sent it before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import PromptSnapshot, Run
from tavernkit.playground.base.pieces import Piece
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.records import KeptReuse, PromptDocument
from tavernkit.playground.story.prompting.stored import explanation_in, is_text, read_document
from tavernkit.prompt.reuse import PrefixBreak, reuse
from tavernkit.prompt.sources import Explanation
from tavernkit.values import JsonObject

LOOKED_BACK = 5
"""So many prompts of the conversation are looked at for one that went to the same model."""


class _Earlier(NamedTuple):
    run_id: UUID
    document: PromptDocument


async def measured(
    runtime: Runtime,
    conversation_id: UUID,
    inputs: PromptInputs,
    document: PromptDocument,
    *,
    known: Mapping[bytes, Piece] | None = None,
    run_id: UUID | None = None,
) -> KeptReuse | None:
    """How much of a prompt the last one of the conversation to its model has in common with it; None without one.

    `known` are the pieces of the prompt, of which most are those of the one before, and need not be read. `run_id` is
    the run of the prompt itself.
    """
    async with runtime.database.read() as session:
        earlier = await _earlier(session, conversation_id, run_id, document, known)
    return None if earlier is None else await asyncio.to_thread(_compared, inputs, earlier, document)


async def _earlier(
    session: AsyncSession,
    conversation_id: UUID,
    run_id: UUID | None,
    document: PromptDocument,
    known: Mapping[bytes, Piece] | None,
) -> _Earlier | None:
    """The newest prompt of the conversation that went to the same model of the same provider."""
    query = (
        select(PromptSnapshot)
        .join(Run, Run.id == PromptSnapshot.run_id)
        .where(Run.conversation_id == conversation_id, Run.id != run_id)
        .order_by(Run.created_at.desc(), Run.id)
        .limit(1)
    )
    for place in range(LOOKED_BACK):
        snapshot = await session.scalar(query.offset(place))
        if snapshot is None:
            return None
        found = await read_document(session, snapshot, known)
        if all(found.request.get(name) == document.request.get(name) for name in ("provider", "kind", "model")):
            return _Earlier(snapshot.run_id, found)
    return None


def _compared(inputs: PromptInputs, earlier: _Earlier, document: PromptDocument) -> KeptReuse:
    before, now = explanation_in(earlier.document), explanation_in(document)
    estimator, model = inputs.estimator, inputs.provider.model
    if is_text(document):
        found = reuse(before, now, estimator=estimator, model=model)
        return _kept(earlier, found.common_tokens, found.total_tokens, found.broken_by)
    pairs = zip(earlier.document.blocks, document.blocks, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _key(pair[0]) == _key(pair[1]), pairs))
    tokens = [count for block in document.blocks if isinstance(count := block["tokens"], int)]
    # Of a message that is not the same, only the text is compared: its tokens are those that are counted everywhere.
    found = reuse(_only(before, same), _only(now, same), estimator=estimator, model=model)
    broken = None if found.broken_by is None else found.broken_by.with_(message=same)
    return _kept(earlier, sum(tokens[:same]) + found.common_tokens, sum(tokens), broken)


def _kept(earlier: _Earlier, common: int, total: int, broken: PrefixBreak | None) -> KeptReuse:
    common = min(common, total)
    return KeptReuse(
        before=earlier.run_id,
        common_tokens=common,
        total_tokens=total,
        share=round(common / total, 4) if total else 1.0,
        broken_by=None if broken is None else presentable(msgspec.to_builtins(broken)),
    )


def _key(block: JsonObject) -> tuple[object, ...]:
    return block["content"], block["role"], block["name"], block.get("pictures")


def _only(explanation: Explanation, place: int) -> Explanation:
    return Explanation(messages=explanation.messages[place : place + 1])
