"""The spaces that chats of a folder go into, and the characters that its files know by their names.

A folder of chats belongs to the character whose card has its name (V5). Where there is no such card, a character with a
name and nothing else stands in for it (V6). It is recorded as what `characters/<folder>.png` became, with no bytes and
an empty hash: when that card is imported, it counts as changed in the folder, and becomes the character's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.chats import ChatFile, ChatHeader, ChatMessage
from tavernkit.migration.names import Names, chat_folder, sanitised
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ImportedFile,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.personas import connected_persona
from tavernkit.playground.story.characters.cards import UNNAMED, fill
from tavernkit.playground.story.chatfiles.storing import CardNames, SpeakerFinder
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.migration.markers import marker_of
from tavernkit.playground.story.migration.space_defaults import member_defaults, space_defaults
from tavernkit.playground.story.settings_schema.resolving import apply_changes, read_patch
from tavernkit.playground.story.spaces.service import space_for_chats
from tavernkit.values import Value

CHARACTERS = "characters/"


class SourceCharacter(Value, frozen=True, kw_only=True):
    """A character of the folder; `avatar` is the name of its card's file, and `names` what it is called here."""

    id: UUID
    avatar: str
    names: tuple[str, ...]


class SourceCharacters:
    """The characters of the folder by what its files call them."""

    def __init__(self, found: Iterable[SourceCharacter] = ()) -> None:
        self._by_avatar: dict[str, SourceCharacter] = {}
        self._by_folder: dict[str, SourceCharacter] = {}
        self._by_name: dict[str, list[SourceCharacter]] = {}
        self._avatars, self._folders = Names(), Names()
        for character in found:
            self.add(character)

    def add(self, character: SourceCharacter) -> None:
        folder = _folder_of(character.avatar)
        self._by_avatar[character.avatar] = character
        self._by_folder.setdefault(folder, character)
        self._avatars.add(character.avatar)
        self._folders.add(folder)
        for name in character.names:
            self._by_name.setdefault(name, []).append(character)

    def of_folder(self, folder: str) -> SourceCharacter | None:
        """The character that a folder of chats belongs to: of its name, else the only one whose name differs in case
        or the form of accents alone."""
        found = self._folders.find(folder)
        return None if found is None else self._by_folder[found]

    def of_member(self, member: str) -> SourceCharacter | None:
        """The character that a group names, by the file of its card, or as the oldest groups do, by its name."""
        found = self._avatars.find(member)
        if found is not None:
            return self._by_avatar[found]
        named = self._by_name.get(member, [])
        return named[0] if len(named) == 1 else None

    def avatars(self) -> Mapping[UUID | None, str]:
        """The names of card files by the ids of characters."""
        return {character.id: avatar for avatar, character in self._by_avatar.items()}


def _folder_of(avatar: str) -> str:
    return chat_folder(avatar) if ".png" in avatar else avatar.rpartition(".")[0] or avatar


async def source_characters(session: AsyncSession, job: ImportJob) -> SourceCharacters:
    """The characters of the folder that are here. Their files are imported before those that name them."""
    known = job.cache.get(SourceCharacters)
    if known is None:
        rows = await session.execute(
            select(ImportedFile.path, Character.id, Character.name, Character.nickname)
            .join(Character, Character.id == ImportedFile.target_id)
            .where(
                ImportedFile.source_id == job.source_id,
                ImportedFile.kind == "character",
                Character.status == "ready",
            )
            .order_by(ImportedFile.path)
        )
        known = job.cache[SourceCharacters] = SourceCharacters(
            SourceCharacter(
                id=id, avatar=path.removeprefix(CHARACTERS), names=tuple(filter(None, dict.fromkeys((name, nickname))))
            )
            for path, id, name, nickname in rows
        )
    found: SourceCharacters = known
    return found


async def stand_in(session: AsyncSession, job: ImportJob, folder: str, name: str) -> SourceCharacter:
    """A character with a name and nothing else, in the place of the one that a folder of chats belongs to."""
    now, path = job.runtime.clock(), f"{CHARACTERS}{folder}.png"
    row = Character(id=job.runtime.ids(), owner_id=job.viewer.user_id, created_at=now, updated_at=now)
    fill(row, CharacterCard(character=characters.Character(name=titled(name, UNNAMED))))
    session.add(row)
    await session.flush()
    await session.merge(
        ImportedFile(
            source_id=job.source_id,
            path=path,
            kind="character",
            detail="",
            size=0,
            sha256="",
            kept_sha256=None,
            import_id=job.import_id,
            target_kind="character",
            target_id=row.id,
            marker=await marker_of(session, "character", row.id) or "",
        )
    )
    await session.flush()
    character = SourceCharacter(id=row.id, avatar=f"{folder}.png", names=(row.name,))
    (await source_characters(session, job)).add(character)
    return character


@dataclass(eq=False, kw_only=True)
class ChatHome:
    """A space that chats go into, and who is or was in it; `avatars` are its members by the files of their cards, where
    the chats name these."""

    space: Space
    own: SpaceMembership | None
    members: list[tuple[SpaceMembership, CardNames | None]]
    avatars: dict[str, SpaceMembership] = field(default_factory=dict)

    def speakers(self, job: ImportJob, header: ChatHeader | None, *, home_id: UUID | None = None) -> SpeakerFinder:
        """Who says what in a chat of this space, whose file begins so."""
        return SpeakerFinder(
            ChatFile(header=header),
            self.space,
            self.members,
            own=self.own,
            ids=job.runtime.ids,
            now=job.runtime.clock(),
            home_id=home_id,
            avatars=self.avatars,
        )


async def open_home(session: AsyncSession, job: ImportJob, space_id: UUID, *, is_group: bool) -> ChatHome:
    """A space that is there. The one that was used last is remembered: chats of a folder come one after the other."""
    last = job.cache.get(ChatHome)
    if isinstance(last, ChatHome) and last.space.id == space_id:
        return last
    space = await session.get_one(Space, space_id)
    rows = await session.execute(
        select(SpaceMembership, Character.name, Character.nickname)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(SpaceMembership.space_id == space_id)
        .order_by(SpaceMembership.status, SpaceMembership.position, SpaceMembership.created_at, SpaceMembership.id)
    )
    members = [(member, None if name is None else _Card(name=name, nickname=nick)) for member, name, nick in rows]
    own = next((member for member, _card in members if member.user_id == job.viewer.user_id), None)
    home = ChatHome(space=space, own=own, members=[*members])
    if is_group:
        files = (await source_characters(session, job)).avatars()
        home.avatars = {file: member for member, _card in members if (file := files.get(member.character_id))}
    job.cache[ChatHome] = home
    return home


class _Card(Value, frozen=True, kw_only=True):
    name: str
    nickname: str | None


async def new_home(
    session: AsyncSession,
    job: ImportJob,
    found: Sequence[SourceCharacter],
    *,
    name: str,
    is_group: bool,
) -> ChatHome:
    """A new space for chats with these characters, as the settings of the folder want it."""
    cast = [await session.get_one(Character, character.id) for character in found]
    owner = await session.get_one(User, job.viewer.user_id)
    wanted = await space_defaults(session, job, "" if is_group else f"{CHARACTERS}{found[0].avatar}")
    persona_id = wanted.persona_id or await connected_persona(session, owner.id, cast)
    space, _human, members = await space_for_chats(
        session, job.runtime, owner, *cast, name=name, persona_id=persona_id, user_name=wanted.user_name
    )
    wanted.apply(space)
    for character, member in zip(found, members, strict=True) if is_group else ():
        patch = await member_defaults(session, job, f"{CHARACTERS}{character.avatar}")
        apply_changes(member, read_patch(patch, "member"))
    await session.flush()
    return await open_home(session, job, space.id, is_group=is_group)


_HOMES = "homes of chats"


async def _homes(session: AsyncSession, job: ImportJob) -> tuple[dict[str, UUID], dict[UUID, UUID]]:
    """The spaces that chats of this folder are in already: by the folder of the chats, and by the character."""
    known: tuple[dict[str, UUID], dict[UUID, UUID]] | None = job.cache.get(_HOMES)
    if known is None:
        rows = await session.execute(
            select(ImportedFile.path, Space.id)
            .join(Conversation, Conversation.id == ImportedFile.target_id)
            .join(Space, Space.id == Conversation.space_id)
            .where(
                ImportedFile.source_id == job.source_id,
                ImportedFile.kind == "chat",
                Space.status != "deleting",
                Conversation.status != "deleting",
            )
            .order_by(ImportedFile.path)
        )
        by_folder: dict[str, UUID] = {}
        spaces: set[UUID] = set()
        for path, space_id in rows:
            spaces.add(space_id)
            if (folder := folder_of(path)) is not None:
                by_folder.setdefault(folder, space_id)
        known = job.cache[_HOMES] = (by_folder, await _by_character(session, spaces))
    return known


async def _by_character(session: AsyncSession, spaces: set[UUID]) -> dict[UUID, UUID]:
    """The spaces by the first of their characters."""
    found: dict[UUID, UUID] = {}
    ordered = sorted(spaces)
    for start in range(0, len(ordered), _CHUNK):
        rows = await session.execute(
            select(SpaceMembership.space_id, SpaceMembership.character_id)
            .where(
                SpaceMembership.space_id.in_(ordered[start : start + _CHUNK]),
                SpaceMembership.character_id.is_not(None),
            )
            .order_by(SpaceMembership.space_id, SpaceMembership.position)
        )
        seen: set[UUID] = set()
        for space_id, character_id in rows:
            if space_id not in seen and character_id is not None:
                seen.add(space_id)
                found.setdefault(character_id, space_id)
    return found


_CHUNK = 500


def folder_of(path: str) -> str | None:
    """The folder that a chat lies in; None for one that lies beside the folders."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else None


async def home_of_chat(session: AsyncSession, job: ImportJob, path: str, character_name: str) -> ChatHome:
    """The space of the character that a chat is with; `character_name` is what the file calls it. A chat beside the
    folders belongs to the folder of that name."""
    by_folder, by_character = await _homes(session, job)
    own_folder = folder_of(path)
    folder = own_folder or sanitised(character_name) or UNNAMED
    space_id = by_folder.get(folder)
    if space_id is None:
        found = (await source_characters(session, job)).of_folder(folder)
        if found is None:
            found = await stand_in(session, job, folder, character_name or folder)
        space_id = by_character.get(found.id)
        if space_id is None:
            home = await new_home(session, job, [found], name=found.names[0], is_group=False)
            space_id = by_character[found.id] = home.space.id
        by_folder[folder] = space_id
    return await open_home(session, job, space_id, is_group=False)


def speaking_character(header: ChatHeader | None, messages: Iterable[ChatMessage]) -> str:
    """The name of the character of a chat: as its header has it, else that of the first who answers."""
    if header is not None and header.character_name not in ("", "unused"):
        return header.character_name
    answers = (one for one in messages if not one.is_user and not one.is_system and not one.is_narrator)
    return next((one.name for one in answers if one.name), "")
