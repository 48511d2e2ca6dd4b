"""Importing groups and their chats: a group becomes a space, and its chats become conversations there (V7).

Chats of groups lie side by side; which group one belongs to, only the file of the group says. Up to version 1.14 that
file also has what the headers of other chats say: of the current chat, and of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatHeader, ChatMessage
from tavernkit.errors import ParseError
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import ImportedFile, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import append_space_event
from tavernkit.playground.story.chatfiles.messages import FROM_GROUP, GROUP_FILE
from tavernkit.playground.story.chatfiles.storing import card_file_of, with_header
from tavernkit.playground.story.migration.chat_homes import (
    ChatHome,
    SourceCharacter,
    new_home,
    open_home,
    source_characters,
)
from tavernkit.playground.story.migration.chats import ChatHandler, PreparedChat, store_chat, title_of
from tavernkit.playground.story.migration.group_files import GroupFile, read_group_file, stem_of
from tavernkit.playground.story.migration.group_files import group_bytes as group_bytes
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.known_settings import FolderSettings, known_settings
from tavernkit.playground.story.migration.markers import touching
from tavernkit.playground.story.migration.personas import connect_groups
from tavernkit.playground.story.runs.round_control import members_changed
from tavernkit.playground.story.settings_schema.resolving import apply_changes, read_patch
from tavernkit.playground.story.spaces.marks import MAX_TAGS, named_tags, store_tags, tag_key, tags_of
from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject

GROUP_TAGS = "group_tags"
"""Where a space notes the tags that its group has in the folder, by their ids, as far as there was room for them."""


def set_group(space: Space, group: GroupFile, document: JsonObject) -> None:
    """Give a space what a group says, and keep the file. A value that nobody could have chosen here is left out."""
    for name, values in group.settings.items():
        for key, value in values.items():
            with suppress(Refused):
                apply_changes(space, read_patch({name: {key: value}}, "space"))
    space.prompt_settings = {**space.prompt_settings, GROUP_FILE: dict(document)}


async def give_tags(session: AsyncSession, job: ImportJob, space: Space, tags: Mapping[str, str]) -> None:
    """Give a space the tags that its group has got in the folder, and take away those that it has lost there."""
    known: dict[str, str] = space.prompt_settings.get(GROUP_TAGS, {})
    if tags == known:
        return
    gone = named_tags(name for id, name in known.items() if tags.get(id) != name)
    new = [name for id, name in tags.items() if known.get(id) != name]
    here = (await tags_of(session, job.viewer, [space.id])).get(space.id, ())
    named = named_tags([*(tag for tag in here if tag_key(tag) not in gone), *new])
    kept = dict(islice(named.items(), MAX_TAGS))
    await store_tags(session, job.viewer, space.id, kept)
    noted = {id: name for id, name in tags.items() if not named_tags([name]).keys().isdisjoint(kept)}
    space.prompt_settings = {**space.prompt_settings, GROUP_TAGS: noted}


async def give_groups_tags(session: AsyncSession, job: ImportJob, settings: FolderSettings) -> None:
    """Give the groups that are here already the tags that the settings name."""
    for space, path in await _groups(session, job):
        document = space.prompt_settings.get(GROUP_FILE) or {}
        tags = settings.tags_of(read_group_file(document, path).id)
        if tags != space.prompt_settings.get(GROUP_TAGS, {}):
            await session.refresh(space, with_for_update=True)
            await give_tags(session, job, space, tags)


@dataclass(eq=False)
class GroupChats:
    """Which group of the folder a chat belongs to: the first that names it."""

    owners: dict[str, UUID] = field(default_factory=dict)
    names: dict[UUID, str] = field(default_factory=dict)
    files: dict[UUID, tuple[GroupFile, JsonObject]] = field(default_factory=dict)

    def add(self, space_id: UUID, name: str, document: JsonObject, path: str) -> list[str]:
        """Add a group, whose file has this path; the names of groups that have some of its chats already."""
        group = read_group_file(document, path)
        self.names[space_id] = name
        self.files[space_id] = group, document
        others: dict[str, None] = {}
        for chat in group.chats:
            owner = self.owners.setdefault(chat, space_id)
            if owner != space_id:
                others[self.names[owner]] = None
        return list(others)

    def metadata_of(self, space_id: UUID, chat: str) -> dict[str, Json]:
        """What the file of a group says in the place of a chat's header."""
        group, document = self.files[space_id]
        is_current = group.chat_id == chat
        past = document.get("past_metadata")
        found = document.get("chat_metadata") if is_current else past.get(chat) if isinstance(past, dict) else None
        return found if isinstance(found, dict) else {}


async def group_chats(session: AsyncSession, job: ImportJob) -> GroupChats:
    """The chats of the groups of the folder that are here."""
    known = job.cache.get(GroupChats)
    if known is None:
        known = job.cache[GroupChats] = GroupChats()
        for space, path in await _groups(session, job):
            known.add(space.id, space.name, space.prompt_settings.get(GROUP_FILE) or {}, path)
    found: GroupChats = known
    return found


async def _groups(session: AsyncSession, job: ImportJob) -> list[tuple[Space, str]]:
    """The spaces that groups of the folder became, and the paths of their files."""
    rows = await session.execute(
        select(Space, ImportedFile.path)
        .join(ImportedFile, ImportedFile.target_id == Space.id)
        .where(ImportedFile.source_id == job.source_id, ImportedFile.kind == "group", Space.status != "deleting")
        .order_by(ImportedFile.path)
    )
    return [(space, path) for space, path in rows]


class GroupHandler:
    """Groups."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> dict[str, Json]:
        document = parse_json(data, what="The group")
        if not isinstance(document, dict) or not isinstance(document.get("members"), list):
            raise ParseError(_("This is no group of SillyTavern: it names no members."))
        return document

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: dict[str, Json]) -> ItemOutcome:
        group = read_group_file(prepared, item.path)
        if item.target_id is not None:
            return await self._update(session, job, item, group, prepared)
        cast = await _cast(session, job, group)
        found = list({character.id: character for _, character in cast if character is not None}.values())
        name = titled(group.name, _("Group"))
        home = await new_home(session, job, found, name=name, is_group=True)
        set_group(home.space, group, prepared)
        await _arrange(session, job, home, group, cast)
        await connect_groups(session, job, {group.id: home.space.id})
        if (settings := await known_settings(session, job)) is not None:
            await give_tags(session, job, home.space, settings.tags_of(group.id))
        others = (await group_chats(session, job)).add(home.space.id, name, prepared, item.path)
        await session.flush()
        return ItemOutcome(
            verdict="exact",
            target_kind="space",
            target_id=home.space.id,
            notes=(*_missing_note(cast), *_shared_note(others)),
        )

    async def _update(
        self, session: AsyncSession, job: ImportJob, item: Item, group: GroupFile, document: dict[str, Json]
    ) -> ItemOutcome:
        """A group whose file has changed. Where it was changed here as well, only new chats are looked for by it."""
        space = await session.get_one(Space, item.target_id, with_for_update=True, populate_existing=True)
        job.cache.pop(ChatHome, None)
        cast = await _cast(session, job, group)
        notes = list(_missing_note(cast))
        is_kept = item.is_changed_here and item.conflict != "replace"
        if is_kept:
            space.prompt_settings = {**space.prompt_settings, GROUP_FILE: dict(document)}
            notes.append(_("The group was changed here and in the folder. What is here was kept."))
        else:
            space.name = titled(group.name, space.name)
            set_group(space, group, document)
            home = await open_home(session, job, space.id, is_group=True)
            await _arrange(session, job, home, group, cast)
            now = job.runtime.clock()
            space.settings_version, space.updated_at = space.settings_version + 1, now
            await session.flush()
            await append_space_event(session, space.id, "members", now)
            await members_changed(session, job.runtime, space.id)
        job.cache.pop(GroupChats, None)
        notes += _shared_note((await group_chats(session, job)).add(space.id, space.name, document, item.path))
        return ItemOutcome(
            verdict="unchanged" if is_kept else "exact",
            target_kind="space",
            target_id=space.id,
            notes=tuple(notes),
            merged=is_kept,
        )


async def _cast(session: AsyncSession, job: ImportJob, group: GroupFile) -> list[tuple[str, SourceCharacter | None]]:
    """The members of a group as its file names them, each with the character of the folder that it is."""
    known = await source_characters(session, job)
    return [(member, known.of_member(member)) for member in group.members]


def _missing_note(cast: Sequence[tuple[str, SourceCharacter | None]]) -> tuple[str, ...]:
    missing = [member for member, character in cast if character is None]
    if not missing:
        return ()
    return (_("Members whose cards are missing in the folder: {names}.", names=listed(missing)),)


def _shared_note(others: Sequence[str]) -> list[str]:
    if not others:
        return []
    return [_("Some of its chats also belong to another group, which has them: {names}.", names=listed(others))]


async def _arrange(
    session: AsyncSession,
    job: ImportJob,
    home: ChatHome,
    group: GroupFile,
    cast: Sequence[tuple[str, SourceCharacter | None]],
) -> None:
    """Let the members of a space be those of a group, in their order; one whose card is missing stays named."""
    now = job.runtime.clock()
    known = {member.character_id: member for member, _card in home.members if member.character_id is not None}
    named = {member.cached_display_name: member for member, _card in home.members if _is_missing(member)}
    placed: set[UUID] = set()
    for position, (name, character) in enumerate(cast, start=1):
        member = named.get(_name_of(name)) if character is None else known.get(character.id)
        if member is not None and member.id in placed:
            continue
        if member is None:
            member = SpaceMembership(
                id=job.runtime.ids(),
                space_id=home.space.id,
                kind="character",
                cached_display_name=_name_of(name),
                created_at=now,
            )
            session.add(member)
            home.members.append((member, None))
        _set_member(member, position, character, is_muted=name in group.muted)
        if character is None:
            member.removed_at, member.removed_reason = now, str(_("The card is missing in the imported folder."))
        else:
            home.avatars[character.avatar] = member
        placed.add(member.id)
    for member, _card in home.members:
        if member.kind == "character" and member.status == "active" and member.id not in placed:
            member.status, member.removed_at, member.removed_by_id = "removed", now, job.viewer.user_id
    await session.flush()


def _set_member(member: SpaceMembership, position: int, character: SourceCharacter | None, *, is_muted: bool) -> None:
    member.position = position
    member.participation = "muted" if is_muted or character is None else "active"
    member.status = "removed" if character is None else "active"
    if character is not None:
        member.character_id, member.removed_at, member.removed_reason = character.id, None, None
        if not member.name_override:
            member.cached_display_name = titled(character.names[-1], member.cached_display_name)


def _is_missing(member: SpaceMembership) -> bool:
    """Whether a member is only a name: in a group without its card, or who said something in an imported chat."""
    return member.kind == "character" and member.character_id is None


def _name_of(member: str) -> str:
    return titled(member.removesuffix(".png"), _("Unnamed"))


async def reconnect_groups(session: AsyncSession, job: ImportJob) -> int:
    """Bring the members back into groups whose cards have come later (V6); how many. Called when all characters of an
    import are there."""
    known, count = await source_characters(session, job), 0
    for space, _path in await _groups(session, job):
        document = space.prompt_settings.get(GROUP_FILE)
        group = read_group_file(document if isinstance(document, dict) else {})
        rows = (await session.scalars(select(SpaceMembership).where(SpaceMembership.space_id == space.id))).all()
        there = {row.character_id for row in rows}
        missing = {row.cached_display_name: row for row in rows if _is_missing(row)}
        back = [
            (missing[_name_of(name)], name, character)
            for name in group.members
            if _name_of(name) in missing and (character := known.of_member(name)) is not None
            if character.id not in there
        ]
        for row, name, character in back:
            _set_member(row, row.position, character, is_muted=name in group.muted)
        if back:
            await touching(session, job, "space", space.id)
            await session.flush()
            await append_space_event(session, space.id, "members", job.runtime.clock())
            count += len(back)
    job.cache.pop(ChatHome, None)
    return count


class GroupChatHandler(ChatHandler):
    """Chats of groups. One that no group names gets a space of its own."""

    is_group = True

    async def store_new(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedChat) -> ItemOutcome:
        messages = prepared.chat.file.messages
        home, header, notes = await home_of_group_chat(session, job, item, prepared.header, messages)
        kept: JsonObject = {}
        if header is not None and prepared.header is None:
            prepared, kept = prepared.with_(chat=with_header(prepared.chat, header), rows=()), {FROM_GROUP: True}
        outcome = await store_chat(session, job, item, prepared, home, kept=kept)
        return outcome.with_(notes=(*notes, *outcome.notes))


async def home_of_group_chat(
    session: AsyncSession,
    job: ImportJob,
    item: Item,
    header: ChatHeader | None,
    messages: Iterable[ChatMessage],
) -> tuple[ChatHome, ChatHeader | None, tuple[str, ...]]:
    """The space of the group that a chat belongs to, and the header of the chat, which the group may have."""
    chat = stem_of(item.path)
    known = await group_chats(session, job)
    space_id = known.owners.get(chat)
    if space_id is None:
        found = await _speakers(session, job, messages)
        home = await new_home(session, job, found, name=title_of(item.path), is_group=True)
        return home, header, (_("No group names this chat. It is in a space of its own."),)
    # The file of the group names its chats, so that the group has not changed with this one.
    await touching(session, job, "space", space_id)
    metadata = known.metadata_of(space_id, chat)
    if header is None and metadata:
        header = ChatHeader(user_name="unused", character_name="unused", chat_metadata=metadata)
    return await open_home(session, job, space_id, is_group=True), header, ()


async def _speakers(session: AsyncSession, job: ImportJob, messages: Iterable[ChatMessage]) -> list[SourceCharacter]:
    """The characters of the folder that speak in a chat."""
    known = await source_characters(session, job)
    found: dict[UUID, SourceCharacter] = {}
    for message in messages:
        if message.is_user or message.is_narrator:
            continue
        named = (message.original_avatar, message.force_avatar and card_file_of(message.force_avatar), message.name)
        character = next((one for name in named if name and (one := known.of_member(name)) is not None), None)
        if character is not None:
            found.setdefault(character.id, character)
    return list(found.values())


HANDLERS: Mapping[FileKind, ItemHandler] = {"group": GroupHandler(), "group_chat": GroupChatHandler()}
