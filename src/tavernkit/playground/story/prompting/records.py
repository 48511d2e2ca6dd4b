"""Prompts that are kept: each text once, by its content, however many prompts it stands in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import LoreVerdict
from tavernkit.artifacts import redacted_blocks
from tavernkit.playground.base.database.models import PromptBlock, PromptSnapshot
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.requests import model_request
from tavernkit.playground.story.prompting.unused_blocks import note_removed_prompts, while_blocks_stay
from tavernkit.prompt.plan import fingerprint
from tavernkit.prompt.tokens import default_estimator
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import Json, Value

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
    """A prompt, ready to be written down; `texts` are the contents of its blocks and of its messages by hash."""

    texts: Mapping[str, str]
    blocks: dict[str, Any]
    request: dict[str, Any]
    report: dict[str, Any]
    fingerprint: str


def record_of(prompt: BuiltPrompt) -> PromptRecord:
    """Everything that was sent, and what is worth knowing about how it came about; no keys, no addresses, and of
    artifacts that people must not see only a hash."""
    texts: dict[str, str] = {}
    plan, provider = prompt.plan, prompt.inputs.provider
    estimate = default_estimator().estimate
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
                    "tokens": estimate(block.content, provider.model),
                }
                for block, visible in zip(plan.enabled_blocks, shown.enabled_blocks, strict=True)
            ]
        },
        request={
            "provider": provider.name,
            "kind": provider.kind,
            "dialect": kind_of(provider).dialect,
            "generation_type": prompt.inputs.generation_type,
            **{name: _by_hash(value, texts) for name, value in _sent(request).items()},
        },
        report={
            "trimming": None if plan.trim_report is None else _trimming(plan.trim_report),
            "warnings": [
                {"code": warning.code, "message": storable(warning.message), "stage": warning.stage}
                for warning in plan.warnings
            ],
            "lore": _lore(prompt.built.result.lore),
            "platform": prompt.platform,
        },
        texts=texts,
        fingerprint=fingerprint(_sent(prompt.request)),
    )


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


def _sent(request: ChatRequest) -> dict[str, Json]:
    return {
        "model": request.model,
        "messages": list(request.messages),
        "prompt": request.prompt,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop),
        "options": dict(request.options),
    }


def _kept(text: str, texts: dict[str, str]) -> str:
    key = hashlib.sha256(text.encode()).hexdigest()
    texts[key] = text
    return key


def _by_hash(value: Json, texts: dict[str, str]) -> Json:
    """The value with each longer text in it replaced by its hash."""
    match value:
        case str() if len(value) > SHORT:
            return {TEXT: _kept(value, texts)}
        case dict():
            return {key: _by_hash(item, texts) for key, item in value.items()}
        case list() | tuple():
            return [_by_hash(item, texts) for item in value]
        case _:
            return value


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
