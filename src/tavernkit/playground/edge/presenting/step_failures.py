"""Steps of pipelines that have failed, where people look for what they should have made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import LlmStep, Profile
from tavernkit.playground.base.database.models import Message, PipelineProfile, PipelineProfileVersion, PipelineRun
from tavernkit.playground.story.artifacts.path import is_of_active_swipe
from tavernkit.playground.story.pipelines.checking import readable_part
from tavernkit.playground.story.pipelines.reports import REASONS
from tavernkit.values import Json, JsonObject, Value

RUNS_READ = 10
"""How far back a step is looked for that does not run in every turn."""


class FailureView(Value, frozen=True, kw_only=True):
    """A step that has failed, in which turn and why; `address` is the page of its run, if it has one. `may_run`: it can
    be run again by itself."""

    step: str
    sentence: str
    turn: int
    address: str
    may_run: bool = False


async def failures_by_message(
    session: AsyncSession, conversation_id: UUID, message_ids: Collection[UUID]
) -> Mapping[str, tuple[FailureView, ...]]:
    """What has failed around the tellings of these messages that are seen, and was not done since."""
    rows = await session.scalars(
        select(PipelineRun)
        .join(Message, Message.id == PipelineRun.message_id)
        .where(
            PipelineRun.conversation_id == conversation_id,
            PipelineRun.report.is_not(None),
            Message.id.in_(message_ids),
            is_of_active_swipe(PipelineRun.swipe_id),
        )
        .order_by(PipelineRun.created_at.desc(), PipelineRun.id)
    )
    by_message: dict[str, list[PipelineRun]] = {}
    for run in rows:
        by_message.setdefault(str(run.message_id), []).append(run)
    return {
        message_id: tuple(end for end in _ends(runs, with_dependents=False).values() if end is not None)
        for message_id, runs in by_message.items()
    }


async def failures_by_tag(session: AsyncSession, conversation_id: UUID) -> Mapping[str, FailureView]:
    """What has failed at the end of the path, by the artifact that it should have made; only of the profile that was
    followed last."""
    runs = await _last_runs(session, conversation_id, RUNS_READ)
    profile = await _profile_of(session, runs[0]) if runs else None
    if profile is None:
        return {}
    ends = _ends(runs, with_dependents=True)
    return {
        claim.tag: end.with_(may_run="manual" in pipeline.triggers)
        for pipeline in profile.pipelines
        for claim in profile.claims()
        if claim.pipeline == pipeline.id and pipeline.enabled
        if (end := ends.get((claim.pipeline, claim.step))) is not None
    }


async def schemas_by_tag(session: AsyncSession, conversation_id: UUID) -> Mapping[str, JsonObject]:
    """The schema of each artifact that a model was asked for by the profile that was followed last."""
    runs = await _last_runs(session, conversation_id, 1)
    profile = await _profile_of(session, runs[0]) if runs else None
    if profile is None:
        return {}
    found = (
        (made.tag, _schema_at(step.schema, made.pointer))
        for pipeline in profile.pipelines
        for step in pipeline.steps
        if isinstance(step, LlmStep) and step.schema is not None
        for made in step.artifacts
    )
    return {tag: schema for tag, schema in found if tag is not None and schema is not None}


def _schema_at(schema: JsonObject, pointer: str) -> JsonObject | None:
    """The part of a schema for what a JSON pointer finds; its definitions stay within reach."""
    part: Json = schema
    for key in pointer.split("/")[1:]:
        properties = part.get("properties") if isinstance(part, dict) else None
        part = properties.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(properties, dict) else None
    return {**part, "$defs": schema.get("$defs", {})} if isinstance(part, dict) else None


async def _last_runs(session: AsyncSession, conversation_id: UUID, limit: int) -> Sequence[PipelineRun]:
    """The last runs on the path, also of replies that never came, the newest first."""
    query = (
        select(PipelineRun)
        .outerjoin(Message, Message.id == PipelineRun.message_id)
        .where(
            PipelineRun.conversation_id == conversation_id,
            PipelineRun.report.is_not(None),
            Message.id.is_(None) | is_of_active_swipe(PipelineRun.swipe_id),
        )
        .order_by(PipelineRun.created_at.desc(), PipelineRun.id)
        .limit(limit)
    )
    return (await session.scalars(query)).all()


async def _profile_of(session: AsyncSession, run: PipelineRun) -> Profile | None:
    row = (
        await session.execute(
            select(PipelineProfile, PipelineProfileVersion.content)
            .join(PipelineProfileVersion, PipelineProfileVersion.profile_id == PipelineProfile.id)
            .where(PipelineProfile.id == run.profile_id, PipelineProfileVersion.version == run.profile_version)
        )
    ).one_or_none()
    return None if row is None else readable_part(row[0], row[1])


def _ends(runs: Iterable[PipelineRun], *, with_dependents: bool) -> dict[tuple[str, str], FailureView | None]:
    """How each step has ended, None if well, the newest run that knows it first; one that could not run because another
    has failed is left out, unless it is asked for."""
    ends: dict[tuple[str, str], FailureView | None] = {}
    for run in runs:
        for step in (run.report or {}).get("steps", ()):
            key = (step["pipeline"], step["step"])
            is_dependent = with_dependents and step["reason"] == "dependency_failed"
            if key not in ends and (step["status"] in ("done", "error") or is_dependent):
                ends[key] = None if step["status"] == "done" else _failure(run, step)
    return ends


def _failure(run: PipelineRun, step: Mapping[str, Any]) -> FailureView:
    return FailureView(
        step=f"{step['pipeline']}/{step['step']}",
        sentence=step["message"] or REASONS.get(step["reason"] or "", ""),
        turn=run.turn,
        address="" if run.run_id is None else f"/runs/{run.run_id}?tab=reply#pipelines_heading",
    )
