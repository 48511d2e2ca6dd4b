"""What-if as its page shows it: the form, how far the job has come, and its result as a chart and a table."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import msgspec

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored_sentence
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView, trail_title
from tavernkit.playground.edge.presenting.prompt_preview import PromptView, prompt_view
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.presets.queries import presets_page
from tavernkit.playground.story.replaying.changes import WhatIf
from tavernkit.playground.story.replaying.what_if import WHAT_IF_KIND, WhatIfTurn, changed_prompt
from tavernkit.prompt.what_if import WhatIfTotals
from tavernkit.values import Value

PRESETS_SHOWN = 200
PRESET_KINDS = ("chat", "text", "risuai")
CHART_WIDTH, CHART_HEIGHT = 900, 200
USUAL_TURNS = 20


class WhatIfResult(Value, frozen=True, kw_only=True):
    """The result of a job."""

    turns: tuple[WhatIfTurn, ...]
    unkept: int
    changed: int
    gained: int
    lost: int
    before: WhatIfTotals
    after: WhatIfTotals


class WhatIfForm(Value, frozen=True, kw_only=True):
    """What can be tried, and what was tried the last time."""

    conversation_id: UUID
    title: str
    presets: tuple[ChoiceView, ...]
    settings: str = ""
    last: int = USUAL_TURNS
    problem: str = ""


class Bar(Value, frozen=True, kw_only=True):
    """A bar of the chart: the tokens of a prompt."""

    kind: str
    label: str
    x: float
    y: float
    width: float
    height: float


class WhatIfView(Value, frozen=True, kw_only=True):
    """A job at work, or over; `bars` are before and after by turn."""

    form: WhatIfForm
    job: Job
    is_over: bool
    problem: str
    result: WhatIfResult | None
    bars: tuple[Bar, ...]


async def what_if_form(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    settings: str = "",
    preset_id: UUID | None = None,
    last: int = USUAL_TURNS,
    problem: str = "",
) -> WhatIfForm:
    """The form, with the presets of the person."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        found = await presets_page(session, viewer, kind=None, behind=None, limit=PRESETS_SHOWN)
        choices = (
            ChoiceView(value=str(one.id), label=shown_name(one.name), is_chosen=one.id == preset_id)
            for one in found
            if one.kind in PRESET_KINDS
        )
        return WhatIfForm(
            conversation_id=conversation_id,
            title=trail_title(access.space.name, conversation.name),
            presets=tuple(choices),
            settings=settings,
            last=last,
            problem=problem,
        )


async def what_if_view(runtime: Runtime, viewer: Viewer, conversation_id: UUID, job_id: UUID) -> WhatIfView:
    """A job of the person's, with the form that it came from."""
    job = await _job(runtime, viewer, conversation_id, job_id)
    change = _change(job)
    form = await what_if_form(
        runtime,
        viewer,
        conversation_id,
        settings=_lines(change),
        preset_id=change.preset_id,
        last=int(job.payload["last"]),
    )
    result = msgspec.convert(job.result, WhatIfResult) if job.status == "succeeded" else None
    return WhatIfView(
        form=form,
        job=job,
        is_over=job.status not in ("queued", "running"),
        problem=_problem(job),
        result=result,
        bars=() if result is None else tuple(_bars(result)),
    )


async def changed_prompt_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, job_id: UUID, run_id: UUID
) -> dict[str, object]:
    """The prompt of one turn with what was tried."""
    job = await _job(runtime, viewer, conversation_id, job_id)
    prompt = await changed_prompt(runtime, viewer, run_id, _change(job))
    shown: PromptView = prompt_view(prompt)
    return {
        "conversation_id": None,
        "name": _("What if"),
        "speakers": (),
        "model": str(prompt.request["model"]),
        "prompt": shown,
    }


async def _job(runtime: Runtime, viewer: Viewer, conversation_id: UUID, job_id: UUID) -> Job:
    async with runtime.database.read() as session:
        job = await find_job(session, job_id, viewer)
    if job is None or job.kind != WHAT_IF_KIND or job.payload["conversation_id"] != str(conversation_id):
        raise not_found(_("job"))
    return job


def _change(job: Job) -> WhatIf:
    return WhatIf.model_validate_json(msgspec.json.encode(job.payload["change"]))


def _lines(change: WhatIf) -> str:
    """The settings as they are typed."""
    return "\n".join(
        f"{group}.{name}={msgspec.json.encode(value).decode()}"
        for group, values in change.settings.items()
        for name, value in values.items()
    )


def _problem(job: Job) -> str:
    if job.status == "canceled":
        return _("This was stopped.")
    return stored_sentence(job.error) if job.error is not None else ""


def _bars(result: WhatIfResult) -> Iterator[Bar]:
    changes = [(turn.number, turn.change) for turn in result.turns if turn.change is not None]
    most = max((max(change.before.tokens, change.after.tokens) for _number, change in changes), default=1) or 1
    step = CHART_WIDTH / max(len(changes), 1)
    for place, (number, change) in enumerate(changes):
        sides = (("before", _("Before"), change.before.tokens), ("after", _("After"), change.after.tokens))
        for side, (kind, label, tokens) in enumerate(sides):
            height = CHART_HEIGHT * tokens / most
            yield Bar(
                kind=kind,
                label=_("Message {number}, {label}: {tokens} tokens", number=number, label=label, tokens=tokens),
                x=round(step * (place + 0.1 + 0.4 * side), 1),
                y=round(CHART_HEIGHT - height, 1),
                width=round(step * 0.4, 1),
                height=round(height, 1),
            )
