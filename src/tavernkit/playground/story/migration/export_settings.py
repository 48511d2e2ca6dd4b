"""The settings file of an export: what is otherwise here is written into the file that was imported, value by value, so
that everything else in it stays as it is, byte for byte."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TypeAlias
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import ParseError
from tavernkit.migration.json_edit import REMOVED, JsonPath
from tavernkit.migration.settings_file import merged_settings
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Persona,
    PersonaConnection,
    QuickReplyLink,
    QuickReplySet,
    ScriptList,
    Space,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.cards import fold
from tavernkit.playground.story.chatfiles.messages import GROUP_FILE
from tavernkit.playground.story.migration.export_defaults import note_changes, preset_changes
from tavernkit.playground.story.migration.export_items import Exporting, worlds_of, written_json
from tavernkit.playground.story.migration.export_paths import name_of, stem_of
from tavernkit.playground.story.migration.group_files import read_group_file
from tavernkit.playground.story.migration.groups import GROUP_TAGS
from tavernkit.playground.story.migration.known_settings import FolderSettings, read_folder_settings
from tavernkit.playground.story.paths.variables import check_variable, read_globals
from tavernkit.playground.story.personas.files import BackedUp, Connection, write_backup
from tavernkit.playground.story.personas.queries import all_personas
from tavernkit.playground.story.personas.service import PLACE, is_picture_alone
from tavernkit.playground.story.prompting.scripts import SILLYTAVERN
from tavernkit.playground.story.quick_replies.queries import is_own_set
from tavernkit.playground.story.spaces.marks import named_tags, tags_of
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject

SETTINGS = "settings.json"
PERSONAS: JsonPath = ("power_user", "personas")
DESCRIPTIONS: JsonPath = ("power_user", "persona_descriptions")
DEFAULT_PERSONA: JsonPath = ("power_user", "default_persona")
GLOBAL_BOOKS: JsonPath = ("world_info_settings", "world_info", "globalSelect")
CHARACTER_BOOKS: JsonPath = ("world_info_settings", "world_info", "charLore")
SCRIPTS: JsonPath = ("extension_settings", "regex")
VARIABLES: JsonPath = ("extension_settings", "variables", "global")
SETS: JsonPath = ("extension_settings", "quickReplyV2", "config", "setList")
SETS_OF_CHARACTERS: JsonPath = ("extension_settings", "quickReplyV2", "characterConfigs")
TAGS, TAG_MAP = "tags", "tag_map"

NEW_SETTINGS: JsonObject = {
    "firstRun": False,
    "username": "User",
    "user_avatar": "user-default.png",
    "amount_gen": 350,
    "max_context": 8192,
    "main_api": "openai",
    "world_info_settings": {"world_info": {"globalSelect": []}},
    "power_user": {"personas": {}, "default_persona": None, "persona_descriptions": {}},
    "extension_settings": {},
    "tags": [],
    "tag_map": {},
}
"""What SillyTavern needs to start."""

Changes: TypeAlias = dict[JsonPath, Json]


async def settings_bytes(
    work: Exporting, session: AsyncSession, before: bytes | None, *, is_same: bool
) -> tuple[bytes, str | None]:
    """The settings that were imported, with what is otherwise here; where `is_same` says that nothing of theirs has
    changed, only what they do not know yet. Without any, new ones. A sentence says why that could not be done."""
    if before is None:
        person = await session.get_one(User, work.viewer.user_id)
        before = written_json({**NEW_SETTINGS, "username": person.name})
    try:
        merger = _Merger(work, session, before, keeps_all=is_same)
        return merged_settings(before, await merger.changes()), None
    except (ParseError, ValueError):
        return before, _("What was changed here could not be written into it: it is damaged.")


class _Merger:
    """Finds what of the settings is otherwise here. With `keeps_all` nothing is changed that they say already."""

    def __init__(self, work: Exporting, session: AsyncSession, before: bytes, *, keeps_all: bool) -> None:
        self._session, self._plan, self._owner_id = session, work.plan, work.viewer.user_id
        self._before: FolderSettings = read_folder_settings(before)
        document = parse_json(before, what="The settings file")
        self._file = LooseObject(document if isinstance(document, dict) else {}, ReportBuilder())
        self._keeps_all = keeps_all
        self._sets_here = {stem_of(self._plan.paths["quick_replies", id]) for id in self._plan.of("quick_replies")}
        self._tag_ids = {fold(name): id for id, name in reversed(list(self._before.tag_names.items()))}
        self._tag_places = count(len(self._file.items(TAGS)))
        self._changes: Changes = {}

    async def changes(self) -> Changes:
        """Values by their paths."""
        await self._personas()
        await self._tags()
        await self._tags_of_groups()
        await self._books()
        await self._scripts()
        await self._variables()
        await self._quick_replies()
        self._changes |= await preset_changes(
            self._session, self._plan, self._owner_id, self._before, keeps_all=self._keeps_all
        )
        self._changes |= await note_changes(self._session, self._plan, self._owner_id, self._before, self._file)
        return self._changes

    async def _personas(self) -> None:
        known = {one.avatar: one for one in self._before.personas}
        connections = await self._connections()
        here: set[str] = set()
        default: str | None = None
        for row in await all_personas(self._session, self._owner_id):
            avatar = name_of(self._plan.paths["persona", row.id])
            default = avatar if row.is_default else default
            is_imported = self._plan.is_of_source(row)
            here |= {avatar} if is_imported else set()
            if not (is_imported and (self._keeps_all or self._has_picture_alone(row, avatar))):
                self._persona(row, avatar, known.get(avatar) if is_imported else None, connections.get(row.id, ()))
        if self._keeps_all:
            return
        for avatar in known.keys() - here:
            self._changes |= {(*PERSONAS, avatar): REMOVED, (*DESCRIPTIONS, avatar): REMOVED}
        if default != self._file.nested("power_user").optional_text("default_persona"):
            self._changes[DEFAULT_PERSONA] = default

    def _has_picture_alone(self, row: Persona, avatar: str) -> bool:
        """Whether the settings say nothing about a persona, and there is nothing to say."""
        return is_picture_alone(row) and row.name in (stem_of(avatar), self._before.file.user_name)

    def _persona(self, row: Persona, avatar: str, before: BackedUp | None, connections: tuple[Connection, ...]) -> None:
        entry = {} if before is None else before.entry
        named = LooseObject(entry, ReportBuilder()).text("lorebook")
        now = BackedUp(
            name=row.name,
            title=row.title,
            description=row.description,
            connections=connections,
            **{field: getattr(row, field) for field in PLACE},
            lorebook=self._plan.chosen_book(row.id, named, is_new=before is None),
            avatar=avatar,
            entry=entry,
        )
        if before is None or now.name != before.name:
            self._changes[*PERSONAS, avatar] = now.name
        if before is not None and now.with_(is_default=before.is_default, name=before.name) == before:
            return
        written = LooseObject(write_backup([now]), ReportBuilder()).nested("persona_descriptions").object(avatar)
        if not entry:
            self._changes[*DESCRIPTIONS, avatar] = written
        for key, value in written.items() if entry else ():
            self._changes[*DESCRIPTIONS, avatar, key] = value

    async def _connections(self) -> dict[UUID, tuple[Connection, ...]]:
        """What selects each persona, by the names that files have in this export."""
        rows = await self._session.scalars(
            select(PersonaConnection)
            .where(PersonaConnection.owner_id == self._owner_id, PersonaConnection.kind != "conversation")
            .order_by(PersonaConnection.position, PersonaConnection.created_at, PersonaConnection.id)
        )
        found: defaultdict[UUID, tuple[Connection, ...]] = defaultdict(tuple)
        for row in rows:
            key = self._plan.avatar(row.character_id) or row.key
            source = row.source if key == row.key or not row.source else {**row.source, "id": key}
            found[row.persona_id] += (Connection(kind=row.kind, key=key, source=source),)
        return found

    async def _tags(self) -> None:
        """The tags that a person has given characters, by the ids that they have in the file, or new ones."""
        rows = await self._session.execute(
            select(Character.id, Character.own_tags).where(
                Character.owner_id == self._owner_id, Character.status == "ready"
            )
        )
        for id, names in rows:
            avatar = self._plan.avatar(id)
            before = self._before.tags_of(avatar or "")
            if (
                avatar is None
                or (self._keeps_all and before)
                or {fold(name) for name in names} == {*map(fold, before.values())}
            ):
                continue
            self._put_tags(avatar, [tag for tag, name in before.items() if fold(name) in map(fold, names)], names)

    async def _tags_of_groups(self) -> None:
        """The same for spaces that are groups. Tags that there is no room for here stay in the file."""
        groups = {space.id: space.path for space in self._plan.spaces if space.path}
        viewer = Viewer(user_id=self._owner_id)
        for space_id, path in groups.items():
            space = await self._session.get_one(Space, space_id)
            key = read_group_file(space.prompt_settings.get(GROUP_FILE) or {}, path).id
            names = (await tags_of(self._session, viewer, [space_id])).get(space_id, ())
            before, here = self._before.file.tag_map.get(key, ()), named_tags(names)
            noted: dict[str, str] = space.prompt_settings.get(GROUP_TAGS, {})
            known = {id: named_tags([name]).keys() for id, name in noted.items() if id in before}
            gone = {id for id, keys in known.items() if keys.isdisjoint(here)}
            new = [name for tag, name in here.items() if not any(tag in keys for keys in known.values())]
            if gone or new:
                self._put_tags(key, [id for id in before if id not in gone], new)

    def _put_tags(self, key: str, kept: Sequence[str], names: Sequence[str]) -> None:
        for name in names:
            if fold(name) not in self._tag_ids:
                self._tag_ids[fold(name)] = str(uuid5(self._owner_id, name))
                self._changes[TAGS, next(self._tag_places)] = {
                    "id": self._tag_ids[fold(name)],
                    "name": name,
                    **_NEW_TAG,
                }
        self._changes[TAG_MAP, key] = list(dict.fromkeys([*kept, *(self._tag_ids[fold(name)] for name in names)]))

    async def _books(self) -> None:
        everywhere = self._merged(self._before.file.global_books, self._plan.books_of(self._owner_id))
        if everywhere != list(self._before.file.global_books):
            self._changes[GLOBAL_BOOKS] = everywhere
        lore = self._file.nested("world_info_settings").nested("world_info")
        listed = {one.text("name"): place for place, one in enumerate(lore.objects("charLore"))}
        new: list[Json] = []
        for id in self._plan.of("character"):
            name = stem_of(self._plan.avatar(id) or "")
            before, used = self._before.file.extra_books.get(name, ()), self._plan.books_of(id)
            if not (before or used):
                continue
            chosen, _named = await worlds_of(self._session, self._plan, id)
            extra = self._merged(before, [book for book in used if book != chosen])
            if extra != list(before) and name in listed:
                self._changes[*CHARACTER_BOOKS, listed[name], "extraBooks"] = extra
            elif extra != list(before):
                new.append({"name": name, "extraBooks": extra})
        if "charLore" in lore.source:
            places = enumerate(new, start=len(lore.items("charLore")))
            self._changes |= {(*CHARACTER_BOOKS, place): one for place, one in places}
        elif new:
            self._changes[CHARACTER_BOOKS] = new

    def _merged(self, before: Sequence[str], used: Sequence[str]) -> list[str]:
        """A list of books: those that were named and are not here stay, those that are used no more go."""
        stays = [name for name in before if self._keeps_all or name in used or not self._plan.has_book(name)]
        return [*stays, *(name for name in used if name not in stays)]

    async def _scripts(self) -> None:
        """Scripts are switched off at the import: one that differs in nothing else stays as it is in the file."""
        row: ScriptList | None = await self._session.scalar(
            select(ScriptList).where(ScriptList.owner_id == self._owner_id)
        )
        listed: Iterable[JsonObject] = () if row is None else row.data.get(SILLYTAVERN, ())
        before = list(self._before.scripts)
        left = {_mark(script): script for script in reversed(before)}
        by_id = {script["id"]: script for script in before if script.get("id")}
        now: list[JsonObject] = []
        for script in listed:
            known = left.get(_mark(script)) or by_id.get(script.get("id"))
            if known is None:
                now.append(script)
            elif _mark(known) == _mark(script):
                now.append(known)
            else:
                now.append({**script, "disabled": known.get("disabled", False)} if script.get("disabled") else script)
        if self._keeps_all:
            now = [*before, *(script for script in now if script not in before)]
        if now != before:
            self._changes[SCRIPTS] = now

    async def _variables(self) -> None:
        now, before = await read_globals(self._session, self._owner_id), self._before.file.variables
        for name, value in now.items():
            if name not in before or (before[name] != value and not self._keeps_all):
                self._changes[*VARIABLES, name] = value
        for name in before.keys() - now.keys() if not self._keeps_all else ():
            if _was_imported(name, before[name]):
                self._changes[*VARIABLES, name] = REMOVED

    async def _quick_replies(self) -> None:
        rows = await self._session.scalars(
            select(QuickReplyLink)
            .join(QuickReplySet, QuickReplySet.id == QuickReplyLink.set_id)
            .where(*is_own_set(self._owner_id), QuickReplyLink.space_id.is_(None))
            .order_by(QuickReplyLink.position, QuickReplyLink.created_at, QuickReplyLink.id)
        )
        used: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        for link in rows:
            name = stem_of(self._plan.paths["quick_replies", link.set_id])
            avatar = self._plan.avatar(link.character_id)
            if link.user_id is not None or avatar is not None:
                used[avatar or ""][name] = link.visible
        quick_replies = self._file.nested("extension_settings").nested("quickReplyV2")
        self._sets(SETS, quick_replies.nested("config"), used[""])
        for avatar in {*used, *self._before.file.character_quick_replies} - {""}:
            of_character = quick_replies.nested("characterConfigs").nested(avatar)
            self._sets((*SETS_OF_CHARACTERS, avatar, "setList"), of_character, used[avatar])

    def _sets(self, path: JsonPath, config: LooseObject, used: Mapping[str, bool]) -> None:
        """A list of sets in use; those that are not here stay in it."""
        before = [one.source for one in config.objects("setList")]
        now: list[JsonObject] = []
        for one in before:
            name = str(one.get("set"))
            if name not in self._sets_here or self._keeps_all or one.get("isVisible", True) == used.get(name):
                now.append(one)
            elif name in used:
                now.append({**one, "isVisible": used[name]})
        there = {one.get("set") for one in now}
        now += [{"set": name, "isVisible": visible} for name, visible in used.items() if name not in there]
        if now != before:
            self._changes[path] = now


_NEW_TAG: JsonObject = {"folder_type": "NONE", "filter_state": "UNDEFINED", "sort_order": 0, "color": "", "color2": ""}
"""What SillyTavern says about a tag that nobody has decorated."""


def _mark(script: JsonObject) -> str:
    """What a script says, but for its id, and whether it is in use."""
    return repr(sorted((key, value) for key, value in script.items() if key not in ("id", "disabled")))


def _was_imported(name: str, value: Json) -> bool:
    """Whether a variable of the file could become one here."""
    try:
        check_variable(name, value)
    except Refused:
        return False
    return True
