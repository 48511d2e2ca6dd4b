"""Whose a tag is in a conversation, when a profile that makes it is saved, chosen or followed.

A pipeline that was renamed inside its profile keeps its tags: they are handed over to the new id. A tag that a pipeline
of another profile has written stays that pipeline's.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import Profile
from tavernkit.playground.base.database.models import (
    ArtifactHead,
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
)
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.pipelines.reading import readable_part
from tavernkit.values import Value


class TagOwners(Value, frozen=True, kw_only=True):
    """The tags of a profile that have another owner in a conversation: `renamed` have the id that their pipeline had in
    an earlier version, and get the id that it has now; `foreign` have the pipeline of another profile."""

    renamed: Mapping[str, str]
    foreign: Mapping[str, str]


async def tag_owners(session: AsyncSession, conversation_id: UUID, profile: Profile) -> TagOwners:
    """Which tags of the profile are not its pipelines' yet."""
    makers = {claim.tag: claim.pipeline for claim in profile.claims()}
    rows = await session.execute(
        select(ArtifactHead.tag, ArtifactHead.owner).where(
            ArtifactHead.conversation_id == conversation_id, ArtifactHead.tag.in_(makers)
        )
    )
    others = {row.tag: row.owner for row in rows if row.owner != makers[row.tag]}
    former = await _former_makers(session, UUID(profile.id)) if others else frozenset()
    renamed = {tag for tag, owner in others.items() if (tag, owner) in former}
    return TagOwners(
        renamed={tag: makers[tag] for tag in renamed},
        foreign={tag: owner for tag, owner in others.items() if tag not in renamed},
    )


async def hand_over_tags(session: AsyncSession, conversation_id: UUID, owners: TagOwners) -> None:
    """Give renamed pipelines what they have made, in a conversation whose lock is held."""
    for tag, pipeline in owners.renamed.items():
        await session.execute(
            update(ArtifactHead).filter_by(conversation_id=conversation_id, tag=tag).values(owner=pipeline),
            execution_options={"synchronize_session": False},
        )


async def require_free_tags(session: AsyncSession, row: PipelineProfile, profile: Profile) -> None:
    """Refuse a profile of which, in a chat that follows it, a tag is another pipeline's."""
    makers = {claim.tag: claim.pipeline for claim in profile.claims()}
    heads = await session.execute(
        select(ArtifactHead.tag, ArtifactHead.owner, Conversation.title)
        .join(Conversation, Conversation.id == ArtifactHead.conversation_id)
        .join(PipelineChoice, PipelineChoice.conversation_id == Conversation.id)
        .where(PipelineChoice.profile_id == row.id, ArtifactHead.tag.in_(makers))
        .order_by(ArtifactHead.tag, Conversation.id)
    )
    others = [head for head in heads if head.owner != makers[head.tag]]
    former = await _former_makers(session, row.id) if others else frozenset()
    rival = next((head for head in others if (head.tag, head.owner) not in former), None)
    if rival is None:
        return
    # A profile of everybody's is followed in chats that are not for everybody.
    where = "a chat" if row.owner_id is None else f"the chat “{shown_name(rival.title)}”"
    sentence = (
        f"It was not saved: {where} follows this profile, and art.{rival.tag} belongs to the pipeline {rival.owner!r} "
        f"there; {makers[rival.tag]!r} cannot write it. Give the artifact another tag."
    )
    raise Refused(code="conflict", sentence=sentence)


async def _former_makers(session: AsyncSession, profile_id: UUID) -> frozenset[tuple[str, str]]:
    """Every tag with every pipeline that has made it, in all versions of a profile."""
    rows = await session.execute(
        select(PipelineProfile, PipelineProfileVersion.content)
        .join(PipelineProfileVersion, PipelineProfileVersion.profile_id == PipelineProfile.id)
        .where(PipelineProfile.id == profile_id)
    )
    return frozenset(
        (claim.tag, claim.pipeline) for row, content in rows for claim in readable_part(row, content).claims()
    )
