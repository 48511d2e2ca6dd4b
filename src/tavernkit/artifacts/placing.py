"""Putting artifacts into a prompt: anchors are resolved against the chat as it was said, then everything is applied
once, and what stands beside a message that was trimmed is settled when trimming is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from tavernkit.artifacts.artifact import Artifact
from tavernkit.artifacts.candidate import (
    INCLUDED,
    REPORT,
    InclusionDecision,
    InclusionReason,
    Prepared,
    PromptCandidate,
    prepare,
    sources_of,
)
from tavernkit.artifacts.inclusion import PromptInclusion
from tavernkit.artifacts.inserts import Inserts
from tavernkit.artifacts.sections import SystemSections, changed, merged_json, wrapped
from tavernkit.artifacts.timeline import Absent, At, Past, Timeline
from tavernkit.hooks import BuildHook
from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.values import Json, as_json

_WARNED: dict[InclusionReason, str] = {
    "anchor_not_found": "there is no such message in the chat",
    "section_not_found": "the system prompt has no section of that name",
    "merge_type_error": "only JSON objects can be merged",
    "not_text": "the text of that message cannot be changed",
    "over_budget": "there is no room for it. Make it shorter, or raise the context size",
}


def include_artifacts(candidates: Iterable[PromptCandidate]) -> BuildHook:
    """A hook for `before_trimming` that puts artifacts into any platform's prompt, paid for before the chat is trimmed.

    `inclusion_report(plan)` says what became of each. The chat itself is never changed.
    """
    chosen = tuple(candidates)

    def include(ctx: Context) -> None:
        _Placing(ctx).place(chosen)

    return include


class _Placing:
    """One build's artifacts on their way into its blocks."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._timeline = Timeline(ctx.blocks, ctx.history)
        self._inserts = Inserts(ctx, self._timeline)
        self._items: list[Prepared] = []
        self._reasons: dict[int, InclusionReason] = {}
        self._unseen: list[InclusionDecision] = []
        self._changed: list[tuple[Prepared, int]] = []

    def place(self, candidates: Iterable[PromptCandidate]) -> None:
        ctx = self._ctx
        self._prepare(candidates)
        to_system: list[Prepared] = []
        to_messages: list[Prepared] = []
        for item in self._items:
            if item.is_blank:
                self._report(item, "empty")
            elif item.inclusion.target == "system":
                to_system.append(item)
            elif item.inclusion.operation == "insert":
                self._report(item, self._inserts.add(item))
            else:
                to_messages.append(item)
        system = SystemSections(ctx.blocks, ids=ctx.ids, is_text=ctx.wording is not None, end=self._timeline.start)
        system.apply(to_system, self._report)
        ctx.blocks = self._inserts.woven(self._change_messages(system.blocks, to_messages))
        self._tell()
        ctx.after_trimming.append(self._settle)

    def _prepare(self, candidates: Iterable[PromptCandidate]) -> None:
        """Word them all and put them in order."""
        for candidate in candidates:
            item = prepare(candidate)
            if item is not None:
                self._items.append(item)
            elif candidate.artifact.inclusion is not None:
                reason: InclusionReason = "not_visible" if candidate.versions else "empty"
                self._unseen.append(_decision(candidate.artifact, candidate.artifact.inclusion, reason))
        self._items.sort(key=attrgetter("key"))

    def _report(self, item: Prepared, reason: InclusionReason) -> None:
        self._reasons[id(item)] = reason

    def _change_messages(self, blocks: list[Block], items: Sequence[Prepared]) -> list[Block]:
        """Replace, merge into and wrap single messages, in this order."""
        at: dict[int, list[Prepared]] = {}
        for item in items:
            anchor = item.inclusion.anchor
            if anchor is None:
                continue
            match self._timeline.resolve(anchor):
                case At(place=place):
                    at.setdefault(place, []).append(item)
                case Past():
                    self._report(item, "anchor_trimmed")
                case Absent():
                    self._report(item, "anchor_not_found")
        where = {block.id: place for place, block in enumerate(blocks)} if at else {}
        for place, changing in at.items():
            ids = self._timeline.blocks(place)
            block = blocks[where[ids[0]]]
            words = None if len(ids) > 1 else _words(block, is_text=self._ctx.wording is not None)
            if words is None:
                for item in changing:
                    self._report(item, "not_text")
                continue
            blocks[where[ids[0]]] = self._change(block, words, changing)
            self._changed.extend((item, place) for item in changing if self._reasons[id(item)] == "placed")
        return blocks

    def _change(self, block: Block, words: str, items: Sequence[Prepared]) -> Block:
        text, role, by = words, block.role, list[Prepared]()
        replacing = [item for item in items if item.inclusion.operation == "replace"]
        for item in replacing[:-1]:
            self._report(item, "superseded")
        for item in replacing[-1:]:
            text, role = item.before, item.inclusion.role or role
            self._report(item, "placed")
            by.append(item)
        for item in items:
            if item.inclusion.operation == "merge_section":
                merged = merged_json(text, item.value, key=item.inclusion.section)
                self._report(item, "merge_type_error" if merged is None else "placed")
                if merged is not None:
                    text = merged
                    by.append(item)
        wraps = [item for item in items if item.inclusion.operation == "wrap"]
        for item in wraps:
            self._report(item, "placed")
        text = wrapped(text, wraps)
        return changed(block, self._written(block, words, text, role), [*by, *wraps]).with_(role=role)

    def _written(self, block: Block, words: str, text: str, role: str) -> str:
        """The new words as the block has them: in a prompt of one text, between the sequences around them."""
        wording = self._ctx.wording
        if wording is None:
            return text
        if role != block.role:
            return wording(role, text)
        before, _, after = block.content.rpartition(words)
        return f"{before}{text}{after}"

    def _settle(self, ctx: Context) -> None:
        """Trimming is done: see to what stands beside a message that is gone. A build and its copy may both come here,
        so what was placed stays as it is."""
        reasons = self._reasons.copy()
        sent = {block.id for block in ctx.blocks if block.enabled}
        kept = self._timeline.kept(sent)
        for item, place in self._changed:
            if place not in kept:
                reasons[id(item)] = "anchor_trimmed"
        ctx.blocks, moved = self._inserts.settled(ctx.blocks, sent, kept)
        for item, reason in moved:
            reasons[id(item)] = reason
        self._note_missing(ctx, reasons)
        self._write_report(ctx, reasons)

    def _note_missing(self, ctx: Context, reasons: dict[int, InclusionReason]) -> None:
        """What stood in the prompt and is no longer told, because there was no room or another hook took it out."""
        crediting = [block for block in ctx.blocks if "artifacts" in block.metadata]
        told = {source["id"] for block in crediting if block.enabled for source in sources_of(block)}
        missing = [item for item in self._items if item.source["id"] not in told and reasons[id(item)] in INCLUDED]
        if not missing:
            return
        known = {source["id"] for block in crediting for source in sources_of(block)}
        for item in missing:
            reason: InclusionReason = "over_budget" if item.source["id"] in known else "taken_out"
            reasons[id(item)] = reason
            _warn(ctx, item, reason)

    def _tell(self) -> None:
        for item in self._items:
            _warn(self._ctx, item, self._reasons[id(item)])
            if not item.reaches_back:
                self._ctx.warn(
                    "artifact_window",
                    f"{item.artifact.name} is included with its last {item.inclusion.versions.n} versions, but only "
                    f"{item.artifact.retention.max_versions} are kept. Keep more, or include fewer.",
                    artifact=item.artifact.name,
                )

    def _write_report(self, ctx: Context, reasons: Mapping[int, InclusionReason]) -> None:
        earlier: Sequence[Json] = ctx.get(REPORT, ())
        items, unseen = self._items, sorted(self._unseen, key=lambda decision: decision.artifact)

        def decisions() -> list[Json]:
            made = (_decision(item.artifact, item.inclusion, reasons[id(item)], item.versions) for item in items)
            return [*earlier, *map(as_json, (*made, *unseen))]

        ctx[REPORT] = LazyVerdicts(decisions)


def _warn(ctx: Context, item: Prepared, reason: InclusionReason) -> None:
    if reason in _WARNED:
        name = item.artifact.name
        message = f"{name} is not in the prompt: {_WARNED[reason]}."
        ctx.warn("artifact_left_out", message, artifact=name, reason=reason)


def _words(block: Block, *, is_text: bool) -> str | None:
    """What a message says, without what is written around it; None if it says nothing that can be changed."""
    if block.message_metadata.get("tool_calls"):
        return None
    if not is_text:
        return block.content
    words = block.metadata.get("said")
    return words if isinstance(words, str) and words and words in block.content else None


def _decision(
    artifact: Artifact, inclusion: PromptInclusion, reason: InclusionReason, versions: tuple[int, ...] = ()
) -> InclusionDecision:
    return InclusionDecision(
        artifact=artifact.name, operation=inclusion.operation, reason=reason, versions=versions, role=inclusion.role
    )
