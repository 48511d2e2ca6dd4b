"""Putting artifacts into a prompt: anchors are resolved against the chat as it was said, then everything is applied
once, and what stands beside a message that was trimmed is settled when trimming is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from tavernkit.artifacts.anchors import Anchor, RoleFilter
from tavernkit.artifacts.candidate import Candidate, Prepared, prepare
from tavernkit.artifacts.decisions import INCLUDED, Decision, InclusionReport, Reason
from tavernkit.artifacts.inclusion import PromptInclusion
from tavernkit.artifacts.sections import SystemPrompt, changed, credit, merged_json, wrapped
from tavernkit.artifacts.timeline import Absent, At, Found, Past, Timeline, resolve, tail_gap
from tavernkit.hooks import BuildHook
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.values import Value

__all__ = ["include_artifacts"]

REPORT = "artifacts"
"""Where a plan's metadata has the report."""

_WARNED: dict[Reason, str] = {
    "anchor_not_found": "there is no such message in the chat",
    "section_not_found": "the system prompt has no section of that name",
    "merge_type_error": "only JSON objects can be merged",
    "not_text": "the text of that message cannot be changed",
}


class _Clamped(Value, frozen=True, kw_only=True):
    """Before a message, whatever side the artifact asked for."""

    place: int


Spot: TypeAlias = At | Past | _Clamped | Literal["early", "tail"]


@dataclass(slots=True)
class _Insert:
    """A block that stands among the messages; `block` is as it was made."""

    item: Prepared
    block: Block
    spot: Spot


def include_artifacts(candidates: Iterable[Candidate]) -> BuildHook:
    """A hook for `after_build` that puts artifacts into any platform's prompt, paid for before the chat is trimmed.

    The plan's `metadata["artifacts"]` is an InclusionReport. The chat itself is never changed.
    """
    chosen = tuple(candidates)

    def include(ctx: Context) -> None:
        _Placing(ctx).place(chosen)

    return include


class _Placing:
    """One build's artifacts on their way into its blocks."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._timeline = Timeline(ctx.blocks)
        self._items: list[Prepared] = []
        self._reasons: dict[int, Reason] = {}
        self._unseen: list[Decision] = []
        self._inserts: list[_Insert] = []
        self._changed: list[tuple[Prepared, int]] = []
        self._found: dict[Anchor, Found] = {}
        self._nearest: dict[tuple[At | Past, RoleFilter], int | None] = {}

    def place(self, candidates: Sequence[Candidate]) -> None:
        ctx = self._ctx
        speaking = self._prepare(candidates)
        system = SystemPrompt(
            list(ctx.blocks),
            ids=ctx.ids,
            is_text=ctx.wording is not None,
            first_message=self._timeline.first_block,
        )
        system.apply([item for item in speaking if item.inclusion.target == "system"], self._report)
        blocks = self._change_messages(system.blocks, speaking)
        for item in speaking:
            if item.inclusion.operation == "insert" and item.inclusion.target != "system":
                self._insert(item)
        ctx.blocks = self._weave(blocks, [(insert, insert.spot, insert.block) for insert in self._inserts])
        self._tell()
        ctx.after_trimming.append(self._settle)

    def _prepare(self, candidates: Sequence[Candidate]) -> list[Prepared]:
        """Word them all and put them in order; those that have something to say."""
        for candidate in candidates:
            item = prepare(candidate)
            if item is not None:
                self._items.append(item)
            elif candidate.artifact.inclusion is not None:
                self._unseen.append(_unseen(candidate, candidate.artifact.inclusion))
        self._items.sort(key=attrgetter("key"))
        speaking = []
        for item in self._items:
            if item.is_blank:
                self._report(item, "empty")
            else:
                speaking.append(item)
        return speaking

    def _report(self, item: Prepared, reason: Reason) -> None:
        self._reasons[id(item)] = reason

    def _reason(self, item: Prepared) -> Reason:
        return self._reasons[id(item)]

    def _change_messages(self, blocks: list[Block], items: Sequence[Prepared]) -> list[Block]:
        """Replace, merge into and wrap single messages, in this order."""
        at: dict[int, list[Prepared]] = {}
        for item in items:
            anchor = item.inclusion.anchor
            if item.inclusion.operation == "insert" or item.inclusion.target != "message_ref" or anchor is None:
                continue
            match self._resolve(anchor):
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
            self._changed.extend((item, place) for item in changing if self._reason(item) == "placed")
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

    def _insert(self, item: Prepared) -> None:
        spot = self._spot(item.inclusion)
        if isinstance(spot, Absent):
            self._report(item, "anchor_not_found")
        elif isinstance(spot, Past) and item.inclusion.depth_policy == "strict_drop":
            self._report(item, "anchor_trimmed")
        else:
            self._report(item, "placed")
            self._inserts.append(_Insert(item=item, block=self._block(item), spot=spot))

    def _spot(self, inclusion: PromptInclusion) -> Spot | Absent:
        anchor = inclusion.anchor
        if anchor is None:
            return "early" if inclusion.phase == "early" else "tail"
        if anchor.is_end:
            return "tail"
        found = self._resolve(anchor)
        if isinstance(found, Absent) and anchor.selector == "after_last_user":
            return "tail"
        return found

    def _resolve(self, anchor: Anchor) -> Found:
        """Many artifacts share an anchor, and the chat does not change."""
        found = self._found.get(anchor)
        if found is None:
            found = self._found[anchor] = resolve(anchor, self._timeline, self._ctx.history)
        return found

    def _block(self, item: Prepared) -> Block:
        role = item.inclusion.role or "developer"
        wording = self._ctx.wording
        return Block(
            id=self._ctx.ids(),
            role=role,
            content=item.before if wording is None else wording(role, item.before),
            slot="artifact",
            removable=False,
            token_budget_group="artifacts",
            metadata=credit([item]),
        )

    def _weave(self, blocks: Sequence[Block], inserts: Sequence[tuple[_Insert, Spot, Block]]) -> list[Block]:
        """Put each insert into its gap, in the order of the artifacts."""
        if not inserts:
            return list(blocks)
        where = {block.id: place for place, block in enumerate(blocks)}
        is_text = self._ctx.wording is not None
        tail = tail_gap(blocks, is_continued=is_text and self._ctx.generation_type == "continue")
        gaps: dict[int, list[Block]] = {}
        for insert, spot, block in inserts:
            gaps.setdefault(self._gap(spot, insert.item, where, tail), []).append(block)
        woven: list[Block] = []
        done = 0
        for gap in sorted(gaps):
            woven += blocks[done:gap]
            done = gap
            for block in gaps[gap]:
                woven.append(block if self._ctx.wording is None else _on_its_own_line(block, woven))
        return [*woven, *blocks[done:]]

    def _gap(self, spot: Spot, item: Prepared, where: Mapping[str, int], tail: int) -> int:
        match spot:
            case "tail":
                return tail
            case At(place=beside):
                is_after = item.inclusion.place == "after"
                place = where.get(self._timeline.edge(beside, is_after=is_after))
                if place is not None:
                    return place + is_after
            case _Clamped(place=beside):
                place = where.get(self._timeline.edge(beside, is_after=False))
                if place is not None:
                    return place
        first = self._timeline.first_block
        return where.get(first, tail) if first is not None else tail

    def _settle(self, ctx: Context) -> None:
        """Trimming is done: see to what stands beside a message that is gone."""
        kept = self._timeline.kept(ctx.blocks)
        oldest = _Clamped(place=min(kept)) if kept else None
        own = {insert.block.id for insert in self._inserts}
        by_id = {block.id: block for block in ctx.blocks if block.id in own}
        for item, place in self._changed:
            if place not in kept:
                self._report(item, "anchor_trimmed")
        woven: list[tuple[_Insert, Spot, Block]] = []
        is_moved = False
        for insert in self._inserts:
            block = by_id.get(insert.block.id)
            if block is None:
                continue
            spot, is_sent = self._settled(insert, kept, oldest) if block.enabled else (insert.spot, False)
            is_moved = is_moved or spot != insert.spot or is_sent != block.enabled
            # In one text its own line break depends on where it stands, so it starts again from how it was made.
            standing = block if ctx.wording is None else insert.block
            woven.append((insert, spot, standing if is_sent else standing.disable()))
        if is_moved:
            ctx.blocks = self._weave([block for block in ctx.blocks if block.id not in own], woven)
        self._report_missing(ctx.blocks)
        self._write_report(ctx)

    def _report_missing(self, blocks: Iterable[Block]) -> None:
        """What stood in the prompt and is no longer told, because there was no room or another hook took it out."""
        crediting = [block for block in blocks if "artifacts" in block.metadata]
        told = {source["id"] for block in crediting if block.enabled for source in block.metadata["artifacts"]}
        missing = [
            item for item in self._items if item.source["id"] not in told and self._reasons[id(item)] in INCLUDED
        ]
        if not missing:
            return
        known = {source["id"] for block in crediting for source in block.metadata["artifacts"]}
        for item in missing:
            self._report(item, "over_budget" if item.source["id"] in known else "taken_out")

    def _settled(self, insert: _Insert, kept: Set[int], oldest: _Clamped | None) -> tuple[Spot, bool]:
        """Where an insert stands in the end, and whether it is sent at all."""
        inclusion, spot = insert.item.inclusion, insert.spot
        match spot:
            case Past():
                pass
            case At(place=place) if place not in kept:
                pass
            case _:
                return spot, True
        if inclusion.depth_policy == "clamp_to_oldest_kept" and oldest is not None:
            self._report(insert.item, "clamped")
            return oldest, True
        role_filter = inclusion.anchor.role_filter if inclusion.anchor is not None else "any"
        nearest = self._nearest_to(spot, role_filter, kept) if inclusion.depth_policy == "relocate_to_nearest" else None
        if nearest is not None:
            self._report(insert.item, "relocated")
            return At(place=nearest), True
        self._report(insert.item, "anchor_trimmed")
        return spot, False

    def _nearest_to(self, spot: At | Past, role_filter: RoleFilter, kept: Set[int]) -> int | None:
        key = (spot, role_filter)
        if key not in self._nearest:
            matching = [place for place in self._timeline.matching(role_filter) if place in kept]
            self._nearest[key] = self._timeline.nearest(spot, matching) if matching else None
        return self._nearest[key]

    def _tell(self) -> None:
        for item in self._items:
            reason = self._reason(item)
            if reason in _WARNED:
                self._ctx.warn(
                    "artifact_left_out",
                    f"{item.artifact.name} is not in the prompt: {_WARNED[reason]}.",
                    artifact=item.artifact.name,
                    reason=reason,
                )
            if not item.reaches_back:
                self._ctx.warn(
                    "artifact_window",
                    f"{item.artifact.name} is to be told with its last {item.inclusion.versions.n} versions, but only "
                    f"{item.artifact.retention.max_versions} are kept. Keep more, or tell fewer.",
                    artifact=item.artifact.name,
                )

    def _write_report(self, ctx: Context) -> None:
        known = ctx.get(REPORT)
        earlier = known.decisions if isinstance(known, InclusionReport) else ()
        decisions = (_decision(item, self._reason(item)) for item in self._items)
        unseen = sorted(self._unseen, key=lambda decision: decision.artifact)
        ctx[REPORT] = InclusionReport(decisions=(*earlier, *decisions, *unseen))


def _words(block: Block, *, is_text: bool) -> str | None:
    """What a message says, without what is written around it; None if it says nothing that can be changed."""
    if block.message_metadata.get("tool_calls"):
        return None
    if not is_text:
        return block.content
    words = block.metadata.get("said")
    return words if isinstance(words, str) and words and words in block.content else None


def _on_its_own_line(block: Block, before: Sequence[Block]) -> Block:
    """In one text the last line may have left its line break to what follows; then so does what is put behind it."""
    last = next((earlier.content for earlier in reversed(before) if earlier.enabled), "")
    if not last or last.endswith("\n") or not block.content.endswith("\n"):
        return block
    return block.with_(content="\n" + block.content.removesuffix("\n"))


def _unseen(candidate: Candidate, inclusion: PromptInclusion) -> Decision:
    return Decision(
        artifact=candidate.artifact.name,
        operation=inclusion.operation,
        reason="not_visible" if candidate.versions else "empty",
        role=inclusion.role,
    )


def _decision(item: Prepared, reason: Reason) -> Decision:
    return Decision(
        artifact=item.artifact.name,
        operation=item.inclusion.operation,
        reason=reason,
        versions=item.versions,
        role=item.inclusion.role,
    )
