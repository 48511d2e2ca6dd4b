"""The front door: inputs in, a plan and its result out."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, cleandoc, signature
from typing import Any, TypeVar, Unpack

from tavernkit.errors import PipelineError
from tavernkit.lore.verdicts import LoreVerdict
from tavernkit.prompt.built import BuildResult, Built, Result, common_fields
from tavernkit.prompt.context import BuildInputs as BuildInputs
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import write_plan
from tavernkit.prompt.inputs import check_kind
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.plain import plain_pipeline
from tavernkit.prompt.plain_findings import plain_findings
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.trace import Later, TraceCollector

F = TypeVar("F", bound=Callable[..., Any])

USUAL: dict[str, object] = {
    "message": "",
    "attachments": (),
    "books": (),
    "keep_user_message": False,
    "generation_type": "normal",
    "strict": False,
    "reports": (),
}
"""What an input is when it is not given; those that are not here are None."""

_OWN_INPUTS = {
    "story": "what the platform knows beside the other inputs: its settings, notes, scripts, groups",
    "pipeline": "the stages to run",
    "trace": "put a full trace on the plan, and follow every character to its source: see explain()",
}


def shows_inputs(build: F) -> F:
    """Let `help` and editors show every input of a build, which `**inputs` hides from them."""
    own = [one for one in signature(build).parameters.values() if one.kind is Parameter.KEYWORD_ONLY]
    taken = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=USUAL.get(name), annotation=kind.__forward_arg__)
        for name, kind in BuildInputs.__annotations__.items()
    ]
    build.__dict__["__signature__"] = signature(build).replace(parameters=[*taken, *own])
    inputs = cleandoc(BuildInputs.__doc__ or "").partition("\n\n")[2]
    own_inputs = "\n".join(f"{one.name:<19}{_OWN_INPUTS[one.name]}" for one in own)
    build.__doc__ = f"{cleandoc(build.__doc__ or '')}\n\n{inputs}\n{own_inputs}"
    return build


@shows_inputs
def build(
    *, pipeline: Pipeline | None = None, trace: bool = False, **inputs: Unpack[BuildInputs]
) -> Built[BuildResult]:
    """Build a prompt. Without a pipeline, the plain one runs."""
    check_kind("pipeline", pipeline, Pipeline)
    return build_on(lambda _: pipeline or plain_pipeline(), _result, inputs, trace=trace)


def build_on(
    choose: Callable[[Context], Pipeline], result_of: Callable[[Context], Result], inputs: BuildInputs, *, trace: bool
) -> Built[Result]:
    """Build a prompt for a platform: `choose` attaches what the platform needs to the context, and gives the pipeline
    to run; `result_of` makes the result of what the stages have left in the context."""
    check_kind("trace", trace, bool)
    collector = TraceCollector() if trace else None
    if collector is not None and inputs.get("instrumenter") is not None:
        raise ValueError("pass either trace=True or an instrumenter of your own, not both")
    if collector is not None:
        inputs["instrumenter"] = collector
    ctx = Context(**inputs)
    ctx.is_traced = trace
    pipeline = choose(ctx)
    started_at = ctx.clock()
    plan = run(pipeline, ctx)
    if collector is not None:
        fingerprint = Later(plan.fingerprint)
        plan = plan.with_(
            trace=collector.to_trace(fingerprint=fingerprint, started_at=started_at, finished_at=ctx.clock())
        )
    return Built(plan=plan, result=result_of(ctx))


def run(pipeline: Pipeline, ctx: Context) -> Plan:
    """Run a pipeline over a context that you made yourself, write down the plan, and run the hooks for it."""
    pipeline.run(ctx)
    if ctx.failure is not None and not ctx.is_settled:
        raise PipelineError(
            "a stage has caught this failure, but there is no finished prompt: the stage must put blocks into"
            " ctx.blocks and call settle(ctx)",
            stage=ctx.failure.stage,
        ) from ctx.failure
    plan = write_plan(ctx)
    ctx.hooks.run_after_build(ctx)
    return plan


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
    fields = common_fields(ctx)
    return BuildResult(lore=lore, findings=plain_findings(ctx, fields["variables"]), **fields)
