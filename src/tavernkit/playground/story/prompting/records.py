"""Prompts that are kept: as documents in pieces, each once however many prompts it stands in."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Attachment, LoreVerdict, Plan
from tavernkit.artifacts import redacted_blocks
from tavernkit.playground.base.database.models import PromptBlock, PromptPiece, PromptSnapshot
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import dialect_of
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.prompting.building import BuiltPrompt, model_request
from tavernkit.playground.story.prompting.explained import kept_form
from tavernkit.playground.story.prompting.inputs import MAX_SENT_BYTES, MAX_SENT_PICTURES
from tavernkit.playground.story.prompting.pieces import Packed, Piece, linked, packed, unpacked
from tavernkit.playground.story.prompting.unused import note_removed_prompts, while_blocks_stay
from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import fingerprint
from tavernkit.prompt.sources import Explanation
from tavernkit.prompt.tokens import attachment_tokens
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import Json, JsonObject, Value

OMITTED = "pictures_omitted"
"""The warning about pictures that a model did not get; and where a run that has ended well says how many."""

NOT_SHARED = "not_shared"
"""The warning about characters, lorebooks and presets that are not shared with the space."""

LORE = "lore"
"""Where a run that has ended well says how many entries of lorebooks were in its prompt."""

TEXT = "$text"
"""Stands, with its hash, for a text in a request that an earlier version has kept."""

ACTIVATION_FIELDS = ("book", "entry", "name")
VERDICT_FIELDS = (*ACTIVATION_FIELDS, "sentence")
ACTIVATED = "activated"
"""The reason of every entry that is in the prompt, also where it stands inside another."""

MOST_VERDICTS = 200
"""Of how many entries of lorebooks a prompt tells why they are in it, or why not."""


class PromptDocument(Value, frozen=True, kw_only=True):
    """A prompt as it is kept: its blocks with their texts, the request, what is worth knowing about how it came about,
    and where its characters come from, if that was followed."""

    blocks: list[JsonObject]
    request: JsonObject
    report: JsonObject
    explanation: JsonObject | None = None


class PromptRecord(Value, frozen=True, kw_only=True):
    """A prompt, ready to be written down; `report` is what is asked of many prompts at once."""

    packed: Packed
    report: dict[str, Any]
    fingerprint: str


def document_of(prompt: BuiltPrompt) -> PromptDocument:
    """Everything that was sent, and what is worth knowing about how it came about; no keys, no addresses, and of
    artifacts that people must not see only a hash."""
    plan, provider = prompt.plan, prompt.inputs.provider
    estimate = prompt.inputs.estimator.estimate
    shown = plan.with_(blocks=redacted_blocks(plan.blocks))
    request = prompt.request
    if shown.blocks != plan.blocks:
        request = model_request(prompt.inputs, shown, has_samplers=prompt.chosen.has_samplers)
    return PromptDocument(
        blocks=[
            {
                "content": storable(visible.content),
                "role": block.role,
                "name": None if block.name is None else storable(block.name),
                "slot": block.slot,
                "source": presentable(dict(block.source)),
                "lore": _entries_in(block),
                "tokens": estimate(block.content, provider.model) + sum(map(attachment_tokens, block.attachments)),
                "pictures": [_picture(one) for one in block.attachments],
            }
            for block, visible in zip(plan.enabled_blocks, shown.enabled_blocks, strict=True)
        ],
        request={
            "provider": provider.name,
            "kind": provider.kind,
            "dialect": dialect_of(provider),
            "generation_type": prompt.inputs.generation_type,
            **{name: _without_pictures(value, _placeholders(plan)) for name, value in _sent(request).items()},
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
        explanation=kept_form(explanation_of(prompt)) if prompt.is_traced else None,
    )


def explanation_of(prompt: BuiltPrompt) -> Explanation:
    """Where the characters of a prompt come from; of artifacts that people must not see, only a hash."""
    plan = prompt.plan
    return prompt.built.with_(plan=plan.with_(blocks=redacted_blocks(plan.blocks))).explain()


def record_of(prompt: BuiltPrompt) -> PromptRecord:
    """The prompt, as it is written down."""
    verdicts = (verdict for verdict in prompt.built.result.lore if verdict.is_activated)
    return PromptRecord(
        packed=packed(msgspec.to_builtins(document_of(prompt))),
        report={"platform": prompt.platform, "lore": [_verdict(one, ACTIVATION_FIELDS) for one in verdicts]},
        fingerprint=fingerprint_of(prompt),
    )


def fingerprint_of(prompt: BuiltPrompt) -> str:
    """The same for the same request."""
    return fingerprint(_sent(prompt.request))


def lore_in(prompt: BuiltPrompt) -> int:
    """How many entries of lorebooks are in the prompt."""
    return sum(verdict.is_activated for verdict in prompt.built.result.lore)


async def keep_prompt(session: AsyncSession, run_id: UUID, record: PromptRecord, now: datetime) -> None:
    """Write the prompt of a run down, behind everything else that this transaction locks.

    Whoever waits here for a text that another transaction is just writing then holds nothing that the other one needs.
    """
    await while_blocks_stay(session)
    pieces = record.packed.pieces
    known = set(await session.scalars(select(PromptPiece.key).where(PromptPiece.key.in_(pieces))))
    missing = [
        {"key": key, "links": piece.links, "data": piece.data}
        for key, piece in sorted(pieces.items())
        if key not in known
    ]
    if missing:
        insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
        await session.execute(insert(PromptPiece).on_conflict_do_nothing(), missing)
    snapshot = PromptSnapshot(
        run_id=run_id,
        root=record.packed.root,
        report=record.report,
        fingerprint=record.fingerprint,
        created_at=now,
    )
    before = await session.get(PromptSnapshot, run_id)
    if before is None:
        session.add(snapshot)
    elif before.root != snapshot.root:
        await session.merge(snapshot)
        await note_removed_prompts(session)
    await session.flush()


async def read_document(session: AsyncSession, snapshot: PromptSnapshot) -> PromptDocument:
    """The prompt that was kept."""
    if snapshot.root is None:
        return await _of_earlier_version(session, snapshot)
    pieces: dict[bytes, Piece] = {}
    missing = {snapshot.root}
    while missing:
        rows = await session.execute(
            select(PromptPiece.key, PromptPiece.links, PromptPiece.data).where(PromptPiece.key.in_(missing))
        )
        found = {key: Piece(links, data) for key, links, data in rows}
        pieces |= found
        missing = {key for piece in found.values() for key in linked(piece.links)} - pieces.keys()
    return msgspec.convert(unpacked(snapshot.root, pieces), PromptDocument)


async def _of_earlier_version(session: AsyncSession, snapshot: PromptSnapshot) -> PromptDocument:
    """A prompt that names its texts by their hashes."""
    blocks: list[JsonObject] = snapshot.blocks["blocks"]
    hashes = {block["sha256"] for block in blocks} | set(_hashes(snapshot.request))
    rows = await session.execute(select(PromptBlock.sha256, PromptBlock.content).where(PromptBlock.sha256.in_(hashes)))
    texts = {row.sha256: row.content for row in rows}
    return PromptDocument(
        blocks=[{**block, "content": texts[str(block["sha256"])]} for block in blocks],
        request={name: _with_texts(value, texts) for name, value in snapshot.request.items()},
        report=snapshot.report,
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


def _sent(request: ChatRequest) -> dict[str, Json]:
    return {name: value for name, value in msgspec.structs.asdict(request).items() if name != "attempts"}


def _without_pictures(value: Json, pictures: Mapping[str, str]) -> Json:
    """The value with what each picture is in its place."""
    match value:
        case str():
            head, comma, data = value.rpartition(",")
            return f"{head}{comma}{pictures[data]}" if data in pictures else value
        case dict():
            return {key: _without_pictures(item, pictures) for key, item in value.items()}
        case list() | tuple():
            return [_without_pictures(item, pictures) for item in value]
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
    return [_verdict(verdict, VERDICT_FIELDS) for verdict in ordered[:MOST_VERDICTS]]


def _verdict(verdict: LoreVerdict, fields: Iterable[str]) -> dict[str, Json]:
    return {
        **{name: storable(getattr(verdict, name)) for name in fields},
        "reason": ACTIVATED if verdict.is_activated else verdict.reason,
    }


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
