"""Reading runs and rounds, and how much a space may use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.daily_limits import limits_of
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Persona,
    Round,
    RoundSlot,
    Run,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, is_their_persona
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.playground.story.usage.limits import OverLimitError, check_day
from tavernkit.values import Value


async def active_round(session: AsyncSession, conversation_id: UUID) -> Round | None:
    """The round that goes on."""
    return await session.scalar(select(Round).where(Round.conversation_id == conversation_id, Round.status == "active"))


async def has_turns_behind(session: AsyncSession, run: Run) -> bool:
    """Whether the round of a run goes on, and others are to speak in it behind the turn that it is."""
    if run.round_id is None:
        return False
    behind = exists().where(
        Round.id == run.round_id,
        Round.status == "active",
        RoundSlot.round_id == Round.id,
        RoundSlot.status == "pending",
        RoundSlot.position > Round.current_position,
    )
    return bool(await session.scalar(select(behind)))


async def active_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The run that is running, else the one that waits."""
    return await session.scalar(
        select(Run)
        .where(Run.conversation_id == conversation_id, Run.status.in_(("queued", "running")))
        .order_by(Run.status.desc())
        .limit(1)
    )


async def queued_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The run that waits."""
    return await session.scalar(select(Run).where(Run.conversation_id == conversation_id, Run.status == "queued"))


async def last_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The newest run, whatever became of it."""
    return await session.scalar(
        select(Run).where(Run.conversation_id == conversation_id).order_by(Run.created_at.desc(), Run.id).limit(1)
    )


async def pictured_speaker(session: AsyncSession, run: Run) -> tuple[SpaceMembership, str | None]:
    """Who speaks in a run, and the SHA-256 of their picture, the same as beside their messages."""
    row = await session.execute(
        select(SpaceMembership, func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256))
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Persona, is_their_persona())
        .where(SpaceMembership.id == run.speaker_membership_id)
    )
    member, picture = row.one()
    return member, picture


class ShownRound(Value, frozen=True, kw_only=True):
    """A round with its turns, and the name of whose turn each is."""

    round: Round
    slots: Sequence[tuple[RoundSlot, str]]


class Turns(Value, frozen=True, kw_only=True):
    """What goes on in a conversation: the round, the run, and what goes on by itself.

    Where nobody writes, the run is the one that was cut short, until somebody has decided about it.
    """

    conversation: Conversation
    run: Run | None
    round: ShownRound | None


async def run_for(
    session: AsyncSession, run_id: UUID, viewer: Viewer, needs: Access, *, lock: bool = False
) -> tuple[Run, Conversation]:
    """The run with its conversation, which is locked if asked for, if this person may do with it what they want to."""
    conversation_id = existing(await session.scalar(select(Run.conversation_id).where(Run.id == run_id)), _("run"))
    try:
        conversation, _access = await conversation_for(session, conversation_id, viewer, needs, lock=lock)
    except Refused as refused:
        raise not_found(_("run")) if refused.code == "not_found" else refused from None
    return existing(await session.scalar(select(Run).where(Run.id == run_id)), _("run")), conversation


async def read_run(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Run:
    """One run."""
    async with runtime.database.read() as session:
        run, _conversation = await run_for(session, run_id, viewer, Access.READ)
        return run


async def list_runs(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[Run]:
    """The runs of a conversation, the newest first."""
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        query = (
            select(Run)
            .where(Run.conversation_id == conversation_id)
            .order_by(Run.created_at.desc(), Run.id)
            .limit(limit)
        )
        if after is not None:
            time, id = after
            query = query.where(or_(Run.created_at < time, and_(Run.created_at == time, Run.id > id)))
        return list(await session.scalars(query))


async def read_turns(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """What goes on in a conversation."""
    async with runtime.database.read() as session:
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.READ)
        return await shown_turns(session, conversation)


async def shown_turns(session: AsyncSession, conversation: Conversation) -> Turns:
    """What goes on in a conversation that somebody may see."""
    round, run = await active_round(session, conversation.id), await active_run(session, conversation.id)
    last = await last_run(session, conversation.id) if run is None else None
    return Turns(
        conversation=conversation,
        run=last if last is not None and not last.dismissed else run,
        round=None if round is None else ShownRound(round=round, slots=await _slots(session, round)),
    )


async def _slots(session: AsyncSession, round: Round) -> list[tuple[RoundSlot, str]]:
    rows = await session.execute(
        select(RoundSlot, SpaceMembership.cached_display_name)
        .join(SpaceMembership, SpaceMembership.id == RoundSlot.membership_id)
        .where(RoundSlot.round_id == round.id)
        .order_by(RoundSlot.position)
    )
    return [(slot, name) for slot, name in rows]


async def check_tokens(session: AsyncSession, conversation_id: UUID, now: datetime) -> None:
    """Raise OverLimitError when the conversation's space has used up its tokens, or its owner what a day allows."""
    space = (
        await session.scalars(
            select(Space)
            .join(Conversation, Conversation.space_id == Space.id)
            .where(Conversation.id == conversation_id)
        )
    ).one()
    limit = effective(space).settings.space.token_limit
    used = space.prompt_tokens_total + space.completion_tokens_total
    if 0 < limit <= used:
        raise OverLimitError(
            _("This space has used {used} of {limit} tokens. Raise the limit in its settings.", used=used, limit=limit)
        )
    daily = await limits_of(session, space.owner_id)
    if daily.tokens or daily.cost:
        await check_day(session, space.owner_id, daily, now)
