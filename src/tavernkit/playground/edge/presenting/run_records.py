"""What is shown of runs that were: the newest of a conversation, and one with the prompt that it sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, PipelineRun, Run, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, stored_sentence
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.inspector import (
    InspectorTab,
    PlaceView,
    plan_view,
    run_place,
    traced_part,
)
from tavernkit.playground.edge.presenting.panel import panel_access, panel_view
from tavernkit.playground.edge.presenting.prompt_history import changes_view, timeline_view
from tavernkit.playground.edge.presenting.prompt_preview import prompt_view
from tavernkit.playground.edge.presenting.traced_text import TracedView
from tavernkit.playground.story.pipelines.reports import (
    failed_steps,
    pipelines_view,
    run_around,
    run_words,
    runs_around,
)
from tavernkit.playground.story.previews.explanations import read_explanation
from tavernkit.playground.story.previews.links import find_entries
from tavernkit.playground.story.previews.service import KeptPrompt, read_prompt
from tavernkit.playground.story.prompting.fitting import LEFT_OUT, left_out_words
from tavernkit.playground.story.prompting.records import LORE, OMITTED
from tavernkit.playground.story.prompting.replies import cost_words
from tavernkit.playground.story.replaying.inspecting import inspect_run
from tavernkit.playground.story.runs.documents import ReuseOut
from tavernkit.playground.story.runs.queries import list_runs, read_run
from tavernkit.values import Value

RUNS_SHOWN = 20
STATES = {
    "queued": _("Queued"),
    "running": _("Generating"),
    "succeeded": _("Done"),
    "failed": _("Failed"),
    "canceled": _("Stopped"),
    "skipped": _("Skipped"),
}
KINDS = {
    "user_turn": _("Reply"),
    "regenerate": _("Regenerate"),
    "force_talk": _("Requested reply"),
    "continue": _("Continue"),
    "impersonate": _("Impersonate"),
}


class RunLine(Value, frozen=True, kw_only=True):
    """A run in the list; `failed_steps` says of each step around its reply that has failed why."""

    run: Run
    kind: str
    state: str
    speaker: str
    tokens: str
    seconds: str
    failed_steps: tuple[str, ...]

    @property
    def cost(self) -> str:
        return cost_words(self.run.cost)

    @property
    def error(self) -> Mapping[str, str]:
        """Its code and the provider that it is about; empty if there is none."""
        return self.run.error or {}

    @property
    def problem(self) -> str:
        return stored_sentence(self.run.error) if self.run.error else ""


async def runs_view(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Mapping[str, object]:
    """The newest runs of a conversation."""
    async with runtime.database.read() as session:
        entered = await panel_access(session, viewer, conversation_id)
    # Behind the conversation, whose number of events the tab carries: it shows all that these tell of.
    runs = await list_runs(runtime, viewer, conversation_id, after=None, limit=RUNS_SHOWN)
    async with runtime.database.read() as session:
        names = await _names(session, runs)
        around = await runs_around(session, [run.id for run in runs])
    return {
        "panel": panel_view(*entered, "runs"),
        "conversation_id": conversation_id,
        "runs": tuple(_line(run, names, around.get(run.id)) for run in runs),
    }


async def run_page_view(
    runtime: Runtime,
    viewer: Viewer,
    run_id: UUID,
    tab: InspectorTab,
    *,
    off: tuple[str, ...] = (),
    other: UUID | None = None,
) -> Mapping[str, object]:
    """A run with one tab of the inspector of its prompt, without what is `off`; `other` is the run that it is compared
    with, else the one before it."""
    run = await read_run(runtime, viewer, run_id)
    async with runtime.database.read() as session:
        names = await _names(session, [run])
        conversation = await session.get_one(Conversation, run.conversation_id)
        pipelines = await run_around(session, run.id)
    try:
        prompt: KeptPrompt | None = await read_prompt(runtime, viewer, run_id)
    except Refused:
        # It was not kept, or it is not for everybody who may read the story.
        prompt = None
    place = run_place(run_id, tab, off)
    return {
        "place": place,
        "line": _line(run, names, pipelines),
        "title": shown_name(conversation.name),
        "facts": tuple(_facts(run)),
        "text": runtime.live_text.get(run.id, run.text),
        "pipelines": None if pipelines is None else pipelines_view(pipelines),
        **({} if prompt is None else await _tab_of(runtime, viewer, run, prompt, place, other)),
        "has_prompt": prompt is not None,
    }


async def _tab_of(
    runtime: Runtime, viewer: Viewer, run: Run, prompt: KeptPrompt, place: PlaceView, other: UUID | None
) -> Mapping[str, object]:
    match place.tab:
        case "plan":
            trial = await inspect_run(runtime, viewer, run, off=place.off)
            places = await find_entries(runtime, viewer, run.conversation_id, trial.tried.explanation)
            return {"plan": plan_view(trial, places)}
        case "request" | "reply":
            return {"prompt": prompt_view(prompt)}
        case "timeline":
            return {"timeline": await timeline_view(runtime, viewer, run.conversation_id, run.id)}
        case "changes":
            told = await read_explanation(runtime, viewer, run.id)
            return {"changes": await changes_view(runtime, viewer, run.conversation_id, prompt, told, other)}


async def traced_message(
    runtime: Runtime, viewer: Viewer, run_id: UUID, off: tuple[str, ...], number: int, start: int
) -> TracedView:
    """A part of a message of the prompt that a run has sent, without what is `off`."""
    run = await read_run(runtime, viewer, run_id)
    return traced_part(await inspect_run(runtime, viewer, run, off=off), number, start)


async def _names(session: AsyncSession, runs: Iterable[Run]) -> dict[UUID, str]:
    rows = await session.execute(
        select(SpaceMembership.id, SpaceMembership.cached_display_name).where(
            SpaceMembership.id.in_({run.speaker_membership_id for run in runs})
        )
    )
    return {id: shown_name(name) for id, name in rows}


def _line(run: Run, names: Mapping[UUID, str], around: PipelineRun | None) -> RunLine:
    failed = () if around is None else failed_steps(around)
    used = (run.prompt_tokens, run.completion_tokens)
    return RunLine(
        run=run,
        kind=KINDS.get(run.kind, run.kind),
        state=run_words(STATES.get(run.status, run.status), len(failed)),
        speaker=names.get(run.speaker_membership_id, _("Unknown member")),
        tokens="" if used == (None, None) else _("{prompt} + {reply} tokens", prompt=used[0] or 0, reply=used[1] or 0),
        seconds=_seconds(run.started_at, run.finished_at),
        failed_steps=failed,
    )


CAUSES = {
    "asked": _("Requested"),
    "auto_mode": _("Auto mode"),
    "chosen": _("Chosen manually"),
    "copilot": _("Copilot"),
    "first_member": _("First member"),
    "forced": _("Triggered manually"),
    "impersonate": _("Impersonate"),
    "last_speaker": _("Last speaker"),
    "list": _("List order"),
    "manual": _("Manual order"),
    "mention": _("Mentioned"),
    "pooled": _("Pooled order"),
    "pooled_again": _("Pooled order"),
    "previous_speaker": _("Previous speaker"),
    "random": _("Drawn at random"),
    "retry": _("Retry"),
    "round": _("Round"),
    "talkativeness": _("Talkativeness"),
}
"""Why a run was made, by the word that its row has."""


def _tokens(number: int | None) -> str | None:
    return None if number is None else ngettext("{count} token", "{count} tokens", number)


def _reused(run: Run) -> str:
    """How much of its prompt begins as the prompt before did."""
    found = ReuseOut.of(run)
    if found is None:
        return ""
    figures = {"common": found.common_tokens, "total": found.total_tokens, "percent": round(100 * found.share)}
    return _("{common} of {total} tokens ({percent} %)", **figures)


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    """What is known about the run, in the order in which people ask."""
    debug = run.debug
    known: dict[str, object] = {
        _("Reason"): CAUSES.get(run.reason, run.reason.replace("_", " ").capitalize()),
        _("Provider"): debug.get("provider"),
        _("Model"): debug.get("model"),
        _("Prompt"): _tokens(run.prompt_tokens),
        _("Reply"): _tokens(run.completion_tokens),
        _("Cached"): _tokens(run.cached_tokens),
        _("Same as before"): _reused(run),
        _("Lore"): _entries(debug.get(LORE)),
        _("Trimmed"): left_out_words(debug.get(LEFT_OUT, {})),
        _("Pictures not sent"): debug.get(OMITTED) or None,
        _("Cost"): cost_words(run.cost),
        _("Time"): _seconds(run.started_at, run.finished_at),
        _("Finish reason"): debug.get("finish_reason"),
    }
    shown = {
        "provider",
        "model",
        "finish_reason",
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "cost",
        "warnings",
        LORE,
        OMITTED,
    }
    further = {
        key.replace("_", " ").capitalize(): value
        for key, value in debug.items()
        if key not in shown and isinstance(value, str | int | float)
    }
    facts = {**known, **further}.items()
    return ((name, value if isinstance(value, str) else str(value)) for name, value in facts if value not in (None, ""))


def _entries(count: int | None) -> str:
    return ngettext("{count} entry", "{count} entries", count) if count else ""


def _seconds(started: datetime | None, finished: datetime | None) -> str:
    if started is None or finished is None:
        return ""
    return _("{seconds} s", seconds=round((finished - started).total_seconds(), 1))
