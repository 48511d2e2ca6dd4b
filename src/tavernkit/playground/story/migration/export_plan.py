"""What an export takes along, and the path that each thing gets in a folder of SillyTavern.

What came from the folder that the export builds upon keeps its path there. Only what the person owns is taken along,
and what everybody may use where a story of theirs does; of a selection also the chats of spaces that they may read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TypeAlias
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.names import chat_folder
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ImportedFile,
    ImportSource,
    Lorebook,
    LorebookLink,
    Persona,
    Preset,
    QuickReplySet,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.conversations.service import FIRST_TITLE
from tavernkit.playground.story.lorebooks.queries import PLACES, lorebook_of
from tavernkit.playground.story.migration.export_paths import (
    FreePaths,
    name_of,
    stem_of,
    written_moment,
)
from tavernkit.playground.story.migration.export_report import ExportChoices
from tavernkit.playground.story.migration.items import TargetKind
from tavernkit.playground.story.migration.presets import FOLDERS
from tavernkit.playground.story.migration.space_defaults import live_preset_ids
from tavernkit.playground.story.personas.queries import all_personas, avatar_of
from tavernkit.playground.story.presets.queries import default_preset_id, preset_for
from tavernkit.playground.story.quick_replies.queries import is_own_set

Target: TypeAlias = tuple[TargetKind, UUID]

PERSONA_PICTURES = "User Avatars"
_FILES_OF: frozenset[str] = frozenset(
    ("character", "world", "preset", "quick_replies", "group", "chat", "group_chat", "persona_picture",
     "risuai_character", "risuai_chat", "risuai_module", "risuai_preset", "risuai_persona")
)  # fmt: skip
"""Kinds of files of which each is one thing here."""


@dataclass(eq=False, kw_only=True)
class PlannedConversation:
    """A conversation and its file. `children` are those made here that go on from one of its messages."""

    id: UUID
    title: str
    kind: str
    parent_id: UUID | None
    forked_from_id: UUID | None
    created_at: datetime
    updated_at: datetime
    path: str = ""
    children: list[PlannedConversation] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class PlannedSpace:
    """A space with its characters; one with several is a group, which has a file of its own at `path`. `speaker` is the
    name of the first of them, or of one who was there."""

    id: UUID
    name: str
    created_at: datetime
    sees_private: bool
    characters: list[UUID] = field(default_factory=list)
    speaker: str = ""
    is_group: bool = False
    path: str = ""
    conversations: list[PlannedConversation] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class ExportPlan:
    """Everything that is exported. `names` are those of what has a file or an entry of its own, `paths` those of files;
    `imported` are those that have it from the source. `books` are the lorebooks in use, by who or what uses them."""

    source: ImportSource | None
    free: FreePaths = field(default_factory=FreePaths)
    names: dict[Target, str] = field(default_factory=dict)
    paths: dict[Target, str] = field(default_factory=dict)
    imported: set[Target] = field(default_factory=set)
    spaces: list[PlannedSpace] = field(default_factory=list)
    books: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)
    preset_kinds: dict[UUID, str] = field(default_factory=dict)

    def of(self, kind: TargetKind, *, is_new: bool = False) -> list[UUID]:
        """The ids of all things of a kind, or of those that were made here."""
        return [id for known, id in self.names if known == kind and not (is_new and (known, id) in self.imported)]

    def avatar(self, character_id: UUID | None) -> str | None:
        """The file name that SillyTavern knows a character by."""
        path = None if character_id is None else self.paths.get(("character", character_id))
        return None if path is None else name_of(path)

    def books_of(self, id: UUID) -> list[str]:
        """The names that SillyTavern knows the books in use with something by."""
        found = (self.paths.get(("lorebook", book_id)) for book_id in self.books.get(id, ()))
        return [stem_of(path) for path in found if path is not None]

    def chosen_book(self, id: UUID, named: str, *, is_new: bool, names_none: bool = False) -> str:
        """The one book that a file is to name itself, of those that are used with something: the one that it names, as
        long as that is used. A book that is not here stays named. A file that `names_none` goes on so: its books stand
        elsewhere."""
        used = self.books_of(id)
        stem = self._stem(named, self.books.get(id, ()), is_new=is_new)
        if stem in used:
            return stem
        if named and not stem:
            return named
        return used[0] if used and not names_none else ""

    def _stem(self, named: str, used: Sequence[UUID], *, is_new: bool) -> str:
        """The name in this export of a book that a file names; empty where there is no such book. What was made here
        calls it by its title."""
        if not is_new:
            return named if named in self._stems else ""
        called = self._called.get(titled(named, ""), ())
        first = next((id for id in called if id in used), called[0] if called else None)
        return "" if first is None else stem_of(self.paths["lorebook", first])

    def has_book(self, stem: str) -> bool:
        """Whether there is a book here that files of the source know by this name."""
        return stem in self._stems

    def is_of_source(self, persona: Persona) -> bool:
        """Whether a persona came from the source."""
        return self.source is not None and persona.file.get("source") == str(self.source.id)

    @cached_property
    def _stems(self) -> set[str]:
        return {stem_of(path) for (kind, _id), path in self.paths.items() if kind == "lorebook"}

    @cached_property
    def _called(self) -> Mapping[str, Sequence[UUID]]:
        called: defaultdict[str, list[UUID]] = defaultdict(list)
        for (kind, id), name in self.names.items():
            if kind == "lorebook":
                called[name].append(id)
        return called

    def add(self, kind: TargetKind, id: UUID, name: str, folder: str, extension: str) -> None:
        """Take something along, under its own path or a new one in this folder."""
        self.names[kind, id] = name
        if (kind, id) not in self.paths:
            self.paths[kind, id] = self.free.give(folder, name, extension)


async def plan_export(
    session: AsyncSession, viewer: Viewer, choices: ExportChoices, source: ImportSource | None
) -> ExportPlan:
    """Find everything that is to be exported, and give it paths. Reads names and ids, no contents."""
    plan = ExportPlan(source=source)
    await _keep_paths(session, plan)
    plan.spaces = await _spaces(session, viewer, choices)
    await _add_characters(session, viewer, choices, plan)
    await _add_conversations(session, viewer, choices, plan)
    await _add_books(session, viewer, choices, plan)
    await _add_presets(session, viewer, choices, plan)
    if not choices.is_selection:
        await _add_quick_replies(session, viewer, plan)
        await _add_personas(session, viewer, plan)
    return plan


async def _keep_paths(session: AsyncSession, plan: ExportPlan) -> None:
    if plan.source is None:
        return
    rows = await session.stream(
        select(ImportedFile.path, ImportedFile.kind, ImportedFile.target_kind, ImportedFile.target_id)
        .where(ImportedFile.source_id == plan.source.id, ImportedFile.kind != "derived")
        .order_by(ImportedFile.path)
    )
    async for path, kind, target_kind, target_id in rows:
        plan.free.keep(path)
        if target_id is not None and kind in _FILES_OF:
            target: Target = (msgspec.convert(target_kind, type=TargetKind), target_id)
            plan.paths.setdefault(target, path)
            plan.imported.add(target)


async def _spaces(session: AsyncSession, viewer: Viewer, choices: ExportChoices) -> list[PlannedSpace]:
    """The person's spaces with their characters; of a selection those that it names, and those that its characters are
    alone in."""
    named = {id: (await space_for(session, id, viewer, Access.READ)).level for id in choices.space_ids}
    is_meant = _is_meant(viewer, choices)
    rows = await session.scalars(select(Space).where(is_meant).order_by(Space.created_at, Space.id))
    spaces = {
        row.id: PlannedSpace(
            id=row.id,
            name=row.name,
            created_at=row.created_at,
            sees_private=named.get(row.id, Access.ADMINISTER) >= Access.ADMINISTER,
        )
        for row in rows
    }
    members = await session.execute(
        select(
            SpaceMembership.space_id,
            SpaceMembership.character_id,
            SpaceMembership.status,
            SpaceMembership.cached_display_name,
        )
        .join(Space, Space.id == SpaceMembership.space_id)
        .where(SpaceMembership.kind == "character", is_meant)
        .order_by(SpaceMembership.status, SpaceMembership.position, SpaceMembership.created_at, SpaceMembership.id)
    )
    for space_id, character_id, status, name in members:
        space = spaces[space_id]
        space.speaker = space.speaker or name
        if status == "active" and character_id is not None:
            space.characters.append(character_id)
    for space in spaces.values():
        space.is_group = len(space.characters) > 1
    if not choices.is_selection:
        return list(spaces.values())
    return [
        space
        for space in spaces.values()
        if space.id in named or (len(space.characters) == 1 and space.characters[0] in choices.character_ids)
    ]


def _is_meant(viewer: Viewer, choices: ExportChoices) -> ColumnElement[bool]:
    """True of the person's own spaces, and of those that a selection names."""
    is_own = and_(Space.owner_id == viewer.user_id, Space.status.in_(("active", "archived")))
    return or_(is_own, Space.id.in_(choices.space_ids))


async def _add_characters(session: AsyncSession, viewer: Viewer, choices: ExportChoices, plan: ExportPlan) -> None:
    """The person's own characters, or those of a selection; also those that everybody may use and that take part."""
    for character_id in choices.character_ids:
        await find_character(session, character_id, viewer)
    taking_part = {id for space in plan.spaces for id in space.characters}
    rows = await session.execute(
        select(Character.id, Character.name, Character.owner_id)
        .where(or_(Character.owner_id == viewer.user_id, Character.owner_id.is_(None)), Character.status == "ready")
        .order_by(Character.name_key, Character.created_at, Character.id)
    )
    for id, name, owner_id in rows:
        is_meant = id in choices.character_ids if choices.is_selection else owner_id is not None
        if is_meant or id in taking_part:
            plan.add("character", id, name, "characters", ".png")


async def _add_conversations(session: AsyncSession, viewer: Viewer, choices: ExportChoices, plan: ExportPlan) -> None:
    rows = await session.execute(
        select(
            Conversation.space_id,
            Conversation.visibility,
            Conversation.id,
            Conversation.title,
            Conversation.kind,
            Conversation.parent_conversation_id.label("parent_id"),
            Conversation.forked_from_message_id.label("forked_from_id"),
            Conversation.created_at,
            Conversation.updated_at,
        )
        .join(Space, Space.id == Conversation.space_id)
        .where(_is_meant(viewer, choices), Conversation.status.in_(("ready", "archived")))
        .order_by(Conversation.created_at, Conversation.id)
    )
    spaces = {space.id: space for space in plan.spaces}
    known: dict[UUID, PlannedConversation] = {}
    for row in rows.mappings():
        space = spaces.get(row["space_id"])
        if space is not None and (row["visibility"] != "private" or space.sees_private):
            planned = PlannedConversation(**{name: row[name] for name in _FIELDS})
            known[planned.id] = planned
            space.conversations.append(planned)
    for space in plan.spaces:
        _give_paths(plan, space)
    for child in known.values():
        is_linked = child.kind in ("branch", "checkpoint") and ("conversation", child.id) not in plan.imported
        if is_linked and child.parent_id in known:
            known[child.parent_id].children.append(child)


_FIELDS = ("id", "title", "kind", "parent_id", "forked_from_id", "created_at", "updated_at")


def _give_paths(plan: ExportPlan, space: PlannedSpace) -> None:
    """Where a space is a group, and where its chats are."""
    if ("space", space.id) in plan.paths:
        space.is_group, space.path = True, plan.paths["space", space.id]
    new = [one for one in space.conversations if ("conversation", one.id) not in plan.paths]
    folder = "group chats"
    if space.is_group and not space.path and new:
        milliseconds = int(space.created_at.timestamp() * 1000)
        space.path = plan.paths["space", space.id] = plan.free.give("groups", str(milliseconds), ".json")
    elif not space.is_group and new:
        folder = _folder_of_chats(plan, space)
    for one in space.conversations:
        moment = written_moment(one.created_at)
        dated = moment if space.is_group else f"{space.speaker or space.name} - {moment}"
        plan.add("conversation", one.id, dated if one.title == FIRST_TITLE else one.title, folder, ".jsonl")
        one.path = plan.paths["conversation", one.id]


def _folder_of_chats(plan: ExportPlan, space: PlannedSpace) -> str:
    """The folder of the chats that are there, else that of the character, else a new one."""
    paths = (plan.paths.get(("conversation", one.id), "") for one in space.conversations)
    known = next((path.rpartition("/")[0] for path in paths if path.startswith("chats/") and path.count("/") > 1), None)
    avatar = plan.avatar(space.characters[0]) if space.characters else None
    if known is None and avatar is None:
        return plan.free.give("chats", space.speaker or space.name, "")
    return known or f"chats/{chat_folder(avatar or '')}"


async def _add_books(session: AsyncSession, viewer: Viewer, choices: ExportChoices, plan: ExportPlan) -> None:
    """The person's own books, or those that a selection names or uses; and where each book is in use."""
    for lorebook_id in choices.lorebook_ids:
        await lorebook_of(session, viewer, lorebook_id)
    links = await session.scalars(
        select(LorebookLink)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .where(Lorebook.owner_id == viewer.user_id, Lorebook.status == "ready", LorebookLink.enabled)
        .order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id)
    )
    places = {id for _kind, id in plan.names} | {space.id for space in plan.spaces}
    used: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for link in links:
        used[_place_of(link)].append(link.lorebook_id)
    plan.books = used
    selected = {book for place in places & used.keys() for book in used[place]}.union(choices.lorebook_ids)
    rows = await session.execute(
        select(Lorebook.id, Lorebook.name)
        .where(Lorebook.owner_id == viewer.user_id, Lorebook.status == "ready")
        .order_by(Lorebook.name, Lorebook.created_at, Lorebook.id)
    )
    for id, name in rows:
        if id in selected or not choices.is_selection:
            plan.add("lorebook", id, name, "worlds", ".json")


def _place_of(link: LorebookLink) -> UUID:
    """The id of what a book is used with: ids are unique among all tables."""
    found: UUID = next(id for column in PLACES if (id := getattr(link, column)) is not None)
    return found


async def _add_presets(session: AsyncSession, viewer: Viewer, choices: ExportChoices, plan: ExportPlan) -> None:
    """The person's own presets, and those of everybody's that they use; or those that a selection names."""
    for preset_id in choices.preset_ids:
        await preset_for(session, viewer, preset_id)
    of_spaces = select(Space.preset_id).where(Space.owner_id == viewer.user_id, Space.preset_id.is_not(None))
    default = await default_preset_id(session, viewer.user_id)
    is_used = or_(Preset.id.in_(of_spaces), Preset.id == default)
    rows = await session.execute(
        select(Preset.id, Preset.kind, Preset.name)
        .where(
            Preset.id.in_(choices.preset_ids)
            if choices.is_selection
            else or_(Preset.owner_id == viewer.user_id, and_(Preset.owner_id.is_(None), is_used)),
            Preset.trashed_at.is_(None),
        )
        .order_by(Preset.kind, Preset.name, Preset.id)
    )
    unchanged = set() if choices.is_selection else await _kept_in_settings(session, plan)
    for id, kind, name in rows:
        plan.preset_kinds[id] = kind
        if id in unchanged:
            continue
        if kind in FOLDERS:
            plan.add("preset", id, name, FOLDERS[kind], ".json")
        else:
            plan.names["preset", id] = name


async def _kept_in_settings(session: AsyncSession, plan: ExportPlan) -> set[UUID]:
    """The presets that were made of what the settings of the source say, and are unchanged: the settings have them."""
    if plan.source is None:
        return set()
    made = live_preset_ids(plan.source.id).values()
    rows = await session.execute(select(Preset.id, Preset.data, Preset.original).where(Preset.id.in_(made)))
    return {id for id, data, original in rows if data == original}


async def _add_quick_replies(session: AsyncSession, viewer: Viewer, plan: ExportPlan) -> None:
    rows = await session.execute(
        select(QuickReplySet.id, QuickReplySet.name)
        .where(*is_own_set(viewer.user_id))
        .order_by(QuickReplySet.name, QuickReplySet.id)
    )
    for id, name in rows:
        plan.add("quick_replies", id, name, "QuickReplies", ".json")


async def _add_personas(session: AsyncSession, viewer: Viewer, plan: ExportPlan) -> None:
    for row in await all_personas(session, viewer.user_id):
        plan.names["persona", row.id] = row.name
        if ("persona", row.id) in plan.paths:
            continue
        if plan.is_of_source(row):
            # The settings know it by the name of a picture that is not there.
            plan.paths["persona", row.id] = f"{PERSONA_PICTURES}/{row.file['avatar']}"
            if row.avatar_sha256 is None:
                plan.imported.add(("persona", row.id))
        else:
            plan.paths["persona", row.id] = plan.free.give(PERSONA_PICTURES, stem_of(avatar_of(row)), ".png")
