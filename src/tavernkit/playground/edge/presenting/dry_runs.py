"""A dry run as its page shows it: the form, how far it has come, each step, and the difference in the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from textwrap import shorten
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.home_queries import recent_stories
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.dry_runs.dry_run import DRY_RUN_KIND
from tavernkit.playground.story.pipelines.queries import profile_for
from tavernkit.playground.story.pipelines.reports import HOOKS, REASONS, STATES
from tavernkit.playground.story.prompting.fitting import part_name
from tavernkit.playground.story.prompting.replies import cost_words
from tavernkit.values import Value

STORIES_SHOWN = 30
LINES_AROUND = 3
LAST_WORDS = 60

TRIGGERS: Mapping[PipelineTrigger, str] = {
    "user_message": "Somebody has said something",
    "regenerate": "A reply is told anew",
    "manual": "Somebody presses Run now",
    "api": "A program asks for it",
}
CHANGES = {"added": "Added", "removed": "Removed", "changed": "Changed"}


class StoryChoice(Value, frozen=True, kw_only=True):
    """A story to try a profile on."""

    id: str
    title: str


class DryRunFormView(Value, frozen=True, kw_only=True):
    """What can be tried, and what was chosen the last time."""

    profile_id: str
    profile_name: str
    stories: tuple[StoryChoice, ...]
    chosen: str = ""
    trigger: PipelineTrigger = "user_message"
    with_reply: bool = False
    problem: str = ""


class ProgressView(Value, frozen=True, kw_only=True):
    """A step while others are still at work."""

    name: str
    state: str
    words: str


class WriteView(Value, frozen=True, kw_only=True):
    """An artifact that a step would write."""

    name: str
    kind: str
    seen: str
    version: str
    change: str
    content: str


class SaidView(Value, frozen=True, kw_only=True):
    """A message that a step was told, or what it was given."""

    role: str
    content: str


class StepView(Value, frozen=True, kw_only=True):
    """A step, folded: what it was told, what it has made, and what that has cost."""

    name: str
    about: str
    state: str
    words: str
    cost: str
    why: str
    input: tuple[SaidView, ...]
    output: str | None
    writes: tuple[WriteView, ...]


class LineView(Value, frozen=True, kw_only=True):
    """A line of a block: `kind` is added, removed, same, or gap for lines that are left out."""

    kind: str
    text: str


class BlockChangeView(Value, frozen=True, kw_only=True):
    """A block that the artifacts have changed, added or taken away."""

    change: str
    label: str
    part: str
    role: str
    lines: tuple[LineView, ...]


class PromptDiffView(Value, frozen=True, kw_only=True):
    """What becomes different in the prompt."""

    before: int
    after: int
    difference: str
    blocks: tuple[BlockChangeView, ...]


class ResultView(Value, frozen=True, kw_only=True):
    """What came of a dry run."""

    state: str
    sentence: str
    steps: tuple[StepView, ...]
    prompt: PromptDiffView | None
    reply: str
    warnings: tuple[str, ...]


class DryRunView(Value, frozen=True, kw_only=True):
    """A dry run at work, or over; `sentence` says how it stands."""

    form: DryRunFormView
    job_id: str
    done: int
    total: int
    sentence: str
    is_over: bool
    is_stopping: bool
    is_problem: bool
    progress: tuple[ProgressView, ...]
    result: ResultView | None


async def dry_run_form(
    runtime: Runtime,
    viewer: Viewer,
    profile_id: UUID,
    *,
    chosen: UUID | None = None,
    trigger: PipelineTrigger = "user_message",
    with_reply: bool = False,
    problem: str = "",
) -> DryRunFormView:
    """The form, with the person's stories that have changed last, and the one that was chosen."""
    async with runtime.database.read() as session:
        profile = await profile_for(session, viewer, profile_id)
        return DryRunFormView(
            profile_id=str(profile.id),
            profile_name=shown_name(profile.name),
            stories=await _stories(session, viewer, chosen),
            chosen="" if chosen is None else str(chosen),
            trigger=trigger,
            with_reply=with_reply,
            problem=problem,
        )


async def dry_run_view(runtime: Runtime, viewer: Viewer, profile_id: UUID, job_id: UUID) -> DryRunView:
    """A dry run of the person's, with the form that it came from."""
    async with runtime.database.read() as session:
        job = await find_job(session, job_id, viewer)
    if job is None or job.kind != DRY_RUN_KIND or job.payload["profile"]["id"] != str(profile_id):
        raise not_found("dry run")
    asked = job.payload
    form = await dry_run_form(
        runtime,
        viewer,
        profile_id,
        chosen=UUID(asked["conversation_id"]),
        trigger=asked["trigger"],
        with_reply=bool(asked["with_reply"]),
    )
    return await to_thread.run_sync(_view, job, form)


async def _stories(session: AsyncSession, viewer: Viewer, chosen: UUID | None) -> tuple[StoryChoice, ...]:
    input = await recent_stories(session, viewer, limit=STORIES_SHOWN)
    stories = [
        _story(one.conversation.id, one.space.name, one.conversation.title, one.last_words or "") for one in input
    ]
    if chosen is not None and str(chosen) not in {story.id for story in stories}:
        with suppress(Refused):
            conversation, access = await conversation_for(session, chosen, viewer, Access.READ)
            stories.insert(0, _story(chosen, access.space.name, conversation.title))
    return tuple(stories)


def _story(id: UUID, space: str, title: str, last_words: str = "") -> StoryChoice:
    """A story by its name, and by what was said in it last: many have the same name."""
    named = shown_name(title) if space == title else f"{shown_name(space)} › {shown_name(title)}"
    if last_words.strip():
        named = f"{named}: {shorten(shown_name(last_words), LAST_WORDS, placeholder='…')}"
    return StoryChoice(id=str(id), title=named)


def _view(job: Job, form: DryRunFormView) -> DryRunView:
    is_over = job.status not in ("queued", "running")
    result = _result(job.result) if job.status == "succeeded" else None
    return DryRunView(
        form=form,
        job_id=str(job.id),
        done=job.done,
        total=job.total,
        sentence=_sentence(job) if result is None else result.sentence,
        is_over=is_over,
        is_stopping=not is_over and job.cancel_requested_at is not None,
        is_problem=job.status == "failed" or (result is not None and result.state == "error"),
        progress=() if is_over else tuple(_progress(step) for step in job.result.get("steps", ())),
        result=result,
    )


def _sentence(job: Job) -> str:
    match job.status:
        case "queued":
            return "About to begin."
        case "canceled":
            return "Stopped. Nothing was written."
        case "failed":
            return str(job.error["message"]) if job.error else "The dry run ended before its time."
        case _ if job.cancel_requested_at is not None:
            return "Stopping."
        case _:
            return f"{job.done} of {job.total} steps are through."


def _progress(step: Mapping[str, Any]) -> ProgressView:
    return ProgressView(
        name=f"{step['pipeline']}/{step['step']}", state=step["status"], words=STATES.get(step["status"], "")
    )


def _result(result: Mapping[str, Any]) -> ResultView:
    return ResultView(
        state=result["status"],
        sentence=result["message"] or _ended(result),
        steps=tuple(_step(step) for step in result["steps"]),
        prompt=None if result["prompt"] is None else _prompt(result["prompt"]),
        reply=result["reply"] or "",
        warnings=tuple(result["warnings"]),
    )


def _ended(result: Mapping[str, Any]) -> str:
    used = result["prompt_tokens"] + result["completion_tokens"]
    cost = f"{used:,} tokens were used" if used else "No model was asked"
    return f"Turn {result['turn']}, {shown_name(result['speaker'])} speaks. {cost}, and nothing was written."


def _step(step: Mapping[str, Any]) -> StepView:
    status = step["status"]
    return StepView(
        name=shown_name(step["name"] or step["step"]),
        about=f"{step['pipeline']}/{step['step']} · {step['kind']} · {HOOKS[step['hook']]}",
        state=status,
        words=STATES.get(status, status),
        cost=_cost(step),
        why=step["message"] or REASONS.get(step["reason"] or "", ""),
        input=tuple(SaidView(role=one["role"], content=one["content"]) for one in step["input"] or ()),
        output=step["output"],
        writes=tuple(_write(write) for write in step["writes"]),
    )


def _cost(step: Mapping[str, Any]) -> str:
    calls, tokens = step["calls"], step["prompt_tokens"] + step["completion_tokens"]
    parts = []
    if calls:
        parts = [f"{calls} {'call' if calls == 1 else 'calls'}", f"{tokens:,} tokens"]
    # A trial that was made before costs were kept has none.
    if step.get("cost") is not None:
        parts.append(cost_words(step["cost"]))
    if step["status"] != "skipped":
        parts.append(f"{step['seconds']:.1f} s")
    return " · ".join(parts)


def _write(write: Mapping[str, Any]) -> WriteView:
    seen = write["visibility"] if write["surface"] is None else f"{write['visibility']}, {write['surface']}"
    known = "new" if write["from_version"] is None else f"v{write['from_version']}"
    return WriteView(
        name=write["tag"],
        kind=write["kind"],
        seen=seen,
        version=f"{known} → v{write['version']}" if write["is_kept"] else "for this run only",
        change=write["change"],
        content=write["content"],
    )


def _prompt(prompt: Mapping[str, Any]) -> PromptDiffView:
    before, after = prompt["tokens_before"], prompt["tokens_after"]
    return PromptDiffView(
        before=before,
        after=after,
        difference=f"{after - before:+,}",
        blocks=tuple(_block(change) for change in prompt["changes"]),
    )


def _block(change: Mapping[str, Any]) -> BlockChangeView:
    part = ", ".join(change["artifacts"]) or part_name(change["slot"], change["source"])
    role = change["role"] if change["name"] is None else f"{change['role']} · {shown_name(change['name'])}"
    return BlockChangeView(
        change=change["change"],
        label=CHANGES[change["change"]],
        part=part,
        role=role,
        lines=tuple(_lines(change["before"].split("\n"), change["after"].split("\n"), change["change"])),
    )


def _lines(before: Sequence[str], after: Sequence[str], change: str) -> Iterator[LineView]:
    if change != "changed":
        yield from (LineView(kind=change, text=line) for line in (after if change == "added" else before))
        return
    kinds = {"+": "added", "-": "removed", " ": "same"}
    # The two lines that would name files say nothing here.
    for number, line in enumerate(unified_diff(before, after, n=LINES_AROUND, lineterm="")):
        if number < 2:
            continue
        if line.startswith("@@"):
            if number > 2:
                yield LineView(kind="gap", text="")
            continue
        yield LineView(kind=kinds[line[0]], text=line[1:])
