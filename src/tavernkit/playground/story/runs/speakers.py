"""Who speaks next, and why: SillyTavern's ways of taking turns, for the members of a space."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Character
from tavernkit.playground.base.database import models
from tavernkit.playground.base.database.models import Conversation, Message, SpaceMembership, TextContent
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.access.access import active_members
from tavernkit.playground.story.prompting.cast import library_character
from tavernkit.playground.story.settings_schema.models import SpaceGroup
from tavernkit.sillytavern.groups import (
    GroupMember,
    GroupStrategy,
    StoryGroup,
    activate,
    mentions_in_any_script,
    read_talkativeness,
)
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import Value

STRATEGIES: Mapping[str, GroupStrategy] = {
    "manual": GroupStrategy.MANUAL,
    "natural": GroupStrategy.NATURAL,
    "list": GroupStrategy.LIST,
    "pooled": GroupStrategy.POOLED,
}
TURNS_LOOKED_AT = 200
"""How far back it matters who has spoken."""


class ChosenSpeakers(Value, frozen=True, kw_only=True):
    """Somebody who is to speak; `cause` is one word for programs, `reason` all there is to say about it."""

    member_id: UUID
    cause: str
    reason: dict[str, Any]


def can_speak(member: SpaceMembership | None, conversation_id: UUID) -> bool:
    """Whether a model may speak as this member unasked: a character that is not muted, a person whose copilot writes
    in this conversation."""
    if member is None or member.status != "active" or member.participation != "active":
        return False
    return member.kind == "character" or (member.copilot_remaining_steps > 0 and has_copilot(member, conversation_id))


def may_speak(member: SpaceMembership | None) -> bool:
    """Whether a person may write here, whatever else their role lets them do."""
    return member is not None and member.participation == "active"


def speaking_member(member: SpaceMembership | None) -> SpaceMembership:
    """The membership as which a person speaks, whatever else their role lets them do."""
    if member is None:
        raise Refused("forbidden", _("Only members can write here. Join the space first."))
    if member.participation == "active":
        return member
    if member.participation == "muted":
        raise Refused("forbidden", _("You are muted here. Set your participation to active to write."))
    raise Refused("forbidden", _("You are an observer here. Set your participation to active to write."))


def has_copilot(member: SpaceMembership, conversation_id: UUID) -> bool:
    """Whether a model writes for this person here: where they asked for it, or everywhere in the space."""
    return member.copilot_mode == "full" and member.copilot_conversation_id in (None, conversation_id)


def is_group(members: Sequence[SpaceMembership]) -> bool:
    """Whether there are several characters, muted ones too."""
    return sum(member.kind == "character" for member in members) > 1


async def choose_speakers(
    session: AsyncSession,
    conversation: Conversation,
    rules: SpaceGroup,
    *,
    seed: int,
    said: str | None,
    for_people: bool = True,
) -> list[ChosenSpeakers]:
    """The speakers of a round in their order; `said` is what a person has just said, None when nobody has.

    The same seed and the same story always give the same speakers. `for_people` lets also those speak for whom a model
    writes.
    """
    members = [
        member
        for member in await active_members(session, conversation.space_id)
        if can_speak(member, conversation.id) and (for_people or member.kind == "character")
    ]
    if not members:
        return []
    strategy = STRATEGIES[rules.reply_order]
    group = StoryGroup.of(*await _group_members(session, members, strategy)).with_(
        activation_strategy=strategy, allow_self_responses=rules.allow_self_responses
    )
    activation = activate(
        group,
        chat=await _turns(session, conversation.id, members, whole=strategy is GroupStrategy.POOLED),
        user_input=said or "",
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
        mentions=mentions_in_any_script,
    )
    return [
        ChosenSpeakers(
            member_id=UUID(avatar),
            cause=reason.cause,
            reason={
                **{name: value for name, value in msgspec.to_builtins(reason).items() if value is not None},
                "sentence": sentence,
            },
        )
        for avatar, reason, sentence in zip(
            activation.speakers, activation.reasons, activation.explain(group), strict=True
        )
    ]


async def _group_members(
    session: AsyncSession, members: Sequence[SpaceMembership], strategy: GroupStrategy
) -> list[GroupMember]:
    """The members as the library's group knows them; cards are read only where it matters how talkative they are."""
    unsaid = [member.character_id for member in members if member.talkativeness is None and member.character_id]
    by_card: dict[UUID | None, float] = {}
    if strategy is GroupStrategy.NATURAL and len(members) > 1 and unsaid:
        rows = await session.scalars(select(models.Character).where(models.Character.id.in_(unsaid)))
        by_card = {row.id: read_talkativeness(library_character(row).extensions) for row in rows}
    usual = read_talkativeness({})
    return [
        GroupMember(
            avatar=str(member.id),
            character=Character(name=member.cached_display_name),
            talkativeness=by_card.get(member.character_id, usual)
            if member.talkativeness is None
            else member.talkativeness,
        )
        for member in members
    ]


async def _turns(
    session: AsyncSession, conversation_id: UUID, members: Sequence[SpaceMembership], *, whole: bool
) -> list[ChatTurn]:
    """The last turns, or the last one alone. Whoever a model writes for takes turns as a character does."""
    spoken_for = {member.id for member in members if member.kind == "human"}
    rows = await session.execute(
        select(
            Message.seq, Message.role, Message.membership_id, SpaceMembership.cached_display_name, TextContent.content
        )
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .join(TextContent, TextContent.id == Message.text_id)
        .where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
        .order_by(Message.seq.desc())
        .limit(TURNS_LOOKED_AT if whole else 1)
    )
    turns = [
        ChatTurn(
            index=seq,
            text=content,
            name=name,
            is_user=role == "user" and author not in spoken_for,
            is_narrator=role == "system",
            original_avatar=str(author),
        )
        for seq, role, author, name, content in rows
    ]
    return turns[::-1]
