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
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, stored_sentence, translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.home import recent_stories
from tavernkit.playground.edge.presenting.panel import ChoiceView, trail_title
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
    "user_message": _("User message"),
    "regenerate": _("Regenerate"),
    "manual": _("Run now"),
    "api": _("API"),
}
CHANGES = {"added": _("Added"), "removed": _("Removed"), "changed": _("Changed")}


class DryRunFormView(Value, frozen=True, kw_only=True):
    """What can be tried, and what was chosen the last time."""

    profile_id: str
    profile_name: str
    stories: tuple[ChoiceView, ...]
    trigger: PipelineTrigger = "user_message"
    with_reply: bool = False
    problem: str = ""


class DryRunView(Value, frozen=True, kw_only=True):
    """A dry run at work, or over; `sentence` says how it stands. `steps` and `changes` are as its report has them, with
    words for the page."""

    form: DryRunFormView
    job: Job
    sentence: str
    is_over: bool
    is_problem: bool
    steps: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    result: Mapping[str, Any] | None


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
            stories=await story_choices(session, viewer, chosen),
            trigger=trigger,
            with_reply=with_reply,
            problem=problem,
        )


async def dry_run_view(runtime: Runtime, viewer: Viewer, profile_id: UUID, job_id: UUID) -> DryRunView:
    """A dry run of the person's, with the form that it came from."""
    async with runtime.database.read() as session:
        job = await find_job(session, job_id, viewer)
    if job is None or job.kind != DRY_RUN_KIND or job.payload["profile"]["id"] != str(profile_id):
        raise not_found(_("dry run"))
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


async def story_choices(session: AsyncSession, viewer: Viewer, chosen: UUID | None) -> tuple[ChoiceView, ...]:
    """Each by its name, and by what was said in it last: many have the same name."""
    stories: dict[UUID, str] = {}
    for one in await recent_stories(session, viewer, limit=STORIES_SHOWN):
        title = trail_title(one.space.name, one.conversation.name)
        if one.last_words and one.last_words.strip():
            title = f"{title}: {shorten(shown_name(one.last_words), LAST_WORDS, placeholder='…')}"
        stories[one.conversation.id] = title
    if chosen is not None and chosen not in stories:
        with suppress(Refused):
            conversation, access = await conversation_for(session, chosen, viewer, Access.READ)
            stories = {chosen: trail_title(access.space.name, conversation.name), **stories}
    return tuple(ChoiceView(value=str(id), label=title, is_chosen=id == chosen) for id, title in stories.items())


def _view(job: Job, form: DryRunFormView) -> DryRunView:
    result = job.result if job.status == "succeeded" else None
    steps = [{**step, "words": STATES.get(step["status"], step["status"])} for step in job.result.get("steps", ())]
    prompt = None if result is None else result["prompt"]
    return DryRunView(
        form=form,
        job=job,
        sentence=_sentence(job),
        is_over=job.status not in ("queued", "running"),
        is_problem=job.status == "failed" or (result is not None and result["status"] == "error"),
        steps=steps if result is None else [_step(step) for step in steps],
        changes=[_change(change) for change in prompt["changes"]] if prompt else (),
        # Those of our own are in the catalogues.
        warnings=[] if result is None else [_(warning) for warning in result["warnings"]],
        result=result,
    )


def _sentence(job: Job) -> str:
    match job.status:
        case "queued":
            return _("Queued.")
        case "canceled":
            return _("Stopped. Nothing was written.")
        case "failed":
            return stored_sentence(job.error) if job.error else _("The dry run ended unexpectedly.")
        case "succeeded":
            return job.result["message"] or _ended(job.result)
        case _ if job.cancel_requested_at is not None:
            return _("Stopping.")
        case _:
            return _("{done} of {total} steps finished.", done=job.done, total=job.total)


def _ended(result: Mapping[str, Any]) -> str:
    used = result["prompt_tokens"] + result["completion_tokens"]
    place = {"turn": result["turn"], "name": shown_name(result["speaker"])}
    if not used:
        return _("Turn {turn}, speaker {name}. No model was called, and nothing was written.", **place)
    return ngettext(
        "Turn {turn}, speaker {name}. {count} token was used, and nothing was written.",
        "Turn {turn}, speaker {name}. {count} tokens were used, and nothing was written.",
        used,
        **place,
    )


def _step(step: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **step,
        "name": shown_name(step["name"] or step["step"]),
        "about": f"{step['pipeline']}/{step['step']} · {step['kind']} · {translated(HOOKS[step['hook']])}",
        "used": _used(step),
        "why": step["message"] or REASONS.get(step["reason"] or "", ""),
    }


def _used(step: Mapping[str, Any]) -> str:
    calls, tokens = step["calls"], step["prompt_tokens"] + step["completion_tokens"]
    parts: list[str] = []
    if calls:
        parts += [
            ngettext("{count} call", "{count} calls", calls),
            ngettext("{count} token", "{count} tokens", tokens),
        ]
    # A trial that was made before costs were kept has none.
    if step.get("cost") is not None:
        parts.append(cost_words(step["cost"]))
    if step["status"] != "skipped":
        parts.append(_("{seconds} s", seconds=round(step["seconds"], 1)))
    return " · ".join(map(translated, parts))


def _change(change: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **change,
        "label": CHANGES[change["change"]],
        "part": ", ".join(change["artifacts"]) or part_name(change["slot"], change["source"]),
        "role": change["role"] if change["name"] is None else f"{change['role']} · {shown_name(change['name'])}",
        "lines": list(_lines(change["before"].split("\n"), change["after"].split("\n"), change["change"])),
    }


def _lines(before: Sequence[str], after: Sequence[str], change: str) -> Iterator[tuple[str, str]]:
    """The lines of a block, each behind what it is: added, removed, same, or gap for lines that are left out."""
    if change != "changed":
        yield from ((change, line) for line in (after if change == "added" else before))
        return
    kinds = {"+": "added", "-": "removed", " ": "same"}
    # The two lines that would name files say nothing here.
    for number, line in enumerate(unified_diff(before, after, n=LINES_AROUND, lineterm="")):
        if number < 2:
            continue
        if line.startswith("@@"):
            if number > 2:
                yield "gap", ""
            continue
        yield kinds[line[0]], line[1:]
