"""The prompts of a conversation beside each other: what each was filled with, and what has changed between two."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessageSwipe, PromptSnapshot, Run, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.prompt_preview import BlockView, block_view, largest_block, prompt_view
from tavernkit.playground.edge.presenting.sources import GROUPS, SourceGroup, slot_group
from tavernkit.playground.edge.presenting.traced_text import BarPart, bar
from tavernkit.playground.story.previews.comparisons import compare_runs
from tavernkit.playground.story.previews.explanations import read_explanation
from tavernkit.playground.story.previews.service import KeptPrompt, changed_blocks, read_prompt
from tavernkit.prompt.comparing import compare
from tavernkit.prompt.sources import Explanation
from tavernkit.values import Value

TURNS_SHOWN = 40
CHANGES_SHOWN = 100
LONGEST = 600
"""So much of a changed text is shown."""


class RunName(Value, frozen=True, kw_only=True):
    """A run with a kept prompt, and what it wrote."""

    run_id: UUID
    moment: datetime
    name: str


class TurnView(RunName, frozen=True, kw_only=True):
    """What the prompt of a run was filled with. `tokens` are by group, in the order
    of the legend; `trimmed` are those that did not fit, which `cut` draws behind the bar."""

    total: int
    trimmed: int
    tokens: Mapping[SourceGroup, int]
    bar: tuple[BarPart, ...]
    cut: BarPart | None
    is_shown: bool


class TimelineView(Value, frozen=True, kw_only=True):
    """The newest prompts of a conversation, the oldest of them first, all to one scale; `legend` are the groups that
    there are."""

    turns: tuple[TurnView, ...]
    legend: tuple[tuple[SourceGroup, str], ...]


async def timeline_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, shown: UUID | None = None
) -> TimelineView:
    """What has filled the context of each turn, and what was cut; for those who may see prompts."""
    turns = [
        _turn(await read_prompt(runtime, viewer, run.run_id), run, is_shown=run.run_id == shown)
        for run in await _runs(runtime, conversation_id)
    ]
    room = max((turn.total + turn.trimmed for turn in turns), default=0)
    used = {group for turn in turns for group, tokens in turn.tokens.items() if tokens}
    return TimelineView(
        turns=tuple(_to_scale(turn, room) for turn in turns),
        legend=tuple((group, label) for group, label in GROUPS.items() if group in used),
    )


async def _runs(runtime: Runtime, conversation_id: UUID) -> tuple[RunName, ...]:
    """The newest runs whose prompts were kept, the oldest of them first."""
    async with runtime.database.read() as session:
        rows = (
            await session.execute(
                select(Run.id, Run.created_at, SpaceMembership.cached_display_name)
                .join(PromptSnapshot, PromptSnapshot.run_id == Run.id)
                .join(SpaceMembership, SpaceMembership.id == Run.speaker_membership_id)
                .where(Run.conversation_id == conversation_id)
                .order_by(Run.created_at.desc(), Run.id)
                .limit(TURNS_SHOWN)
            )
        ).all()
        written = await _written_by(session, conversation_id, [row[0] for row in rows])
    return tuple(
        RunName(run_id=run_id, moment=moment, name=_name(speaker, written.get(run_id)))
        for run_id, moment, speaker in reversed(rows)
    )


async def _written_by(
    session: AsyncSession, conversation_id: UUID, run_ids: list[UUID]
) -> dict[UUID, tuple[int, int, int]]:
    """The message that each run wrote: its place in the conversation, which of its swipes, and how many there are."""
    rows = await session.execute(
        select(MessageSwipe.run_id, Message.seq, MessageSwipe.position, Message.swipes_count)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(MessageSwipe.run_id.in_(run_ids), Message.conversation_id == conversation_id)
    )
    return {run_id: (seq, position, count) for run_id, seq, position, count in rows if run_id is not None}


def _name(speaker: str, written: tuple[int, int, int] | None) -> str:
    name = shown_name(speaker)
    if written is None:
        return name
    seq, position, swipes = written
    if swipes < 2:
        return translated(_("Message {number}, {name}", number=str(seq), name=name))
    swipe = str(position + 1)
    return translated(_("Message {number}, swipe {swipe}, {name}", number=str(seq), swipe=swipe, name=name))


def _turn(prompt: KeptPrompt, run: RunName, *, is_shown: bool) -> TurnView:
    tokens: dict[SourceGroup, int] = dict.fromkeys(GROUPS, 0)
    for block in prompt.blocks:
        tokens[slot_group(block.slot, has_lore=bool(block.lore))] += block.tokens
    trimming = prompt_view(prompt).report.trimming
    return TurnView(
        **{name: getattr(run, name) for name in RunName.__struct_fields__},
        total=sum(tokens.values()),
        trimmed=0 if trimming is None else max(0, trimming.initial_tokens - trimming.final_tokens),
        tokens=tokens,
        bar=(),
        cut=None,
        is_shown=is_shown,
    )


def _to_scale(turn: TurnView, room: int) -> TurnView:
    cut = BarPart(group="template", at=_share(turn.total, room), width=_share(turn.trimmed, room))
    return turn.with_(bar=bar(turn.tokens, room), cut=cut if turn.trimmed else None)


def _share(tokens: int, room: int) -> float:
    return round(100 * tokens / max(room, 1), 2)


class CauseView(Value, frozen=True, kw_only=True):
    """Why something has changed, where it comes from, and the text before and after."""

    cause: str
    source: str
    removed: str
    added: str


class ChangesView(Value, frozen=True, kw_only=True):
    """What only one of two prompts has: that of the `other` run, which is one of `turns`, or the one that is shown.
    `causes` are the changes of the text by why they came about, `more` how many of them are not shown."""

    other: UUID | None
    turns: tuple[RunName, ...]
    causes: tuple[CauseView, ...] = ()
    more: int = 0
    changes: tuple[tuple[str, BlockView], ...] = ()
    same: int = 0


async def changes_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    prompt: KeptPrompt,
    explanation: Explanation,
    other: UUID | None,
) -> ChangesView:
    """The prompt compared with that of another run, which is the one before it where none is named."""
    turns = await _runs(runtime, conversation_id)
    earlier = [turn.run_id for turn in takewhile(lambda turn: turn.run_id != prompt.run_id, turns)]
    if other is None:
        other = earlier[-1] if earlier else None
    if other is None:
        return ChangesView(other=None, turns=turns)
    before = await read_prompt(runtime, viewer, other)
    changes = list(changed_blocks(before.blocks, prompt.blocks))
    largest = largest_block(prompt)
    compared = (
        compare(await read_explanation(runtime, viewer, other), explanation)
        if prompt.run_id is None
        else await compare_runs(runtime, viewer, other, prompt.run_id)
    ).changes
    return ChangesView(
        other=other,
        causes=tuple(
            CauseView(cause=one.cause, source=one.source, removed=one.removed[:LONGEST], added=one.added[:LONGEST])
            for one in compared[:CHANGES_SHOWN]
        ),
        more=max(0, len(compared) - CHANGES_SHOWN),
        turns=tuple(turn for turn in turns if turn.run_id != prompt.run_id),
        changes=tuple((one.change, block_view(one.block, largest)) for one in changes if one.change != "same"),
        same=sum(one.change == "same" for one in changes),
    )
