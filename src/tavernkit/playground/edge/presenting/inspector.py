"""The inspector of a prompt: its blocks, its text by source, and the reasons for both; one that was sent, or the next.

A prompt that was sent is at the address of its run, the next one at that of its preview.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias
from urllib.parse import urlencode
from uuid import UUID
from zlib import crc32

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.edge.presenting.prompt_preview import (
    BlockView,
    PromptView,
    block_view,
    largest_block,
    prompt_view,
)
from tavernkit.playground.edge.presenting.reasons import ReasonsView, reasons_view
from tavernkit.playground.edge.presenting.sources import GROUPS, SourceGroup, entry_href, slot_group, source_href
from tavernkit.playground.edge.presenting.traced_text import (
    BarPart,
    Href,
    TracedMessageView,
    TracedView,
    bar,
    bar_of,
    traced_messages,
    traced_view,
)
from tavernkit.playground.edge.web.links import source_address
from tavernkit.playground.story.previews.inspecting import InspectedPrompt, PromptPart, PromptTrial
from tavernkit.playground.story.previews.links import EntryPlaces
from tavernkit.playground.story.previews.service import KeptBlock
from tavernkit.prompt.explaining import PROMPT
from tavernkit.prompt.sources import ExplainedMessage, Explanation
from tavernkit.values import Value

InspectorTab: TypeAlias = Literal["plan", "request", "reply", "changes", "timeline"]

TABS: Mapping[InspectorTab, str] = {
    "plan": _("Plan"),
    "request": _("Exact request"),
    "reply": _("Reply and usage"),
    "changes": _("Changes"),
    "timeline": _("Timeline"),
}

SEPARATOR = "\x1f"
"""Between the ids of merged prompts in what their switch sends."""


class PlaceView(Value, frozen=True, kw_only=True):
    """Where the inspector is: the address of the run or of the preview, what is chosen there, and the open tab."""

    path: str
    tab: InspectorTab = "plan"
    chosen: tuple[tuple[str, str], ...] = ()
    off: tuple[str, ...] = ()
    tabs: tuple[InspectorTab, ...] = tuple(TABS)

    @property
    def named_tabs(self) -> Iterator[tuple[str, str, str]]:
        """Each tab, its name, and its address."""
        return ((tab, TABS[tab], self.address(tab)) for tab in self.tabs)

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """What the form of the switches sends beside the switch that was pressed."""
        return (*self.chosen, *(("off", id) for id in self.off))

    def address(self, tab: str = "plan", *, off: Iterable[str] | None = None, **more: str) -> str:
        """The address of a tab, with the same choices."""
        left_out = [("off", id) for id in (self.off if off is None else off)]
        query = [*self.chosen, *left_out, *([("tab", tab)] if tab != "plan" else []), *more.items()]
        return f"{self.path}?{urlencode(query)}" if query else self.path

    def message(self, number: int, start: int = 0) -> str:
        """The address of a part of a message."""
        query = [*self.fields, *([("start", str(start))] if start else [])]
        return f"{self.path}/messages/{number}" + (f"?{urlencode(query)}" if query else "")


class PartView(Value, frozen=True, kw_only=True):
    """A block in the list: `bar` is what it is made of. `toggle` is what its switch sends; `number` is the message that
    has its text, None where it is off. `key` stays the same whatever else is switched."""

    key: str
    block: BlockView
    bar: tuple[BarPart, ...]
    groups: tuple[SourceGroup, ...]
    toggle: str = ""
    is_off: bool = False
    number: int | None = None


class FigureView(Value, frozen=True, kw_only=True):
    """A number about the prompt, in percent if it `is_share`, and by how much switches have changed it."""

    label: str
    value: int
    is_share: bool = False
    change: str = ""


class PlanView(Value, frozen=True, kw_only=True):
    """The three panes: blocks, text and reasons. `legend` are the groups that there are."""

    prompt: PromptView
    parts: tuple[PartView, ...]
    window: tuple[BarPart, ...]
    messages: tuple[TracedMessageView, ...]
    legend: tuple[tuple[SourceGroup, str], ...]
    reasons: ReasonsView
    figures: tuple[FigureView, ...]
    is_traced: bool


def plan_view(trial: PromptTrial, places: EntryPlaces) -> PlanView:
    """What the plan of a prompt shows, with the difference that switches make."""
    inspected = trial.tried
    entry_link = partial(entry_href, places=places)
    prompt = prompt_view(inspected.prompt)
    messages, titles = traced_texts(inspected)
    parts = tuple(_parts(inspected, messages))
    legend = dict.fromkeys(group for part in parts for group in part.groups)
    return PlanView(
        prompt=prompt,
        parts=parts,
        window=_window(inspected),
        messages=tuple(traced_messages(messages, titles, _hrefs(trial))),
        legend=tuple((group, label) for group, label in GROUPS.items() if group in legend),
        reasons=reasons_view(prompt.report, inspected.explanation, inspected.reuse, entry_link),
        figures=tuple(_figures(trial)),
        is_traced=any(span.source.is_precise for message in messages for span in message.spans),
    )


def _hrefs(trial: PromptTrial) -> Href:
    return partial(source_href, addresses={link.source: source_address(link) for link in trial.links})


def traced_part(trial: PromptTrial, number: int, start: int) -> TracedView:
    """A part of one of the messages of a prompt; raises Refused for one that there is not."""
    messages, _titles = traced_texts(trial.tried)
    if number >= len(messages) or start >= max(len(messages[number].spans), 1):
        raise not_found(_("message"))
    return traced_view(messages[number], start, _hrefs(trial))


def traced_texts(inspected: InspectedPrompt) -> tuple[tuple[ExplainedMessage, ...], tuple[str, ...]]:
    """The messages of a prompt with their sources, and what each is called."""
    blocks, explanation = inspected.prompt.blocks, inspected.explanation
    if _is_one_text(explanation) or len(explanation.messages) != len(blocks):
        return explanation.messages, tuple(translated(_("Prompt")) for _message in explanation.messages)
    return explanation.messages, tuple(translated(block_view(block, 0).part) for block in blocks)


def _is_one_text(explanation: Explanation) -> bool:
    return [message.role for message in explanation.messages] == [PROMPT]


def _parts(inspected: InspectedPrompt, messages: tuple[ExplainedMessage, ...]) -> Iterator[PartView]:
    largest = max(largest_block(inspected.prompt), *(part.block.tokens for part in inspected.parts), 0)
    is_by_block = not _is_one_text(inspected.explanation) and len(messages) == len(inspected.prompt.blocks)
    number = 0
    seen: Counter[str] = Counter()
    for part in inspected.parts:
        toggle = SEPARATOR.join(part.ids)
        seen[toggle] += 1
        view = block_view(part.block, largest)
        own = None if part.is_off or not is_by_block else messages[number]
        colours = _bar(part, own)
        yield PartView(
            key=f"{crc32(toggle.encode(errors='surrogatepass')):x}_{seen[toggle]}",
            block=view,
            bar=colours,
            groups=tuple(one.group for one in colours),
            toggle=toggle,
            is_off=part.is_off,
            number=None if part.is_off else number if is_by_block else 0,
        )
        number += not part.is_off


def _bar(part: PromptPart, message: ExplainedMessage | None) -> tuple[BarPart, ...]:
    known = message is not None and any(span.source.is_precise for span in message.spans)
    return bar_of(message.spans) if message is not None and known else bar({_group(part.block): 1}, 1)


def _group(block: KeptBlock) -> SourceGroup:
    return slot_group(block.slot, has_lore=bool(block.lore))


def _window(inspected: InspectedPrompt) -> tuple[BarPart, ...]:
    """What fills the context, by group."""
    tokens = dict.fromkeys(GROUPS, 0)
    report = prompt_view(inspected.prompt).report
    for part in inspected.parts:
        if not part.is_off:
            tokens[_group(part.block)] += part.block.tokens
    used = sum(tokens.values())
    return bar(tokens, used if report.trimming is None else max(used, report.trimming.budget_tokens))


def _figures(trial: PromptTrial) -> Iterator[FigureView]:
    for (label, before), (_label, after) in zip(_counted(trial.whole), _counted(trial.tried), strict=True):
        if after is not None and before is not None:
            change = f"{after - before:+}".replace("-", "\N{MINUS SIGN}") if after != before else ""
            yield FigureView(label=label, value=after, is_share=label == _REUSE, change=change)


_REUSE = _("Reuse")


def _counted(inspected: InspectedPrompt) -> tuple[tuple[str, int | None], ...]:
    prompt = prompt_view(inspected.prompt)
    reasons = reasons_view(prompt.report, inspected.explanation, None, lambda _book, _entry: "")
    return (
        (_("Tokens"), prompt.tokens),
        (_REUSE, None if inspected.reuse is None else round(100 * inspected.reuse.share)),
        (_("Trimmed"), len(reasons.evicted)),
        (_("Lore entries"), len(reasons.activated)),
    )


def toggled(off: Sequence[str], toggle: Sequence[str]) -> tuple[str, ...]:
    """The ids that are off after a switch was pressed, which is for those of `toggle`."""
    if set(toggle) <= set(off):
        return tuple(id for id in off if id not in toggle)
    return tuple(dict.fromkeys((*off, *toggle)))


def run_place(run_id: UUID, tab: InspectorTab = "plan", off: Sequence[str] = ()) -> PlaceView:
    """Where the inspector of a run is."""
    return PlaceView(path=f"/runs/{run_id}", tab=tab, off=tuple(off))
