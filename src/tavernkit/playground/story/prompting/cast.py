"""Who takes part in a prompt: the character that speaks, the others, and the person they speak with; and by which
platform's rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Character, User, characters
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database import models
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.access.access import is_usable_in, member_persona, story_user
from tavernkit.playground.story.access.personas import character_key, members_with_locks
from tavernkit.playground.story.settings_schema.models import PlatformChoice, StorySettings
from tavernkit.sillytavern import PersonaPlace, PersonaPosition
from tavernkit.sillytavern.extension_prompts import ExtensionRole
from tavernkit.sillytavern.groups import CardMode, GroupMember, StoryGroup
from tavernkit.values import Value

Platform: TypeAlias = Literal["sillytavern", "risuai"]


def platform_for(choice: PlatformChoice, character: Character) -> Platform:
    """As the settings say; else RisuAI's for a card that comes from there."""
    if choice != "auto":
        return choice
    # RisuAI leaves a part of its own in every card that it writes.
    own = character.extensions.get("risuai")
    return "risuai" if isinstance(own, dict) and own else "sillytavern"


class UnpromptableError(TavernKitError):
    """Something that a prompt cannot do without is gone; the message is a sentence for the user, with what to do."""


def library_character(row: models.Character) -> Character:
    """The stored card as the library knows it."""
    return characters.read_card(row.data)[0].character


NOBODY = User(name="User")

_CARD_MODES = {"swap": CardMode.SWAP, "append": CardMode.APPEND, "append_disabled": CardMode.APPEND_DISABLED}
_POSITIONS = {
    "in_prompt": PersonaPosition.IN_PROMPT,
    "top_of_note": PersonaPosition.TOP_OF_NOTE,
    "bottom_of_note": PersonaPosition.BOTTOM_OF_NOTE,
    "at_depth": PersonaPosition.AT_DEPTH,
    "none": PersonaPosition.NONE,
}
_ROLES: Mapping[str, ExtensionRole] = {"system": "system", "user": "user", "assistant": "assistant"}


class PromptCast(Value, frozen=True, kw_only=True):
    """`voice` is the membership whose character the prompt is about: the speaker, or, when a person is spoken for, the
    character that they talk to. `group` is there when several characters are. Lore is limited to characters by the name
    of their `file` and their `tags`: those of the card, the owner's, and the ids of these in SillyTavern. `ids` are
    those of the characters by their names, as far as these differ; `missing` says in sentences which cards are left out
    because they are not shared with the space."""

    voice: models.SpaceMembership
    character: Character
    file: str = ""
    tags: tuple[str, ...] = ()
    user: User
    ids: Mapping[str, UUID] = {}
    missing: tuple[str, ...] = ()
    person: models.SpaceMembership | None = None
    persona_id: UUID | None = None
    persona: PersonaPlace = PersonaPlace()
    group: StoryGroup | None = None

    @property
    def avatar(self) -> str:
        """The name under which the group knows the voice."""
        return _avatar(self.voice)


async def load_cast(
    session: AsyncSession,
    conversation: models.Conversation,
    speaker: models.SpaceMembership,
    settings: StorySettings,
) -> PromptCast:
    """Everybody whom a prompt for what `speaker` says next tells of."""
    here = await members_with_locks(session, conversation)
    members = [member for member, _persona in here]
    characters = [member for member in members if member.kind == "character"]
    if speaker.kind == "character" and speaker.id not in {member.id for member in characters}:
        # It was removed a moment ago, and still finishes what it was asked for.
        characters.append(speaker)
    voice = speaker if speaker.kind == "character" else await _partner(session, conversation.id, characters)
    space = await session.get_one(models.Space, conversation.space_id)
    rows, unshared = await _rows(session, space, characters)
    cards = _cards(rows, characters)
    if voice is not None and voice.character_id in unshared:
        sentence = _(
            "{name} is no longer shared with this space. Ask the owner to share the character again, or remove it.",
            name=voice.cached_display_name,
        )
        raise UnpromptableError(sentence)
    if voice is None or voice.id not in cards:
        raise UnpromptableError(_("The character was deleted. Add a character to the space and retry."))
    person = person_of(members, speaker)
    user, persona = NOBODY, None
    if person is not None:
        persona = next((persona for member, persona in here if member.id == person.id), None)
        if persona is not None:
            user = User(name=persona.name, persona=persona.description)
        else:
            user = await story_user(session, person)
            # It has been read for the person's description already.
            persona = await member_persona(session, person)
    return PromptCast(
        voice=voice,
        character=cards[voice.id],
        file=_file(rows[voice.character_id]),
        tags=(*cards[voice.id].tags, *_own_tags(rows[voice.character_id])),
        user=user,
        ids=_ids([member for member in characters if member.id in cards]),
        missing=tuple(
            _("{name} is no longer shared with this space. The card was left out.", name=member.cached_display_name)
            for member in characters
            if member.character_id in unshared
        ),
        person=person,
        persona_id=None if persona is None else persona.id,
        persona=PersonaPlace() if persona is None else _place(persona),
        group=_group([member for member in characters if member.id in cards], cards, settings),
    )


def person_of(
    members: Sequence[models.SpaceMembership], speaker: models.SpaceMembership | None = None
) -> models.SpaceMembership | None:
    """The person in the story: who is spoken for, else the first who writes themselves, else the first."""
    if speaker is not None and speaker.kind == "human":
        return speaker
    people = [member for member in members if member.kind == "human"]
    return next((member for member in people if member.copilot_mode == "none"), people[0] if people else None)


async def _partner(
    session: AsyncSession, conversation_id: UUID, characters: Sequence[models.SpaceMembership]
) -> models.SpaceMembership | None:
    """The character who spoke last and is still there, else the first."""
    spoke = await session.scalar(
        select(models.Message.membership_id)
        .where(
            models.Message.conversation_id == conversation_id,
            models.Message.role == "assistant",
            models.Message.visibility == "normal",
            models.Message.membership_id.in_([member.id for member in characters]),
        )
        .order_by(models.Message.seq.desc())
        .limit(1)
    )
    return next((member for member in characters if member.id == spoke), characters[0] if characters else None)


async def _rows(
    session: AsyncSession, space: models.Space, members: Sequence[models.SpaceMembership]
) -> tuple[dict[UUID | None, models.Character], set[UUID]]:
    """The characters of the members that the space may use; and the ids of those that it may not use any more."""
    found = (
        await session.execute(
            select(models.Character, is_usable_in(models.Character, space)).where(
                models.Character.id.in_([member.character_id for member in members]),
                models.Character.status == "ready",
            )
        )
    ).all()
    return {row.id: row for row, is_allowed in found if is_allowed}, {
        row.id for row, is_allowed in found if not is_allowed
    }


def _file(row: models.Character) -> str:
    """What SillyTavern calls the file of a card, without its ending; of one that was made here, what it would be."""
    return PurePath(str(row.file.get("avatar") or character_key(row.name))).stem


def _own_tags(row: models.Character) -> tuple[str, ...]:
    ids = row.file.get("tags", {})
    return (*row.own_tags, *(id for id, name in ids.items() if name in row.own_tags))


def _cards(
    rows: Mapping[UUID | None, models.Character], members: Sequence[models.SpaceMembership]
) -> dict[UUID, Character]:
    """The card of each member that has one, under the name that the member has here."""
    return {
        member.id: library_character(rows[member.character_id]).with_(name=member.cached_display_name)
        for member in members
        if member.character_id in rows
    }


def _ids(members: Sequence[models.SpaceMembership]) -> dict[str, UUID]:
    names = Counter(member.cached_display_name for member in members)
    return {
        member.cached_display_name: member.character_id
        for member in members
        if member.character_id is not None and names[member.cached_display_name] == 1
    }


def _place(persona: models.Persona) -> PersonaPlace:
    return PersonaPlace(position=_POSITIONS[persona.position], depth=persona.depth, role=_ROLES[persona.role])


def _group(
    members: Sequence[models.SpaceMembership], cards: Mapping[UUID, Character], settings: StorySettings
) -> StoryGroup | None:
    if len(members) < 2:
        return None
    cast = tuple(_group_member(member, cards[member.id]) for member in members)
    return StoryGroup(
        cast=cast,
        members=tuple(member.avatar for member in cast),
        disabled=frozenset(_avatar(member) for member in members if member.participation != "active"),
        generation_mode=_CARD_MODES[settings.space.card_handling_mode],
        join_prefix=settings.prompt.join_prefix,
        join_suffix=settings.prompt.join_suffix,
        scenario_override=settings.prompt.scenario_override or "",
        mes_example_override=settings.prompt.examples_override or "",
    )


def _group_member(member: models.SpaceMembership, card: Character) -> GroupMember:
    own = GroupMember.of(card, _avatar(member))
    return own if member.talkativeness is None else own.with_(talkativeness=member.talkativeness)


def _avatar(member: models.SpaceMembership) -> str:
    return str(member.id)
