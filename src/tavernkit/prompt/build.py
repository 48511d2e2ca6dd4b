"""The front door: inputs in, a plan out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, Unpack

from tavernkit.characters.character import Character, User
from tavernkit.errors import PipelineError
from tavernkit.history import HistorySource
from tavernkit.hooks import HookRegistry
from tavernkit.injections import InjectionRegistry
from tavernkit.lore.book import Book
from tavernkit.macros.variables import VariablesStore
from tavernkit.presets import Preset
from tavernkit.prompt.context import Clock, Context, IdSource
from tavernkit.prompt.message import Attachment
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.plain import plain_pipeline
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.prompt.trace import Instrumenter, TraceCollector
from tavernkit.prompt.warning import BuildWarning

__all__ = ["BuildInputs", "build", "build_on", "run"]


class BuildInputs(TypedDict, total=False):
    """What `build` passes on to the Context; the same names, all optional."""

    character: Character | None
    user: User | None
    history: HistorySource
    message: str
    attachments: Iterable[Attachment]
    preset: Preset | None
    books: Iterable[Book]
    generation_type: str
    model: str | None
    variables: VariablesStore | None
    estimator: TokenEstimator | None
    hooks: HookRegistry | None
    injections: InjectionRegistry | None
    clock: Clock | None
    rng: random.Random | None
    ids: IdSource | None
    strict: bool
    instrumenter: Instrumenter | None
    warning_handler: Callable[[BuildWarning], None] | None
    metadata: Mapping[str, Any] | None


def build(*, pipeline: Pipeline | None = None, trace: bool = False, **inputs: Unpack[BuildInputs]) -> Plan:
    """Build a prompt. Without a pipeline, the plain one runs; `trace=True` puts a full trace on the plan."""
    return build_on(lambda _: pipeline or plain_pipeline(), inputs, trace=trace)


def build_on(choose: Callable[[Context], Pipeline], inputs: BuildInputs, *, trace: bool) -> Plan:
    """Build a prompt for a platform: `choose` attaches what the platform needs to the context, and gives the pipeline
    to run."""
    collector = TraceCollector() if trace else None
    if collector is not None and inputs.get("instrumenter") is not None:
        raise ValueError("pass either trace=True or an instrumenter of your own, not both")
    if collector is not None:
        inputs["instrumenter"] = collector
    ctx = Context(**inputs)
    pipeline = choose(ctx)
    started_at = ctx.clock()
    plan = run(pipeline, ctx)
    if collector is None:
        return plan
    return plan.with_(
        trace=collector.to_trace(fingerprint=plan.fingerprint(), started_at=started_at, finished_at=ctx.clock())
    )


def run(pipeline: Pipeline, ctx: Context) -> Plan:
    """Run a pipeline over a context that you made yourself."""
    pipeline.run(ctx)
    if ctx.plan is None:
        raise PipelineError("no stage made a plan: one of them must set ctx.plan", stage=pipeline.names[-1])
    return ctx.plan
