"""The settings file of a folder: what of it has a place here, and a note about each part.

The settings of the import before are known, so that only what has changed in them since is taken over: what somebody
has changed or taken away here stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import Character, ImportedFile, LorebookLink, QuickReplyLink
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, Outcome
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


class SettingsHandler:
    """Imports the settings."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> FolderSettings:
        return read_folder_settings(data)

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: FolderSettings) -> Outcome:
        settings, before = prepared, await known_settings(session, job) or FolderSettings()
        await lock_owner(session, job.viewer)
        user = (settings.user_avatar, settings.username)
        notes = [
            *await store_personas(session, job, item, settings.personas, user),
            *await _store_about_characters(session, job, settings, before),
            *await _store_global_books(session, job, settings, before),
            *await _store_scripts(session, job, item, settings, before),
            *await _store_quick_replies(session, job, settings, before),
            *await _store_variables(session, job, item, settings, before),
            *await _store_presets(session, job, settings),
            _(
                "New stories of this import get the preset in use, the author's notes, the background and the settings "
                "of lorebooks and macros. Everything else is kept."
            ),
        ]
        remember(job, settings)
        return Outcome(verdict="converted", target_kind="settings", target_id=job.viewer.user_id, notes=tuple(notes))


HANDLERS: Mapping[FileKind, ItemHandler] = {"settings": SettingsHandler()}


async def _store_about_characters(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Give characters their tags and further lorebooks."""
    cards = await _cards(session, job)
    stems = {stem_of(avatar): avatar for avatar in cards}
    wanted = {
        *settings.tag_map,
        *before.tag_map,
        *(stems[card] for card in settings.extra_books if card in stems),
    }
    tagged, missing = 0, list[str]()
    avatars = {cards[avatar]: avatar for avatar in sorted(wanted) if avatar in cards}
    ids = iter(avatars)
    columns = load_only(Character.search_text, Character.tags, Character.own_tags, Character.file)
    while some_ids := list(islice(ids, CHARACTERS_AT_ONCE)):
        of_them = select(Character).where(Character.id.in_(some_ids), Character.status == "ready")
        for row in await session.scalars(of_them.options(columns).with_for_update()):
            avatar = avatars[row.id]
            missing += await give_settings(session, job, settings, row, avatar, before=before)
            tagged += bool(settings.tags_of(avatar))
        await session.flush()
    notes: list[str] = []
    if tagged:
        notes.append(ngettext("{count} character has tags.", "{count} characters have tags.", tagged))
    if settings.tags:
        notes.append(_("Colors and folders of tags, and tags of groups, are kept."))
    lost = sorted(card for card, books in settings.extra_books.items() if books and card not in stems)
    if lost:
        notes.append(_("Further lorebooks of characters that are missing: {names}.", names=some(lost)))
    return [*notes, *_missing_books(missing)]


async def _store_global_books(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Use the global lorebooks in all stories."""
    user_id = job.viewer.user_id
    for stem in before.global_books:
        book_id = None if stem in settings.global_books else await book_of(session, job, stem)
        if book_id is not None:
            unlinked = delete(LorebookLink).where(LorebookLink.lorebook_id == book_id, LorebookLink.user_id == user_id)
            await session.execute(unlinked)
    new = [stem for stem in settings.global_books if stem not in before.global_books]
    missing = [stem for stem in new if not await link_world(session, job, stem, user_id=user_id)]
    linked = [stem for stem in new if stem not in missing]
    notes = [_("Lorebooks in all stories: {names}.", names=some(linked))] if linked else []
    return [*notes, *_missing_books(missing)]


def _missing_books(stems: Sequence[str]) -> list[str]:
    return [_("Lorebooks that are missing: {names}.", names=some(list(dict.fromkeys(stems))))] if stems else []


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
    """The script that this one is a version of: of the same id, or else the same in everything."""
    id = script.get("id")
    return next((one for one in among if (id and one.get("id") == id) or _said(one) == _said(script)), None)


def _said(script: JsonObject) -> JsonObject:
    return {key: value for key, value in script.items() if key not in ("id", DISABLED)}


async def _store_quick_replies(
    session: AsyncSession, job: ImportJob, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Use sets of quick replies where the settings use them."""
    used, earlier = settings.quick_replies, before.quick_replies
    if used == earlier:
        return []
    sets, cards, missing = await sets_of(session, job), await _cards(session, job), list[str]()
    places: list[tuple[dict[str, UUID], Sequence[tuple[str, bool]], Sequence[tuple[str, bool]]]] = [
        ({"user_id": job.viewer.user_id}, used.everywhere, earlier.everywhere),
        *(
            ({"character_id": cards[avatar]}, listed, earlier.characters.get(avatar, ()))
            for avatar, listed in used.characters.items()
            if avatar in cards
        ),
    ]
    for columns, listed, known in places:
        for name, visible in listed:
            if name not in sets:
                missing.append(name)
            elif (name, visible) not in known:
                await use_at(job.runtime, session, sets[name], columns, visible=visible)
        kept = {name for name, _visible in listed}
        gone = [sets[name].id for name, _visible in known if name not in kept and name in sets]
        if gone:
            ((column, place),) = columns.items()
            of_place = (QuickReplyLink.set_id.in_(gone), getattr(QuickReplyLink, column) == place)
            await session.execute(delete(QuickReplyLink).where(*of_place))
    shown = [name for name, _visible in used.everywhere if name in sets]
    notes: list[str] = [_("Quick replies in all stories: {names}.", names=some(shown))] if shown else []
    if missing:
        notes.append(_("Quick replies that are missing: {names}.", names=some(missing)))
    return notes


async def _store_variables(
    session: AsyncSession, job: ImportJob, item: Item, settings: FolderSettings, before: FolderSettings
) -> list[str]:
    """Set global variables that nobody has set here, or that were changed in the folder alone."""
    known = await read_globals(session, job.viewer.user_id)
    new: dict[str, Json] = {}
    conflicts: list[str] = []
    unusable: list[str] = []
    for name, value in settings.variables.items():
        if known.get(name) == value and name in known:
            continue
        is_as_before = name in before.variables and known.get(name) == before.variables[name]
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
