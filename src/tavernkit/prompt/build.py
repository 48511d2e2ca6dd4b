"""The front door: inputs in, a plan and its result out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from tavernkit.errors import PipelineError
from tavernkit.lore.verdicts import LoreVerdict
from tavernkit.prompt.built import BuildResult, Built, Result, common_fields
from tavernkit.prompt.context import BuildInputs as BuildInputs
from tavernkit.prompt.context import Context
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.plain import plain_pipeline
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.trace import TraceCollector


def build(
    *, pipeline: Pipeline | None = None, trace: bool = False, **inputs: Unpack[BuildInputs]
) -> Built[BuildResult]:
    """Build a prompt. Without a pipeline, the plain one runs; `trace=True` puts a full trace on the plan."""
    return build_on(lambda _: pipeline or plain_pipeline(), _result, inputs, trace=trace)


def build_on(
    choose: Callable[[Context], Pipeline], result_of: Callable[[Context], Result], inputs: BuildInputs, *, trace: bool
) -> Built[Result]:
    """Build a prompt for a platform: `choose` attaches what the platform needs to the context, and gives the pipeline
    to run; `result_of` makes the result of what the stages have left in the context."""
    collector = TraceCollector() if trace else None
    if collector is not None and inputs.get("instrumenter") is not None:
        raise ValueError("pass either trace=True or an instrumenter of your own, not both")
    if collector is not None:
        inputs["instrumenter"] = collector
    ctx = Context(**inputs)
    pipeline = choose(ctx)
    started_at = ctx.clock()
    plan = run(pipeline, ctx)
    if collector is not None:
        plan = plan.with_(
            trace=collector.to_trace(fingerprint=plan.fingerprint(), started_at=started_at, finished_at=ctx.clock())
        )
    return Built(plan=plan, result=result_of(ctx))


def run(pipeline: Pipeline, ctx: Context) -> Plan:
    """Run a pipeline over a context that you made yourself, and the hooks for what it has made."""
    pipeline.run(ctx)
    if ctx.plan is None:
        raise PipelineError("no stage made a plan: one of them must set ctx.plan", stage=pipeline.names[-1])
    ctx.hooks.run_after_build(ctx)
    return ctx.plan


def _result(ctx: Context) -> BuildResult:
    lore = [
        LoreVerdict(
            book=part.book,
            entry=part.source,
            name=part.name,
            reason="activated",
            sentence="always on" if entry.constant else f"“{part.key}” was found" if part.key else "a key was found",
            content=entry.content,
            is_activated=True,
            cause=part.cause,
            key=part.key,
        )
        for entry, part in (ctx.lore_result.entry_parts() if ctx.lore_result else ())
    ]
    return BuildResult(lore=lore, **common_fields(ctx))
