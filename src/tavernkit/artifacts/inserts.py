"""Blocks that artifacts put among the messages: where each belongs, and where it stands once the chat is trimmed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, TypeAlias

from tavernkit.artifacts.anchors import Anchor
from tavernkit.artifacts.candidate import InclusionReason, Prepared
from tavernkit.artifacts.inclusion import DepthPolicy, Phase, Place, PromptInclusion
from tavernkit.artifacts.sections import credit
from tavernkit.artifacts.timeline import Absent, At, Past, Timeline, tail_gap
from tavernkit.prompt.block import ARTIFACT, Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import FromArtifact
from tavernkit.prompt.tracing import traced

Spot: TypeAlias = At | Past | Literal["early", "tail"]
"""Beside a message, beside one that the build has not taken up, before all of them, or behind."""

_Rule: TypeAlias = tuple[Anchor | None, Place | None, DepthPolicy, Phase]
_Numbered: TypeAlias = tuple[int, Block]
_Made: TypeAlias = tuple[int, Block, Prepared]


@dataclass(slots=True)
class _Standing:
    """All that goes by one rule to one spot, as artifacts often share a rule; or the reason why nothing does.

    What was made has its place in the order of the artifacts, and the artifact itself.
    """

    inclusion: PromptInclusion
    spot: Spot
    is_after: bool
    refusal: InclusionReason | None = None
    made: list[_Made] = field(default_factory=list)


class Inserts:
    """What one build puts among its messages."""

    def __init__(self, ctx: Context, timeline: Timeline) -> None:
        self._ctx = ctx
        self._timeline = timeline
        self._standings: dict[_Rule, _Standing] = {}
        self._count = 0

    def add(self, item: Prepared) -> InclusionReason:
        """Make a block of an artifact and say what becomes of it. Artifacts come in their order."""
        inclusion = item.inclusion
        rule = (inclusion.anchor, inclusion.place, inclusion.depth_policy, inclusion.phase)
        standing = self._standings.get(rule)
        if standing is None:
            standing = self._standings[rule] = self._standing(inclusion)
        if standing.refusal is not None:
            return standing.refusal
        standing.made.append((self._count, self._block(item), item))
        self._count += 1
        return "placed"

    def woven(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks with these in their gaps."""
        return self._weave(
            blocks,
            (
                (standing.spot, standing.is_after, [(number, block) for number, block, _ in standing.made])
                for standing in self._standings.values()
            ),
        )

    def settled(
        self, blocks: list[Block], sent: Set[str], kept: Sequence[int]
    ) -> tuple[list[Block], list[tuple[Prepared, InclusionReason]]]:
        """The blocks after trimming, with what stood beside a message that is gone moved or disabled, and what has
        become of it. `sent` are the ids of all blocks that are sent, `kept` the places of their messages."""
        reasons: list[tuple[Prepared, InclusionReason]] = []
        places: list[tuple[Spot, bool]] = []
        silenced: set[str] = set()
        for standing in self._standings.values():
            spot, is_after, reason = self._settle(standing, kept)
            places.append((spot, is_after))
            if reason is not None:
                reasons += [(item, reason) for _, block, item in standing.made if block.id in sent]
            if reason == "anchor_trimmed":
                silenced.update(block.id for _, block, _ in standing.made)
        if not reasons:
            return blocks, reasons
        own = {block.id for standing in self._standings.values() for _, block, _ in standing.made}
        current = {block.id: block for block in blocks if block.id in own}
        rest = [block for block in blocks if block.id not in own]
        pieces = (
            (*place, self._left(standing, current, silenced))
            for place, standing in zip(places, self._standings.values(), strict=True)
        )
        return self._weave(rest, pieces), reasons

    def _standing(self, inclusion: PromptInclusion) -> _Standing:
        is_after, anchor = inclusion.place == "after", inclusion.anchor
        if anchor is None or anchor.is_end:
            spot: Spot = "early" if anchor is None and inclusion.phase == "early" else "tail"
            return _Standing(inclusion, spot, is_after)
        found = self._timeline.resolve(anchor)
        if isinstance(found, Absent):
            refusal: InclusionReason | None = None if anchor.selector == "after_last_user" else "anchor_not_found"
            return _Standing(inclusion, "tail", is_after, refusal)
        is_dropped = isinstance(found, Past) and inclusion.depth_policy == "strict_drop"
        return _Standing(inclusion, found, is_after, "anchor_trimmed" if is_dropped else None)

    def _block(self, item: Prepared) -> Block:
        role = item.inclusion.role or "developer"
        wording, text = self._ctx.wording, item.before
        if self._ctx.is_traced:
            text = traced(text, FromArtifact(artifact=item.source["artifact"], version=item.source["version"]))
        return Block(
            id=self._ctx.ids(),
            role=role,
            content=text if wording is None else wording(role, text),
            slot=ARTIFACT,
            removable=False,
            token_budget_group="artifacts",
            metadata=credit([item]),
        )

    def _settle(self, standing: _Standing, kept: Sequence[int]) -> tuple[Spot, bool, InclusionReason | None]:
        """Where a standing is in the end, and on which side; and if its message is gone, what that has meant for it."""
        inclusion, spot, is_after = standing.inclusion, standing.spot, standing.is_after
        if not standing.made or isinstance(spot, str) or (isinstance(spot, At) and spot.place in kept):
            return spot, is_after, None
        if inclusion.depth_policy == "clamp_to_oldest_kept" and kept:
            return At(place=kept[0]), False, "clamped"
        if inclusion.depth_policy == "relocate_to_nearest":
            role_filter = inclusion.anchor.role_filter if inclusion.anchor is not None else "any"
            place = self._timeline.nearest(spot, role_filter, kept)
            if place is not None:
                return At(place=place), is_after, "relocated"
        return spot, is_after, "anchor_trimmed"

    def _left(self, standing: _Standing, current: Mapping[str, Block], silenced: Set[str]) -> list[_Numbered]:
        """The blocks of a standing as they are after trimming, without those that somebody has removed."""
        # In one text its own line break depends on where it stands, so it starts again from how it was made.
        is_text = self._ctx.wording is not None
        left: list[_Numbered] = []
        for number, made, _ in standing.made:
            block = current.get(made.id)
            if block is not None:
                is_sent = block.enabled and block.id not in silenced
                standing_now = made if is_text else block
                left.append((number, standing_now if is_sent else standing_now.disable()))
        return left

    def _weave(self, blocks: Sequence[Block], pieces: Iterable[tuple[Spot, bool, list[_Numbered]]]) -> list[Block]:
        """Put the pieces into their gaps, and all that is in one gap into the order of the artifacts."""
        where = {block.id: place for place, block in enumerate(blocks)}
        is_text = self._ctx.wording is not None
        tail = tail_gap(blocks, is_continued=is_text and self._ctx.generation_type == "continue")
        gaps: dict[int, list[_Numbered]] = {}
        for spot, is_after, numbered in pieces:
            if numbered:
                gaps.setdefault(self._gap(spot, where, tail, is_after=is_after), []).extend(numbered)
        woven: list[Block] = []
        done = 0
        for gap in sorted(gaps):
            woven += blocks[done:gap]
            done = gap
            own = [block for _, block in sorted(gaps[gap], key=itemgetter(0))]
            if not is_text:
                woven += own
                continue
            for block in own:
                woven.append(_on_its_own_line(block, woven))
        return [*woven, *blocks[done:]]

    def _gap(self, spot: Spot, where: Mapping[str, int], tail: int, *, is_after: bool) -> int:
        if spot == "tail":
            return tail
        if isinstance(spot, At):
            place = where.get(self._timeline.edge(spot.place, is_after=is_after))
            if place is not None:
                return place + is_after
        first = self._timeline.first_block
        return tail if first is None else where.get(first, tail)


def _on_its_own_line(block: Block, before: Sequence[Block]) -> Block:
    """In one text the last line may have left its line break to what follows; then so does what is put behind it."""
    last = next((earlier.content for earlier in reversed(before) if earlier.enabled), "")
    if not last or last.endswith("\n") or not block.content.endswith("\n"):
        return block
    return block.with_(content="\n" + block.content.removesuffix("\n"))
