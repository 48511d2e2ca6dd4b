"""Which profile is chosen where, from the conversation outwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Character, Conversation, PipelineChoice, PipelineProfile, Space
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.pipelines.queries import choices_around, profiles_by_id
from tavernkit.values import Value

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
    choices = await choices_around(session, conversation, space, list(names))
    ids = {choice.profile_id for choice in choices if choice.profile_id is not None}
    return ProfileChoices(
        choices=tuple(choices),
        profiles=await profiles_by_id(session, ids) if ids else {},
        characters={row.id: row for row in rows},
        names=names,
    )
