"""Prompts that are kept: each text once, by its content, however many prompts it stands in.

Prompts name their blocks inside JSON, so what is used is found by reading all prompts. That is done only where prompts
have been removed since it was done last.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from sqlalchemy import Row, Text, delete, func, select, type_coerce
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit import Attachment, LoreVerdict, Plan
from tavernkit.artifacts import redacted_blocks
from tavernkit.playground.base.database.models import (
    PromptBlock,
    PromptDocument,
    PromptInputRecord,
    PromptSnapshot,
    SiteSetting,
)
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import dialect_of
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.prompting.building import BuiltPrompt, model_request
from tavernkit.playground.story.prompting.inputs import MAX_SENT_BYTES, MAX_SENT_PICTURES
from tavernkit.playground.story.prompting.inputs_kept import InputsRecord, hashes_in, keep_inputs, kept_inputs
from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import fingerprint
from tavernkit.prompt.tokens import attachment_tokens
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import Json, Value

SWEPT = "prompt_blocks_swept"
"""The setting that is there while no block can be unused; its value is the sweep that found out."""

LOCK = 0x74617665726E01
"""Of PostgreSQL: shared by who writes a prompt, exclusive for who removes blocks. SQLite has one writer anyway."""

PROMPTS_AT_ONCE = 100
BLOCKS_AT_ONCE = 500
LATE = timedelta(minutes=5)
"""How much older than its commit the time of a prompt may be."""

HASH = re.compile(r'"([0-9a-f]{64})"')
BEGINNING_BYTES = 8
"""So much of a hash is remembered; if two begin alike, one of them stays."""


async def while_blocks_stay(session: AsyncSession) -> None:
    """Let nobody remove blocks until this transaction ends: what it finds is there when its prompt is committed."""
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(select(func.pg_advisory_xact_lock_shared(LOCK)))


async def note_removed_prompts(session: AsyncSession) -> None:
    """Have the blocks looked through, once this transaction is committed."""
    await session.execute(
        delete(SiteSetting).where(SiteSetting.key == SWEPT), execution_options={"synchronize_session": False}
    )


async def remove_unused_blocks(runtime: Runtime, until: asyncio.Event) -> int:
    """Remove the blocks that no prompt refers to; how many. Broken off anywhere, it is done again the next time."""
    sweep: dict[str, object] = {"sweep": str(runtime.ids()), "is_over": False}
    try:
        async with runtime.database.write() as session:
            last = await session.get(SiteSetting, SWEPT)
            if last is not None and last.value["is_over"]:
                return 0
            await session.merge(SiteSetting(key=SWEPT, value=sweep, updated_at=runtime.clock()))
    except IntegrityError:
        # Another worker has begun at the same moment.
        return 0
    used = _UsedBlocks(since=runtime.clock() - LATE)
    await _read_all(runtime, used, until)
    removed = sum([await _remove_others(runtime, key, used, until) for key in _KEYS])
    if not until.is_set():
        await _note_end(runtime, sweep)
    return removed


_KEYS = (PromptBlock.sha256, PromptDocument.sha256)


async def _remove_others(
    runtime: Runtime, key: InstrumentedAttribute[str], used: _UsedBlocks, until: asyncio.Event
) -> int:
    """Remove the blocks, or the documents, that are not used."""
    removed, after = 0, ""
    while not until.is_set():
        async with runtime.database.read() as session:
            hashes = (await session.scalars(select(key).where(key > after).order_by(key).limit(BLOCKS_AT_ONCE))).all()
        if not hashes:
            break
        after = hashes[-1]
        if unused := used.others(hashes):
            removed += await _remove(runtime, key, unused, used)
    return removed


class _UsedBlocks:
    """The blocks that prompts refer to, as far as the prompts have been read.

    Of prompts that are not older than `since`, it is remembered which have been: others may be written meanwhile.
    """

    def __init__(self, *, since: datetime) -> None:
        self.since = since
        self._beginnings: set[bytes] = set()
        self._read: set[tuple[UUID, datetime]] = set()

    async def read(self, session: AsyncSession, rows: Sequence[_PromptRow]) -> None:
        """Remember what prompts refer to, and what it refers to in turn."""
        inputs = [content for *_, content in rows if content is not None]
        self._beginnings |= set(map(_beginning, await hashes_in(session, inputs)))
        await asyncio.to_thread(self._read_texts, rows)

    def _read_texts(self, rows: Sequence[_PromptRow]) -> None:
        self._read |= {(run_id, moment) for run_id, moment, *_ in rows if moment >= self.since}
        self._beginnings |= {
            _beginning(sha256) for _, _, *texts, _ in rows for text in texts for sha256 in HASH.findall(text)
        }

    def has_read(self, run_id: UUID, moment: datetime) -> bool:
        return (run_id, moment) in self._read

    def others(self, hashes: Iterable[str]) -> list[str]:
        return [sha256 for sha256 in hashes if _beginning(sha256) not in self._beginnings]


async def _read_all(runtime: Runtime, used: _UsedBlocks, until: asyncio.Event) -> None:
    after: UUID | None = None
    while not until.is_set():
        query = _PROMPTS.order_by(PromptSnapshot.run_id).limit(PROMPTS_AT_ONCE)
        async with runtime.database.read() as session:
            page = query if after is None else query.where(PromptSnapshot.run_id > after)
            rows = (await session.execute(page)).all()
            await used.read(session, rows)
        if not rows:
            break
        after = rows[-1][0]


async def _remove(runtime: Runtime, key: InstrumentedAttribute[str], unused: Sequence[str], used: _UsedBlocks) -> int:
    """Remove blocks, but for those that prompts refer to which were written since the prompts were read."""
    recent = select(PromptSnapshot.run_id, PromptSnapshot.created_at).where(PromptSnapshot.created_at >= used.since)
    async with runtime.database.write() as session:
        if runtime.database.is_postgresql:
            await session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        new = [run_id for run_id, moment in await session.execute(recent) if not used.has_read(run_id, moment)]
        if new:
            rows = (await session.execute(_PROMPTS.where(PromptSnapshot.run_id.in_(new)))).all()
            await used.read(session, rows)
        gone = used.others(unused)
        await session.execute(delete(key.class_).where(key.in_(gone)), execution_options={"synchronize_session": False})
        return len(gone)


async def _note_end(runtime: Runtime, sweep: dict[str, object]) -> None:
    """Nothing is left to do, unless prompts were removed or another sweep was begun meanwhile."""
    async with runtime.database.write() as session:
        setting = await session.get(SiteSetting, SWEPT, with_for_update=True)
        if setting is not None and setting.value == sweep:
            setting.value, setting.updated_at = {**sweep, "is_over": True}, runtime.clock()


def _beginning(sha256: str) -> bytes:
    return bytes.fromhex(sha256[: 2 * BEGINNING_BYTES])


_PROMPTS = select(
    PromptSnapshot.run_id,
    PromptSnapshot.created_at,
    type_coerce(PromptSnapshot.blocks, Text),
    type_coerce(PromptSnapshot.request, Text),
    PromptInputRecord.content,
).outerjoin(PromptInputRecord, PromptInputRecord.run_id == PromptSnapshot.run_id)
_PromptRow: TypeAlias = Row[UUID, datetime, str, str, bytes | None]


OMITTED = "pictures_omitted"
"""The warning about pictures that a model did not get; and where a run that has ended well says how many."""

NOT_SHARED = "not_shared"
"""The warning about characters, lorebooks and presets that are not shared with the space."""

LORE = "lore"
"""Where a run that has ended well says how many entries of lorebooks were in its prompt."""

TEXT = "$text"
"""Stands, with its hash, for a text in a request; the text itself is kept like that of a block."""

SHORT = 64
"""A text that is not longer than its hash is kept where it stands."""

VERDICT_FIELDS = ("book", "entry", "name", "sentence")
ACTIVATED = "activated"
"""The reason of every entry that is in the prompt, also where it stands inside another."""

MOST_VERDICTS = 200
"""Of how many entries of lorebooks a prompt tells why they are in it, or why not."""


class PromptRecord(Value, frozen=True, kw_only=True):
    """A prompt, ready to be written down; `texts` are the contents of its blocks and of its messages by hash. `inputs`
    is what it was built from, where it is to be built again."""

    texts: Mapping[str, str]
    blocks: dict[str, Any]
    request: dict[str, Any]
    report: dict[str, Any]
    fingerprint: str
    inputs: InputsRecord | None = None

    def with_inputs(self, prompt: BuiltPrompt) -> PromptRecord:
        """The same, with what the prompt was built from."""
        inputs = kept_inputs(prompt.inputs)
        return self.with_(inputs=inputs, texts={**inputs.texts, **self.texts})


def record_of(prompt: BuiltPrompt) -> PromptRecord:
    """Everything that was sent, and what is worth knowing about how it came about; no keys, no addresses, and of
    artifacts that people must not see only a hash."""
    texts: dict[str, str] = {}
    plan, provider = prompt.plan, prompt.inputs.provider
    estimate = prompt.inputs.estimator.estimate
    shown = plan.with_(blocks=redacted_blocks(plan.blocks))
    request = prompt.request
    if shown.blocks != plan.blocks:
        request = model_request(prompt.inputs, shown, has_samplers=prompt.chosen.has_samplers)
    return PromptRecord(
        blocks={
            "blocks": [
                {
                    "sha256": _kept(storable(visible.content), texts),
                    "role": block.role,
                    "name": None if block.name is None else storable(block.name),
                    "slot": block.slot,
                    "source": presentable(dict(block.source)),
                    "lore": _entries_in(block),
                    "tokens": estimate(block.content, provider.model) + sum(map(attachment_tokens, block.attachments)),
                    "pictures": [_picture(one) for one in block.attachments],
                }
                for block, visible in zip(plan.enabled_blocks, shown.enabled_blocks, strict=True)
            ]
        },
        request={
            "provider": provider.name,
            "kind": provider.kind,
            "dialect": dialect_of(provider),
            "generation_type": prompt.inputs.generation_type,
            **{name: _by_hash(value, texts, _placeholders(plan)) for name, value in _sent(request).items()},
        },
        report={
            "trimming": None if plan.trim_report is None else _trimming(plan.trim_report),
            "warnings": [
                {"code": warning.code, "message": storable(warning.message), "stage": warning.stage}
                for warning in plan.warnings
            ]
            + [{"code": OMITTED, "message": str(sentence), "stage": None} for sentence in omission_sentences(prompt)]
            + [{"code": NOT_SHARED, "message": str(sentence), "stage": None} for sentence in prompt.inputs.missing],
            "lore": _lore(prompt.built.result.lore),
            "platform": prompt.platform,
            "stages": [{"name": stage.name, "duration_ms": round(stage.duration_ms, 3)} for stage in prompt.stages],
        },
        texts=texts,
        fingerprint=request_fingerprint(prompt),
    )


def request_fingerprint(prompt: BuiltPrompt) -> str:
    """The hash of everything that is sent."""
    return fingerprint(_sent(prompt.request))


def lore_in(prompt: BuiltPrompt) -> int:
    """How many entries of lorebooks are in the prompt."""
    return sum(verdict.is_activated for verdict in prompt.built.result.lore)


async def keep_prompt(session: AsyncSession, run_id: UUID, record: PromptRecord, now: datetime) -> None:
    """Write the prompt of a run down, behind everything else that this transaction locks.

    Whoever waits here for a text that another transaction is just writing then holds nothing that the other one needs.
    """
    await while_blocks_stay(session)
    known = set(await session.scalars(select(PromptBlock.sha256).where(PromptBlock.sha256.in_(record.texts))))
    missing = [{"sha256": key, "content": text} for key, text in sorted(record.texts.items()) if key not in known]
    if missing:
        insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
        await session.execute(insert(PromptBlock).on_conflict_do_nothing(), missing)
    snapshot = PromptSnapshot(
        run_id=run_id,
        blocks=record.blocks,
        request=record.request,
        report=record.report,
        fingerprint=record.fingerprint,
        created_at=now,
    )
    before = await session.get(PromptSnapshot, run_id)
    if before is None:
        session.add(snapshot)
    elif (before.blocks, before.request) != (record.blocks, record.request):
        await session.merge(snapshot)
        await note_removed_prompts(session)
    await session.flush()
    if record.inputs is not None:
        await keep_inputs(session, run_id, record.inputs)


def _sent(request: ChatRequest) -> dict[str, Json]:
    return {name: value for name, value in msgspec.structs.asdict(request).items() if name != "attempts"}


def _kept(text: str, texts: dict[str, str]) -> str:
    key = hashlib.sha256(text.encode()).hexdigest()
    texts[key] = text
    return key


def _by_hash(value: Json, texts: dict[str, str], pictures: Mapping[str, str]) -> Json:
    """The value with each longer text in it replaced by its hash, and each picture by what it is."""
    match value:
        case str() if len(value) > SHORT:
            head, comma, data = value.rpartition(",")
            if data in pictures:
                return f"{head}{comma}{pictures[data]}"
            return {TEXT: _kept(value, texts)}
        case dict():
            return {key: _by_hash(item, texts, pictures) for key, item in value.items()}
        case list() | tuple():
            return [_by_hash(item, texts, pictures) for item in value]
        case _:
            return value


def _placeholders(plan: Plan) -> dict[str, str]:
    """What stands in a kept request for each picture, by what stands in the one that was sent."""
    return {
        b64encode(one.data).decode(): f"<picture {hashlib.sha256(one.data).hexdigest()}, {len(one.data)} bytes>"
        for block in plan.enabled_blocks
        for one in block.attachments
        if one.data
    }


def _picture(attachment: Attachment) -> dict[str, Json]:
    data = attachment.data or b""
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "media_type": attachment.mime_type,
        "bytes": len(data),
        "width": attachment.width,
        "height": attachment.height,
        "title": attachment.name or "",
        "tokens": attachment_tokens(attachment),
    }


def count_omitted(prompt: BuiltPrompt) -> int:
    """How many pictures of the chat the model does not get."""
    return sum(prompt.inputs.pictures.omitted.values()) + _unused(prompt)


def _unused(prompt: BuiltPrompt) -> int:
    """How many pictures the model could see, but are not in the prompt."""
    written = sum(len(block.attachments) for block in prompt.plan.enabled_blocks)
    return max(0, prompt.inputs.pictures.sent - written)


def omission_sentences(prompt: BuiltPrompt) -> Iterator[str]:
    """Why pictures of the chat are not in the prompt."""
    omitted, provider = prompt.inputs.pictures.omitted, prompt.inputs.provider
    model = provider.model or provider.name
    if count := omitted.get("blind"):
        yield ngettext(
            "{count} picture is not sent: {model} does not see pictures.",
            "{count} pictures are not sent: {model} does not see pictures.",
            count,
            model=model,
        )
    if count := omitted.get("role"):
        yield ngettext(
            "{count} picture is not sent: {model} takes pictures only from people.",
            "{count} pictures are not sent: {model} takes pictures only from people.",
            count,
            model=model,
        )
    if count := omitted.get("limit"):
        yield ngettext(
            "{count} picture is not sent: a prompt has at most {most} pictures and {megabytes} MB of them.",
            "{count} pictures are not sent: a prompt has at most {most} pictures and {megabytes} MB of them.",
            count,
            most=MAX_SENT_PICTURES,
            megabytes=MAX_SENT_BYTES // 2**20,
        )
    if count := _unused(prompt):
        yield ngettext(
            "{count} picture is not sent: the preset leaves it out, or its message does not fit.",
            "{count} pictures are not sent: the preset leaves them out, or their messages do not fit.",
            count,
        )


def _entries_in(block: Block) -> list[Json]:
    """The entries of lorebooks in a block, each once."""
    entries = {
        (part.book, part.source): {
            "book": part.book,
            "entry": part.source,
            "name": part.name,
            "cause": part.cause,
            "key": part.key,
        }
        for part in block.lore_parts
    }
    return [presentable(entry) for entry in entries.values()]


def _lore(verdicts: Iterable[LoreVerdict]) -> list[dict[str, Json]]:
    """What became of the entries that woke up or almost did, those that are in the prompt first."""
    ordered = sorted(verdicts, key=lambda verdict: not verdict.is_activated)
    return [
        {
            **{name: storable(getattr(verdict, name)) for name in VERDICT_FIELDS},
            "reason": ACTIVATED if verdict.is_activated else verdict.reason,
        }
        for verdict in ordered[:MOST_VERDICTS]
    ]


def _trimming(report: TrimReport) -> dict[str, Json]:
    return {
        "strategy": report.strategy,
        "budget_tokens": report.budget_tokens,
        "initial_tokens": report.initial_tokens,
        "final_tokens": report.final_tokens,
        "evictions": [
            {
                "slot": record.slot,
                "tokens": record.token_count,
                "reason": record.reason,
                "group": record.budget_group,
                "source": presentable(dict(record.source or {})),
            }
            for record in report.evictions
        ],
    }
