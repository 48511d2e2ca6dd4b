"""Characters and groups of RisuAI. Which character one is, its id says: namesakes are several characters.

A character becomes the card that RisuAI would export, so that prompts are built of it as of every card of RisuAI. The
files that it names become the card's; their addresses in the card are RisuAI's paths. A group becomes a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from io import SEEK_END

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters import Asset, AssetReference, Bundle, CharacterCard, read_card
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.blobs.store import MAX_BLOB_BYTES
from tavernkit.playground.base.database.models import Character, Space, SpaceMembership, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.access.access import append_space_event, character_name
from tavernkit.playground.story.characters.cards import UNNAMED
from tavernkit.playground.story.characters.files import MAX_ASSETS_BYTES, PreparedFile, prepare_bundle
from tavernkit.playground.story.characters.importing import store_file
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.outcomes import imported, kept_here, notes_of, some, step_for
from tavernkit.playground.story.migration.risuai_source import asset_bytes, loose, part_at, read_part, target_with_id
from tavernkit.playground.story.migration.risuai_spaces import new_space, set_lore
from tavernkit.playground.story.runs.round_control import members_changed
from tavernkit.playground.story.scripts.documents import DISABLED, MAX_SCRIPTS, Fields
from tavernkit.playground.story.scripts.service import change_list
from tavernkit.playground.story.settings_schema.resolving import apply_changes, read_patch
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.cards import export_card
from tavernkit.risuai.character import RisuCharacter, read_character
from tavernkit.values import Json, JsonObject, Value

EMBEDDED = "embeded://"
"""What stands in a card before the path of a file; the misspelling is the specification's."""
GROUP = "group"
UNUSED: Mapping[str, str] = {
    "virtualscript": _("a script"),
    "vits": _("a voice"),
    "backgroundHTML": _("HTML"),
    "backgroundCSS": _("CSS"),
}
"""Fields of a character that nothing here runs or shows."""


class PreparedCharacter(Value, frozen=True, kw_only=True):
    """A character as a card file holds it, or a group without one; one that is `in_trash` is not imported."""

    fields: dict[str, Json]
    card: PreparedFile | None
    in_trash: bool
    notes: tuple[str, ...] = ()


class RisuCharacterHandler:
    """Characters become characters, and groups become spaces."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedCharacter:
        fields = read_part(data, item.path)
        in_trash = bool(fields.get("trashTime"))
        if in_trash or fields.get("type") == GROUP:
            return PreparedCharacter(fields=fields, card=None, in_trash=in_trash)
        report = ReportBuilder()
        character = read_character(LooseObject(fields, report))
        notes = notes_of(report.build("risuai"))
        card = card_of(character)
        image, assets = _files(job, fields, card, notes)
        bundle = Bundle(format="charx", card=card, report=ReportBuilder().build("risuai"), image=image, assets=assets)
        prepared = prepare_bundle(bundle, sha256=item.sha256)
        return PreparedCharacter(
            fields=fields, card=prepared, in_trash=False, notes=(*notes, *prepared.notes, *_unused(fields))
        )

    async def store(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedCharacter
    ) -> ItemOutcome:
        if prepared.in_trash:
            return ItemOutcome(
                verdict="kept",
                notes=(_("It is in the trash of RisuAI. To import it, restore it there and make a new backup."),),
            )
        if prepared.card is None:
            return await _store_group(session, job, item, prepared.fields)
        step, target = step_for(item), None
        if step == "keep":
            return kept_here(item)
        if step == "replace" and item.target_id is not None:
            target = await find_character(session, item.target_id, job.viewer, to_change=True)
        stored = await store_file(
            session, job.runtime, job.viewer.user_id, prepared.card, target=target, as_new=True, links_book=False
        )
        scripts = loose(prepared.fields).items("customscript")
        told = []
        if scripts and not job.choices.enable_scripts:
            told.append(
                ngettext(
                    "It has {count} regex script. Scripts are switched off in its imported chats.",
                    "It has {count} regex scripts. Scripts are switched off in its imported chats.",
                    len(scripts),
                )
            )
        return imported(item, "character", stored.character.id, converted=prepared.notes, notes=told)


def card_of(character: RisuCharacter) -> CharacterCard:
    """The card that RisuAI would write, whose assets are at its own paths."""
    if not character.name.strip():
        character = character.with_(name=UNNAMED)
    modified = character.written.get("modification_date")
    exported = export_card(character, modified=modified if isinstance(modified, int) else 0, has_picture=False)
    card, _report = read_card(exported)
    references = [_readdressed(reference) for reference in card.character.assets or ()]
    # A file that several name is stored as what the first of them says it is.
    references.sort(key=lambda reference: reference.type != "emotion")
    return card.with_(character=card.character.with_(assets=tuple(references)))


def _readdressed(reference: AssetReference) -> AssetReference:
    is_path = reference.uri.startswith("assets/")
    return reference.with_(uri=f"{EMBEDDED}{reference.uri}") if is_path else reference


def _files(
    job: ImportJob, fields: JsonObject, card: CharacterCard, notes: list[str]
) -> tuple[bytes | None, tuple[Asset, ...]]:
    """The picture of a character, and the files that its card names, as many as can be stored."""
    source, image, missing, left_out = loose(fields), None, list[str](), 0
    if path := source.text("image"):
        image = asset_bytes(job, path)
        if image is None:
            missing.append(path)
    assets: dict[str, Asset] = {}
    size = 0
    for uri in dict.fromkeys(reference.uri for reference in card.character.assets or ()):
        if not uri.startswith(EMBEDDED):
            continue
        name = uri.removeprefix(EMBEDDED)
        length = _length(job, name)
        if length is None:
            missing.append(name)
        elif length > MAX_BLOB_BYTES or size + length > MAX_ASSETS_BYTES:
            left_out += 1
        else:
            size += length
            assets[name] = Asset(name=name, uri=uri, load=partial(_bytes, job, name))
    if missing:
        notes.append(_("Files that are missing: {names}.", names=some(missing)))
    if left_out:
        notes.append(
            ngettext(
                "{count} file is kept and not shown, because the files of a character are too large.",
                "{count} files are kept and not shown, because the files of a character are too large.",
                left_out,
            )
        )
    return image, tuple(assets.values())


def _bytes(job: ImportJob, path: str) -> bytes:
    return asset_bytes(job, path) or b""


def _length(job: ImportJob, path: str) -> int | None:
    """How many bytes a file has; None where it is not there."""
    try:
        with job.source.open(path) as file:
            return file.seek(0, SEEK_END)
    except TavernKitError:
        return None


def _unused(fields: JsonObject) -> list[str]:
    named = [str(label) for key, label in UNUSED.items() if fields.get(key)]
    has_lua = any(_runs_lua(trigger.source) for trigger in loose(fields).objects("triggerscript"))
    named += [_("Lua")] if has_lua else []
    return [_("Kept and never run: {names}.", names=some(named))] if named else []


def _runs_lua(trigger: Mapping[str, Json]) -> bool:
    return any(effect.text("type") == "triggerlua" for effect in loose(trigger).objects("effect"))


class RisuGroupMember(Value, frozen=True, kw_only=True):
    """A character of a group: how likely it speaks, and whether it is muted."""

    id: str
    talkativeness: float | None
    is_muted: bool


def members_of_group(fields: JsonObject) -> list[RisuGroupMember]:
    """The members of a group in their order."""
    source = loose(fields)
    talks, active = source.items("characterTalks"), source.items("characterActive")
    members: dict[str, RisuGroupMember] = {}
    for place, id in enumerate(source.texts("characters")):
        talk = talks[place] if place < len(talks) else None
        is_number = isinstance(talk, int | float) and not isinstance(talk, bool)
        members.setdefault(
            id,
            RisuGroupMember(
                id=id,
                talkativeness=min(max(float(str(talk)), 0.0), 1.0) if is_number else None,
                is_muted=place < len(active) and active[place] is False,
            ),
        )
    return list(members.values())


async def _store_group(session: AsyncSession, job: ImportJob, item: Item, fields: dict[str, Json]) -> ItemOutcome:
    """Make a space of a group, or let the space that it became be as the group is now."""
    source, members, missing = loose(fields), members_of_group(fields), []
    cast: list[tuple[RisuGroupMember, Character]] = []
    for member in members:
        id = await target_with_id(session, job, "characters", member.id)
        row = None if id is None else await session.get(Character, id)
        if row is None or row.status != "ready":
            missing.append(part_at(job, f"characters/{member.id}.json").get("name") or member.id)
        else:
            cast.append((member, row))
    step, name = step_for(item), titled(source.text("name"), str(_("Group")))
    if step == "keep":
        return kept_here(item)
    if step == "replace" and item.target_id is not None:
        space = await session.get_one(Space, item.target_id, with_for_update=True)
        space.name, space.settings_version, space.updated_at = name, space.settings_version + 1, job.runtime.clock()
    else:
        owner = await session.get_one(User, job.viewer.user_id)
        space = await new_space(session, job, owner, [character for _member, character in cast], fields, name=name)
    order = "list" if source.flag("orderByOrder") else "natural"
    patch = {"reply_order": order, "auto_mode_enabled": source.flag("autoMode")}
    apply_changes(space, read_patch({"space": patch}, "space"))
    await _arrange(session, job, space, cast)
    await set_lore(session, job, item, source.items("globalLore"), name=name, space_id=space.id)
    await _set_scripts(session, job, space, source)
    await session.flush()
    await append_space_event(session, space.id, "members", job.runtime.clock())
    await members_changed(session, job.runtime, space.id)
    notes = [_("Members that were not imported: {names}.", names=some([storable(str(one)) for one in missing]))]
    return imported(item, "space", space.id, converted=notes if missing else ())


async def _arrange(
    session: AsyncSession, job: ImportJob, space: Space, cast: list[tuple[RisuGroupMember, Character]]
) -> None:
    """Let the characters of a space be those of a group, in their order."""
    query = select(SpaceMembership).where(SpaceMembership.space_id == space.id, SpaceMembership.kind == "character")
    known = {row.character_id: row for row in await session.scalars(query)}
    now = job.runtime.clock()
    for position, (member, character) in enumerate(cast, start=1):
        row = known.pop(character.id, None)
        if row is None:
            row = SpaceMembership(
                id=job.runtime.ids(),
                space_id=space.id,
                kind="character",
                character_id=character.id,
                cached_display_name=character_name(character),
                created_at=now,
            )
            session.add(row)
        row.position, row.status, row.removed_at = position, "active", None
        row.participation = "muted" if member.is_muted else "active"
        row.talkativeness = member.talkativeness
    for row in known.values():
        if row.status == "active" and row.character_id is not None:
            row.status, row.removed_at, row.removed_by_id = "removed", now, job.viewer.user_id


async def _set_scripts(session: AsyncSession, job: ImportJob, space: Space, source: LooseObject) -> None:
    """Add the regex scripts of a group that its space has not yet; switched off, unless somebody chose otherwise."""
    scripts = [presentable(dict(one.source)) for one in source.objects("customscript")]
    if not scripts:
        return
    off = {} if job.choices.enable_scripts else {"type": DISABLED}

    def change(listed: list[Fields]) -> list[Fields]:
        known = [{**one, "type": ""} for one in listed]
        return [*listed, *({**one, **off} for one in scripts if {**one, "type": ""} not in known)][:MAX_SCRIPTS]

    await change_list(session, job.runtime, {"space_id": space.id}, "risuai", change)
