"""The settings file of a folder: what of it has a place here, and a note about each part.

The settings of the import before are known, so that only what has changed in them since is taken over: what somebody
has changed or taken away here stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from tavernkit.migration.files import FileKind
from tavernkit.migration.settings_file import QuickReplyChoice, SettingsReference
from tavernkit.playground.base.database.models import (
    Character,
    ImportedFile,
    ImportItem,
    LorebookLink,
    QuickReplyLink,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration.groups import give_groups_tags
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.known_settings import (
    FolderSettings,
    known_settings,
    read_folder_settings,
    remember,
)
from tavernkit.playground.story.migration.lorebooks import book_of, link_world
from tavernkit.playground.story.migration.of_characters import give_settings
from tavernkit.playground.story.migration.outcomes import some, stem_of
from tavernkit.playground.story.migration.personas import store_personas
from tavernkit.playground.story.migration.presets import FOLDERS
from tavernkit.playground.story.migration.quick_replies import sets_of
from tavernkit.playground.story.migration.space_defaults import store_presets_in_use
from tavernkit.playground.story.paths.variables import GlobalChanges, change_globals, check_variable, read_globals
from tavernkit.playground.story.personas.service import lock_owner
from tavernkit.playground.story.presets.queries import default_preset_id
from tavernkit.playground.story.presets.service import store_default
from tavernkit.playground.story.quick_replies.service import use_at
from tavernkit.playground.story.scripts.documents import DISABLED, MAX_SCRIPTS, Fields
from tavernkit.playground.story.scripts.service import change_list, completed
from tavernkit.values import Json, JsonObject

CHARACTERS_AT_ONCE = 200
PATHS_AT_ONCE = 500
MISSING_NAMED = 50
_PRESETS = {
    "openai": FOLDERS["chat"],
    "textgenerationwebui": FOLDERS["text"],
    "sysprompt": FOLDERS["system_prompt"],
    **{kind: FOLDERS[kind] for kind in ("instruct", "context", "reasoning")},
}
"""Where the presets are of the kinds that SillyTavern calls so."""


class SettingsHandler:
    """Imports the settings."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> FolderSettings:
        return read_folder_settings(data)

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: FolderSettings) -> ItemOutcome:
        settings, before = prepared, await known_settings(session, job) or FolderSettings()
        await lock_owner(session, job.viewer)
        user = (settings.file.user_avatar, settings.file.user_name)
        notes = [
            *await store_personas(session, job, item, settings.personas, user),
            *await _store_about_characters(session, job, settings, before),
            *await _store_global_books(session, job, settings, before),
            *await _store_scripts(session, job, item, settings, before),
            *await _store_quick_replies(session, job, settings, before),
            *await _store_variables(session, job, item, settings, before),
            *await _store_presets(session, job, settings),
            *await _missing(session, job, settings),
            _(
                "New stories of this import get the preset in use, the author's notes, the background and the settings "
                "of lorebooks and macros. Everything else is kept."
            ),
        ]
        remember(job, settings)
        return ItemOutcome(
            verdict="converted", target_kind="settings", target_id=job.viewer.user_id, notes=tuple(notes)
        )


HANDLERS: Mapping[FileKind, ItemHandler] = {"settings": SettingsHandler()}


async def _store_about_characters(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Give characters their tags and further lorebooks, and groups their tags."""
    cards = await _cards(session, job)
    stems = {stem_of(avatar): avatar for avatar in cards}
    extra = settings.file.extra_books
    wanted = {*settings.file.tag_map, *before.file.tag_map, *(stems[card] for card in extra if card in stems)}
    tagged = 0
    avatars = {cards[avatar]: avatar for avatar in sorted(wanted) if avatar in cards}
    ids = iter(avatars)
    columns = load_only(Character.search_text, Character.tags, Character.own_tags, Character.file)
    while some_ids := list(islice(ids, CHARACTERS_AT_ONCE)):
        of_them = select(Character).where(Character.id.in_(some_ids), Character.status == "ready")
        for row in await session.scalars(of_them.options(columns).with_for_update()):
            avatar = avatars[row.id]
            await give_settings(session, job, settings, row, avatar, before=before)
            tagged += bool(settings.tags_of(avatar))
        await session.flush()
    await give_groups_tags(session, job, settings)
    notes: list[str] = []
    if tagged:
        notes.append(ngettext("{count} character has tags.", "{count} characters have tags.", tagged))
    if settings.file.tags:
        notes.append(_("Colors and folders of tags are kept."))
    return notes


async def _store_global_books(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Use the global lorebooks in all stories."""
    user_id, books = job.viewer.user_id, settings.file.global_books
    for stem in before.file.global_books:
        book_id = None if stem in books else await book_of(session, job, stem)
        if book_id is not None:
            unlinked = delete(LorebookLink).where(LorebookLink.lorebook_id == book_id, LorebookLink.user_id == user_id)
            await session.execute(unlinked)
    new = [stem for stem in books if stem not in before.file.global_books]
    linked = [stem for stem in new if await link_world(session, job, stem, user_id=user_id)]
    return [_("Lorebooks in all stories: {names}.", names=some(linked))] if linked else []


async def _store_scripts(
    session: AsyncSession, job: ImportJob, item: Item, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Add the global regex scripts, switched off unless somebody has chosen otherwise: that SillyTavern ran them is no
    consent to run them here."""
    added, conflicts, notes = 0, list[str](), list[str]()

    def change(listed: list[Fields]) -> list[Fields]:
        nonlocal added
        for script in settings.scripts:
            earlier = _same(script, before.scripts)
            here = _same(script, listed)
            if here is None and earlier is None:
                if len(listed) >= MAX_SCRIPTS:
                    notes.append(_("There are too many scripts. The limit is {limit}. Delete some.", limit=MAX_SCRIPTS))
                    break
                try:
                    new = completed(job.runtime, "sillytavern", script)
                except Refused as refused:
                    notes.append(refused.sentence)
                    continue
                listed.append(new if job.choices.enable_scripts else {**new, DISABLED: True})
                added += 1
            elif here is not None and earlier is not None and _said(script) != _said(earlier):
                if _said(here) != _said(earlier) and item.conflict != "replace":
                    conflicts.append(str(script.get("scriptName", "")))
                else:
                    place = listed.index(dict(here))
                    listed[place] = {**completed(job.runtime, "sillytavern", script), DISABLED: here.get(DISABLED)}
        return listed

    if settings.scripts != before.scripts:
        await change_list(session, job.runtime, {"owner_id": job.viewer.user_id}, "sillytavern", change)
    if added and job.choices.enable_scripts:
        notes.append(ngettext("{count} regex script was added.", "{count} regex scripts were added.", added))
    elif added:
        notes.append(
            ngettext(
                "{count} regex script was added. It is off until you enable it.",
                "{count} regex scripts were added. They are off until you enable them.",
                added,
            )
        )
    return [*notes, *_conflicts(_("Regex scripts"), conflicts)]


def _same(script: JsonObject, among: Iterable[JsonObject]) -> JsonObject | None:
    """The script that this one is a version of: that of its id; if it has none, one that says the same."""
    id = script.get("id")
    return next((one for one in among if (one.get("id") == id if id else _said(one) == _said(script))), None)


def _said(script: JsonObject) -> JsonObject:
    return {key: value for key, value in script.items() if key not in ("id", DISABLED)}


async def _store_quick_replies(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Use sets of quick replies where the settings use them."""
    used, earlier = settings.file, before.file
    sets, cards = await sets_of(session, job), await _cards(session, job)
    places: list[tuple[dict[str, UUID], Sequence[QuickReplyChoice], Sequence[QuickReplyChoice]]] = [
        ({"user_id": job.viewer.user_id}, used.quick_replies, earlier.quick_replies),
        *(
            ({"character_id": cards[avatar]}, listed, earlier.character_quick_replies.get(avatar, ()))
            for avatar, listed in used.character_quick_replies.items()
            if avatar in cards
        ),
    ]
    for columns, listed, known in places:
        for choice in listed:
            if choice.name in sets and choice not in known:
                await use_at(job.runtime, session, sets[choice.name], columns, visible=choice.is_visible)
        kept = {choice.name for choice in listed}
        gone = [sets[choice.name].id for choice in known if choice.name not in kept and choice.name in sets]
        if gone:
            ((column, place),) = columns.items()
            of_place = (QuickReplyLink.set_id.in_(gone), getattr(QuickReplyLink, column) == place)
            await session.execute(delete(QuickReplyLink).where(*of_place))
    shown = [choice.name for choice in used.quick_replies if choice.name in sets]
    return [_("Quick replies in all stories: {names}.", names=some(shown))] if shown else []


async def _store_variables(
    session: AsyncSession, job: ImportJob, item: Item, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Set global variables that nobody has set here, or that were changed in the folder alone."""
    known = await read_globals(session, job.viewer.user_id)
    new: dict[str, Json] = {}
    conflicts: list[str] = []
    unusable: list[str] = []
    earlier = before.file.variables
    for name, value in settings.file.variables.items():
        if name in known and known[name] == value:
            continue
        is_as_before = name in earlier and known.get(name) == earlier[name]
        if name in known and not is_as_before and item.conflict != "replace":
            conflicts.append(name)
            continue
        try:
            check_variable(name, value)
        except Refused:
            unusable.append(name)
        else:
            new[name] = value
    if new:
        await change_globals(session, job.viewer.user_id, GlobalChanges(set=new), job.runtime.clock())
    notes: list[str] = []
    if new:
        notes.append(ngettext("{count} global variable was set.", "{count} global variables were set.", len(new)))
    if unusable:
        notes.append(_("Global variables that are too long: {names}.", names=some(unusable)))
    return [*notes, *_conflicts(_("Global variables"), conflicts)]


def _conflicts(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [_("{what} that have another value here, which was kept: {names}.", what=what, names=some(names))]


async def _store_presets(session: AsyncSession, job: ImportJob, settings: FolderSettings) -> list[str]:
    """Let the presets in use be those of new stories; the main one is the person's default if they have none."""
    found = await store_presets_in_use(session, job, settings)
    main = found.get("chat") or found.get("text")
    if main is not None and await default_preset_id(session, job.viewer.user_id) is None:
        await store_default(job.runtime, session, job.viewer.user_id, main.id)
    if not found:
        return []
    return [_("Presets in use: {names}.", names=some([row.name for row in found.values()]))]


async def _missing(session: AsyncSession, job: ImportJob, settings: FolderSettings) -> list[str]:
    """Which files the settings name that are not among the files of the source."""
    spellings = {paths[0]: paths for one in settings.file.references if (paths := _paths(one))}
    every = [path for paths in spellings.values() for path in paths]
    there: set[str] = set()
    for start in range(0, len(every), PATHS_AT_ONCE):
        paths = every[start : start + PATHS_AT_ONCE]
        imported = select(ImportedFile.path).where(
            ImportedFile.source_id == job.source_id, ImportedFile.path.in_(paths)
        )
        scanned = select(ImportItem.path).where(ImportItem.import_id == job.import_id, ImportItem.path.in_(paths))
        there |= {*await session.scalars(imported), *await session.scalars(scanned)}
    missing = [path for path, paths in spellings.items() if not there.intersection(paths)]
    if not missing:
        return []
    sentence = ngettext(
        "The settings name {count} file that is missing: {names}.",
        "The settings name {count} files that are missing: {names}.",
        len(missing),
        names=some(missing, MISSING_NAMED),
    )
    return [sentence]


def _paths(reference: SettingsReference) -> list[str]:
    """Where the file that the settings name can be."""
    name = reference.name
    match reference.kind:
        case "character":
            return [f"characters/{name}"]
        case "character_stem":
            return [f"characters/{name}.png", f"characters/{name}.webp"]
        case "group":
            return [f"groups/{name}.json"]
        case "world":
            return [f"worlds/{name}.json"]
        case "persona_picture":
            return [f"User Avatars/{name}"]
        case "quick_replies":
            return [f"QuickReplies/{name}.json"]
        case "background":
            return [f"backgrounds/{name}"]
        case "file":
            return [unquote(name).lstrip("/")]
        case "preset":
            # A selected preset of KoboldAI or NovelAI may be built in.
            folder = _PRESETS.get(reference.detail)
            return [f"{folder}/{name}.{ending}" for ending in ("json", "settings")] if folder else []


async def _cards(session: AsyncSession, job: ImportJob) -> dict[str, UUID]:
    """The characters of this source by the files of their cards."""
    rows = await session.execute(
        select(ImportedFile.path, ImportedFile.target_id).where(
            ImportedFile.source_id == job.source_id,
            ImportedFile.kind == "character",
            ImportedFile.target_kind == "character",
        )
    )
    return {PurePosixPath(path).name: id for path, id in rows if id is not None}
