"""Choosing where a profile is followed: in a conversation, with a character, in a space, in everything of a person's.

In a conversation its tags get their owners at once, and a tag that another pipeline has is refused. At wider places
that is done when a run begins, conversation by conversation: one of many must not stand in the way of all others.

A pipeline that was renamed inside its profile keeps its tags: they are handed over to the new id. A tag that a pipeline
of another profile has written stays that pipeline's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import Profile, reserve_tags
from tavernkit.errors import ArtifactPolicyError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import (
    ArtifactHead,
    Character,
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.realtime.bus import owner_topic, space_topic
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    conversation_for,
    lock_conversation,
    require_in_use,
    space_for,
)
from tavernkit.playground.story.artifacts.path import session_of
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore
from tavernkit.playground.story.pipelines.checking import profile_of, readable_part
from tavernkit.playground.story.pipelines.documents import Choose, ProfilePlace
from tavernkit.playground.story.pipelines.queries import NONE, WIDER, choice_at, mark_of, profile_for, version_of
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
    is_shared = row.owner_id is None
    where = _("a conversation") if is_shared else _("the conversation “{title}”", title=shown_name(rival.title))
    sentence = _(
        "Not saved: {conversation} uses this profile, and art.{tag} belongs to the pipeline “{owner}” there, so "
        "“{pipeline}” cannot write it. Give the artifact another tag.",
        conversation=where,
        tag=rival.tag,
        owner=rival.owner,
        pipeline=makers[rival.tag],
    )
    raise Refused("conflict", sentence)


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


async def announce_choice(session: AsyncSession, user_id: UUID, place: ProfilePlace, mark: str) -> None:
    """Say, once this is committed, what was chosen in a space, with a character, or in everything of a person's."""
    if place.space_id is not None:
        announce(session, space_topic(place.space_id), place="space", chosen=mark)
    elif place.character_id is not None:
        for space_id in await session.scalars(
            select(SpaceMembership.space_id)
            .where(SpaceMembership.character_id == place.character_id, SpaceMembership.status == "active")
            .distinct()
        ):
            announce(session, space_topic(space_id), place=f"character_{place.character_id}", chosen=mark)
    else:
        announce(session, owner_topic(user_id), place="everywhere", chosen=mark)


async def chosen_at(runtime: Runtime, viewer: Viewer, place: ProfilePlace) -> PipelineChoice | None:
    """What was chosen at a place; None where wider places decide."""
    async with runtime.database.read() as session:
        await require_may_choose(session, viewer, place, changing=False)
        return await choice_at(session, place_columns(viewer, place))


async def choose_profile(runtime: Runtime, viewer: Viewer, new: Choose) -> PipelineChoice:
    """Follow a profile at a place, or none."""
    async with runtime.database.write() as session:
        await require_may_choose(session, viewer, new, changing=True)
        # Under its lock: one that is just being deleted is not chosen.
        profile = None if new.profile_id is None else await profile_for(session, viewer, new.profile_id, lock=True)
        return await follow(session, runtime, viewer, new, profile)


async def follow(
    session: AsyncSession, runtime: Runtime, viewer: Viewer, place: ProfilePlace, profile: PipelineProfile | None
) -> PipelineChoice:
    """Follow a profile, or none, at a place whose lock is held by who may choose there."""
    columns = place_columns(viewer, place)
    before = await choice_at(session, columns)
    if place.conversation_id is None:
        await announce_choice(session, viewer.user_id, place, NONE if profile is None else mark_of(profile))
    else:
        await _switch(session, runtime, place.conversation_id, before, profile)
    chosen = None if profile is None else profile.id
    if before is not None:
        before.profile_id = chosen
        return before
    choice = PipelineChoice(id=runtime.ids(), profile_id=chosen, created_at=runtime.clock(), **columns)
    session.add(choice)
    return choice


async def forget_choice(runtime: Runtime, viewer: Viewer, place: ProfilePlace) -> None:
    """Let wider places decide again."""
    async with runtime.database.write() as session:
        await require_may_choose(session, viewer, place, changing=True)
        if place.conversation_id is None:
            await announce_choice(session, viewer.user_id, place, WIDER)
        else:
            before = await choice_at(session, place_columns(viewer, place))
            await _switch(session, runtime, place.conversation_id, before, None)
        await session.execute(delete(PipelineChoice).filter_by(**place_columns(viewer, place)))


async def reserve_profile(
    session: AsyncSession,
    ids: Callable[[], UUID],
    conversation_id: UUID,
    profile: Profile | None,
    *,
    instead_of: Profile | None = None,
) -> None:
    """Give the profile's tags to its pipelines in a conversation; it is refused if one is another's. What the profile
    before it has reserved and never written is given up."""
    place = await session_of(session, conversation_id)
    store = TransactionArtifactStore(session, ids=lambda: str(ids()))
    for pipeline in () if instead_of is None else instead_of.pipelines:
        await store.release(place, pipeline.id)
    if profile is None:
        return
    try:
        await _take(session, ids, conversation_id, profile, but_foreign=False)
    except ArtifactPolicyError as error:
        raise Refused("conflict", str(error)) from None


async def reserve_free_tags(
    session: AsyncSession, ids: Callable[[], UUID], conversation_id: UUID, profile: Profile
) -> None:
    """Give the profile's tags to its pipelines in a conversation, but for those that are another's: the steps that make
    them fail, and the reply goes on."""
    await _take(session, ids, conversation_id, profile, but_foreign=True)


async def _take(
    session: AsyncSession, ids: Callable[[], UUID], conversation_id: UUID, profile: Profile, *, but_foreign: bool
) -> None:
    place = await session_of(session, conversation_id)
    store = TransactionArtifactStore(session, ids=lambda: str(ids()))
    await lock_conversation(session, conversation_id)
    owners = await tag_owners(session, conversation_id, profile)
    await hand_over_tags(session, conversation_id, owners)
    skipped = owners.foreign if but_foreign else ()
    await reserve_tags(profile, place, store=store, ids=lambda: str(ids()), skipped=skipped)


async def _switch(
    session: AsyncSession,
    runtime: Runtime,
    conversation_id: UUID,
    before: PipelineChoice | None,
    chosen: PipelineProfile | None,
) -> None:
    former = None
    if before is not None and before.profile_id is not None:
        row = await session.get_one(PipelineProfile, before.profile_id)
        former = readable_part(row, (await version_of(session, row)).content)
    profile = None if chosen is None else profile_of(chosen, (await version_of(session, chosen)).content)
    await reserve_profile(session, runtime.ids, conversation_id, profile, instead_of=former)
    await append_event(session, conversation_id, "pipelines", runtime.clock())


async def require_may_choose(session: AsyncSession, viewer: Viewer, place: ProfilePlace, *, changing: bool) -> None:
    """Refuse who may not see or decide what is followed there; who changes it holds the lock of the place."""
    if place.conversation_id is not None:
        needs = Access.MODERATE if changing else Access.READ
        conversation, _access = await conversation_for(session, place.conversation_id, viewer, needs, lock=changing)
        if changing:
            require_in_use(conversation)
        return
    if place.space_id is not None:
        needs = Access.ADMINISTER if changing else Access.READ
        await space_for(session, place.space_id, viewer, needs, lock=changing)
        return
    if place.character_id is None:
        own = select(User.id).where(User.id == viewer.user_id)
        await session.execute(own.with_for_update(key_share=True) if changing else own)
        return
    query = select(Character).where(Character.id == place.character_id, Character.status == "ready")
    character: Character | None = await session.scalar(query.with_for_update(key_share=True) if changing else query)
    if character is None or character.owner_id not in (None, viewer.user_id):
        raise not_found(_("character"))
    if character.owner_id is None and changing and not viewer.is_administrator:
        raise Refused("forbidden", _("This character is shared. Only administrators can change it."))


def place_columns(viewer: Viewer, place: ProfilePlace) -> dict[str, UUID]:
    """The column that says where a choice counts, with its value."""
    return place.named() or {"user_id": viewer.user_id}
