"""Reading profiles, and which of them is chosen where, from the conversation outwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import existing
from tavernkit.playground.story.access.access import active_members
from tavernkit.values import Value

PLACES_SHOWN = 500


class FollowedPlace(NamedTuple):
    """A place where a profile is followed, with what it is called there; `member` is who asks, in its space."""

    choice: PipelineChoice
    conversation: Conversation | None
    space: Space | None
    character: Character | None
    member: SpaceMembership | None


async def profile_for(
    session: AsyncSession, viewer: Viewer, profile_id: UUID, *, lock: bool = False
) -> PipelineProfile:
    """One of the person's own profiles, or one of everybody's."""
    query = select(PipelineProfile).where(PipelineProfile.id == profile_id, _visible(viewer))
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return existing(await session.scalar(query), _("profile"))


async def profiles_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[PipelineProfile]:
    """The profiles that the person can use, by name."""
    query = select(PipelineProfile).where(_visible(viewer))
    if behind is not None:
        query = query.where(tuple_(PipelineProfile.name, PipelineProfile.id) > behind)
    return list(await session.scalars(query.order_by(PipelineProfile.name, PipelineProfile.id).limit(limit)))


async def version_of(session: AsyncSession, profile: PipelineProfile) -> PipelineProfileVersion:
    """What the profile holds now."""
    return await session.get_one(PipelineProfileVersion, (profile.id, profile.settings_version))


async def is_name_taken(session: AsyncSession, owner_id: UUID | None, name: str) -> bool:
    """Whether the owner has a profile of this name."""
    found = await session.scalar(
        select(PipelineProfile.id)
        .where(PipelineProfile.owner_id == owner_id, PipelineProfile.name == name, PipelineProfile.trashed_at.is_(None))
        .limit(1)
    )
    return found is not None


async def choices_count(session: AsyncSession, profile_id: UUID) -> int:
    """At how many places the profile is followed."""
    query = (
        select(func.count())
        .select_from(PipelineChoice)
        .outerjoin(Conversation, Conversation.id == PipelineChoice.conversation_id)
        .outerjoin(Space, Space.id == func.coalesce(PipelineChoice.space_id, Conversation.space_id))
        .outerjoin(Character, Character.id == PipelineChoice.character_id)
        .where(PipelineChoice.profile_id == profile_id, *_is_here())
    )
    return (await session.execute(query)).scalar_one()


def _is_here() -> tuple[ColumnElement[bool], ...]:
    """True of places, joined with their choices, that are not in the trash."""
    return (
        or_(Space.id.is_(None), Space.status != "deleting"),
        or_(Conversation.id.is_(None), Conversation.status != "deleting"),
        or_(Character.id.is_(None), Character.status == "ready"),
    )


async def choice_at(session: AsyncSession, place: dict[str, UUID]) -> PipelineChoice | None:
    """What was chosen at a place, if anything was."""
    return await session.scalar(select(PipelineChoice).filter_by(**place))


async def followed_profile(
    session: AsyncSession, conversation_id: UUID, character_id: UUID | None
) -> tuple[PipelineProfile, PipelineProfileVersion] | None:
    """The profile that is followed in a conversation while a character speaks, as it is now: the nearest choice counts,
    also by saying that there is none."""
    space_id, owner_id = (
        await session.execute(
            select(Conversation.space_id, Space.owner_id)
            .join(Space, Space.id == Conversation.space_id)
            .where(Conversation.id == conversation_id)
        )
    ).one()
    # Compared with nobody, every choice that is not a character's would be like it.
    speaking = [] if character_id is None else [character_id]
    choices = await choices_around(session, conversation_id, space_id, owner_id, speaking)
    if not choices or choices[0].profile_id is None:
        return None
    profile = await session.get_one(PipelineProfile, choices[0].profile_id)
    return profile, await version_of(session, profile)


async def own_profiles_named(session: AsyncSession, viewer: Viewer, names: Collection[str]) -> list[PipelineProfile]:
    """The person's own profiles with these names."""
    query = select(PipelineProfile).where(
        PipelineProfile.owner_id == viewer.user_id,
        PipelineProfile.name.in_(names),
        PipelineProfile.trashed_at.is_(None),
    )
    return list(await session.scalars(query))


async def free_name(session: AsyncSession, owner_id: UUID | None, name: str) -> str:
    """The name, or the name with the first number behind it that makes it one that the owner does not use yet."""
    found, number = name, 1
    while await is_name_taken(session, owner_id, found):
        number += 1
        found = f"{name[:190]} {number}"
    return found


async def places_followed(session: AsyncSession, viewer: Viewer, profile_ids: Collection[UUID]) -> list[FollowedPlace]:
    """Where these profiles are followed, as far as those places are the person's own or they are a member there."""
    query = (
        select(PipelineChoice, Conversation, Space, Character, SpaceMembership)
        .outerjoin(Conversation, Conversation.id == PipelineChoice.conversation_id)
        .outerjoin(Space, Space.id == func.coalesce(PipelineChoice.space_id, Conversation.space_id))
        .outerjoin(Character, Character.id == PipelineChoice.character_id)
        .outerjoin(
            SpaceMembership,
            and_(
                SpaceMembership.space_id == Space.id,
                SpaceMembership.user_id == viewer.user_id,
                SpaceMembership.status == "active",
            ),
        )
        .where(
            PipelineChoice.profile_id.in_(profile_ids),
            or_(
                PipelineChoice.user_id == viewer.user_id,
                Character.owner_id == viewer.user_id,
                and_(Character.id.is_not(None), Character.owner_id.is_(None)),
                Space.owner_id == viewer.user_id,
                and_(
                    SpaceMembership.id.is_not(None),
                    or_(Conversation.id.is_(None), Conversation.visibility != "private"),
                ),
            ),
            *_is_here(),
        )
        .order_by(PipelineChoice.created_at, PipelineChoice.id)
        .limit(PLACES_SHOWN)
    )
    return [FollowedPlace(*row) for row in await session.execute(query)]


async def choices_around(
    session: AsyncSession, conversation_id: UUID, space_id: UUID, owner_id: UUID, character_ids: Collection[UUID]
) -> list[PipelineChoice]:
    """Everything that was chosen for a conversation or around it, the nearest first.

    What the owner of a character has chosen for it counts in their own spaces; where others use it, it does not.
    """
    own = select(Character.id).where(
        Character.id.in_(character_ids), or_(Character.owner_id.is_(None), Character.owner_id == owner_id)
    )
    found = await session.scalars(
        select(PipelineChoice).where(
            or_(
                PipelineChoice.conversation_id == conversation_id,
                PipelineChoice.character_id.in_(own),
                PipelineChoice.space_id == space_id,
                PipelineChoice.user_id == owner_id,
            )
        )
    )
    return sorted(found, key=lambda choice: PLACES.index(place_of(choice)))


async def profiles_by_id(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, PipelineProfile]:
    """These profiles, whoever has made them: who is in a conversation may know what is followed there."""
    found = await session.scalars(select(PipelineProfile).where(PipelineProfile.id.in_(ids)))
    return {profile.id: profile for profile in found}


def _visible(viewer: Viewer) -> ColumnElement[bool]:
    is_usable = or_(PipelineProfile.owner_id == viewer.user_id, PipelineProfile.owner_id.is_(None))
    return and_(is_usable, PipelineProfile.trashed_at.is_(None))


PlaceKind: TypeAlias = Literal["conversation", "character", "space", "everywhere"]


WIDER = "wider"


NONE = "none"
"""What a form says instead of a profile: let wider places decide, or follow none."""


PLACES: tuple[PlaceKind, ...] = ("conversation", "character", "space", "everywhere")
"""The nearest first."""


def mark_of(profile: PipelineProfile) -> str:
    """What a page compares, to know whether it shows the profile that was chosen as it is now."""
    return f"{profile.id}@{profile.settings_version}"


def place_of(choice: PipelineChoice) -> PlaceKind:
    ids = (choice.conversation_id, choice.character_id, choice.space_id, choice.user_id)
    return next(place for place, id in zip(PLACES, ids, strict=True) if id is not None)


class ProfileChoices(Value, frozen=True, kw_only=True):
    """Every choice around a conversation, the nearest first, with the characters that speak in it."""

    choices: tuple[PipelineChoice, ...]
    profiles: Mapping[UUID, PipelineProfile]
    characters: Mapping[UUID, Character]
    names: Mapping[UUID, str]

    def deciding(self, character_id: UUID | None, *, beyond: PlaceKind | None = None) -> PipelineChoice | None:
        """The choice that counts when a character speaks; `beyond` asks only places that are wider than that."""
        wider = PLACES if beyond is None else PLACES[PLACES.index(beyond) + 1 :]
        return next(
            (
                choice
                for choice in self.choices
                if place_of(choice) in wider and choice.character_id in (None, character_id)
            ),
            None,
        )

    def decisions(self) -> list[tuple[UUID | None, PipelineChoice | None]]:
        """The choice that counts for each who speaks; it is listed once, for nobody by name, if it is the same."""
        speakers: list[UUID | None] = [*self.names] or [None]
        decided = [(speaker, self.deciding(speaker)) for speaker in speakers]
        is_same = len({None if choice is None else choice.id for _, choice in decided}) == 1
        return [(None, decided[0][1])] if is_same else decided

    def name_of(self, choice: PipelineChoice | None) -> str:
        if choice is None or choice.profile_id is None:
            return ""
        return shown_name(self.profiles[choice.profile_id].name)


async def read_profile_choices(session: AsyncSession, conversation: Conversation, space: Space) -> ProfileChoices:
    """Everything that was chosen for a conversation or around it."""
    members = [member for member in await active_members(session, space.id) if member.character_id is not None]
    names = {member.character_id: shown_name(member.cached_display_name) for member in members if member.character_id}
    rows = await session.scalars(select(Character).where(Character.id.in_(names)))
    choices = await choices_around(session, conversation.id, space.id, space.owner_id, names)
    ids = {choice.profile_id for choice in choices if choice.profile_id is not None}
    return ProfileChoices(
        choices=tuple(choices),
        profiles=await profiles_by_id(session, ids) if ids else {},
        characters={row.id: row for row in rows},
        names=names,
    )
