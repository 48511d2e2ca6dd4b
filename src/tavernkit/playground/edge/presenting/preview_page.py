"""The inspector of the prompt that would be sent next in a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.inspector import (
    InspectorTab,
    PlaceView,
    plan_view,
    traced_part,
)
from tavernkit.playground.edge.presenting.prompt_history import changes_view, timeline_view
from tavernkit.playground.edge.presenting.prompt_preview import preview_heading, preview_speakers, prompt_view
from tavernkit.playground.edge.presenting.traced_text import TracedView
from tavernkit.playground.story.previews.inspecting import PromptTrial, inspect_preview
from tavernkit.playground.story.previews.links import find_entries
from tavernkit.playground.story.previews.service import PreviewKind
from tavernkit.values import Value

PREVIEW_TABS: tuple[InspectorTab, ...] = ("plan", "request", "changes", "timeline")


class PreviewChoice(Value, frozen=True, kw_only=True):
    """Which prompt is previewed: whose, what kind, and without which of its parts."""

    speaker: UUID | None = None
    kind: PreviewKind | None = None
    off: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """What the address says of it, but for what is off."""
        chosen = (("speaker", self.speaker), ("kind", self.kind))
        return tuple((name, str(value)) for name, value in chosen if value is not None)


async def preview_page_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    choice: PreviewChoice,
    tab: InspectorTab,
    other: UUID | None = None,
) -> Mapping[str, object]:
    """A tab of the prompt for what this member would say next here, or whoever would speak."""
    about = await preview_speakers(runtime, viewer, conversation_id, speaker_id=choice.speaker, kind=choice.kind)
    trial = await _trial(runtime, viewer, conversation_id, choice.with_(speaker=about.speaker.id))
    prompt = trial.tried.prompt
    shown: Mapping[str, object] = {
        "conversation_id": conversation_id,
        **preview_heading(about, prompt),
        "place": preview_place(conversation_id, choice, tab),
    }
    match tab:
        case "changes":
            told = trial.tried.explanation
            return {**shown, "changes": await changes_view(runtime, viewer, conversation_id, prompt, told, other)}
        case "timeline":
            return {**shown, "timeline": await timeline_view(runtime, viewer, conversation_id)}
        case "request":
            return {**shown, "prompt": prompt_view(prompt)}
        case _:
            places = await find_entries(runtime, viewer, conversation_id, trial.tried.explanation)
            return {**shown, "plan": plan_view(trial, places)}


async def traced_preview(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, choice: PreviewChoice, number: int, start: int
) -> TracedView:
    """A part of a message of that prompt."""
    return traced_part(await _trial(runtime, viewer, conversation_id, choice), number, start)


async def _trial(runtime: Runtime, viewer: Viewer, conversation_id: UUID, choice: PreviewChoice) -> PromptTrial:
    return await inspect_preview(
        runtime, viewer, conversation_id, speaker_id=choice.speaker, kind=choice.kind, off=choice.off
    )


def preview_place(conversation_id: UUID, choice: PreviewChoice, tab: InspectorTab = "plan") -> PlaceView:
    """Where that prompt is."""
    return PlaceView(
        path=f"/conversations/{conversation_id}/preview",
        tab=tab,
        chosen=choice.fields,
        off=choice.off,
        tabs=PREVIEW_TABS,
    )
