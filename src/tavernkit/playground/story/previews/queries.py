"""Reading prompts that were kept: one, and what has changed from one to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import PromptBlock, PromptSnapshot, Run
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.prompting.records import TEXT, PromptRecord
from tavernkit.values import Json, JsonObject, Value

Change: TypeAlias = Literal["same", "removed", "added"]


class KeptBlock(Value, frozen=True, kw_only=True):
    """One block of a prompt that was sent."""

    sha256: str
    role: str
    name: str | None
    slot: str | None
    source: JsonObject
    tokens: int
    content: str


class KeptPrompt(Value, frozen=True, kw_only=True):
    """A prompt as it was sent: its blocks, the request with all its texts, and what was left out or warned about.

    One that no run has sent has no run.
    """

    run_id: UUID | None
    blocks: tuple[KeptBlock, ...]
    request: JsonObject
    report: JsonObject
    fingerprint: str


class PromptChange(Value, frozen=True, kw_only=True):
    """One block of two prompts that are compared, in the order of both."""

    change: Change
    block: KeptBlock


async def read_prompt(runtime: Runtime, viewer: Viewer, run_id: UUID) -> KeptPrompt:
    """The prompt of a run, for members of its space: others who may read the story do not see the cards behind it."""
    async with runtime.database.read() as session:
        return await _read(session, viewer, run_id)


async def compare_prompts(runtime: Runtime, viewer: Viewer, before: UUID, after: UUID) -> tuple[PromptChange, ...]:
    """What the prompt of one run has that another's has not, block by block."""
    async with runtime.database.read() as session:
        old = await _read(session, viewer, before)
        new = await _read(session, viewer, after)
        return tuple(_changes(old.blocks, new.blocks))


async def _read(session: AsyncSession, viewer: Viewer, run_id: UUID) -> KeptPrompt:
    row = (
        await session.execute(
            select(PromptSnapshot, Run.conversation_id)
            .join(Run, Run.id == PromptSnapshot.run_id)
            .where(PromptSnapshot.run_id == run_id)
        )
    ).one_or_none()
    if row is None:
        raise not_found("prompt")
    snapshot, conversation_id = row
    try:
        _, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    except Refused:
        raise not_found("prompt") from None
    if access.member is None and access.level < Access.ADMINISTER:
        raise not_found("prompt")
    blocks: list[JsonObject] = snapshot.blocks["blocks"]
    hashes = {block["sha256"] for block in blocks} | set(_hashes(snapshot.request))
    kept = await session.scalars(select(PromptBlock).where(PromptBlock.sha256.in_(hashes)))
    record = PromptRecord(
        texts={row.sha256: row.content for row in kept},
        blocks=snapshot.blocks,
        request=snapshot.request,
        report=snapshot.report,
        fingerprint=snapshot.fingerprint,
    )
    return prompt_of(record, run_id)


def prompt_of(record: PromptRecord, run_id: UUID | None = None) -> KeptPrompt:
    """The prompt that a record is of, with its texts where they stood."""
    texts = record.texts
    return KeptPrompt(
        run_id=run_id,
        blocks=tuple(KeptBlock(**block, content=texts[block["sha256"]]) for block in record.blocks["blocks"]),
        request={name: _with_texts(value, texts) for name, value in record.request.items()},
        report=record.report,
        fingerprint=record.fingerprint,
    )


def _hashes(value: Json) -> Iterator[str]:
    key = _hash(value)
    if key is not None:
        yield key
    elif isinstance(value, dict):
        for item in value.values():
            yield from _hashes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _hashes(item)


def _with_texts(value: Json, texts: Mapping[str, str]) -> Json:
    key = _hash(value)
    if key is not None:
        return texts.get(key, value)
    if isinstance(value, dict):
        return {name: _with_texts(item, texts) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    return value


def _hash(value: Json) -> str | None:
    """The hash of the text that this stands for, if it stands for one."""
    key = value.get(TEXT) if isinstance(value, dict) and len(value) == 1 else None
    return key if isinstance(key, str) else None


def _changes(before: Sequence[KeptBlock], after: Sequence[KeptBlock]) -> Iterator[PromptChange]:
    matcher = SequenceMatcher(a=[_key(block) for block in before], b=[_key(block) for block in after], autojunk=False)
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from (PromptChange(change="same", block=block) for block in after[new:new_end])
        else:
            yield from (PromptChange(change="removed", block=block) for block in before[old:old_end])
            yield from (PromptChange(change="added", block=block) for block in after[new:new_end])


def _key(block: KeptBlock) -> tuple[str, str, str | None]:
    return block.sha256, block.role, block.name
