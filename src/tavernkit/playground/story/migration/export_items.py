"""What is in the files of an export that are written anew: each kind as SillyTavern reads it."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote
from uuid import UUID

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.chats.pictures import data_of, with_addresses
from tavernkit.migration.files import FileKind
from tavernkit.migration.names import sanitised
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.media_types import media_type_of
from tavernkit.playground.base.database.models import (
    ArtifactHead,
    Blob,
    Character,
    CharacterAsset,
    CharacterVersion,
    Conversation,
    ImportedFile,
    LorebookLink,
    Message,
    MessagePicture,
    MessageSwipe,
    PipelineProfile,
    Preset,
    ScriptList,
    Space,
)
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.personas import locked_persona
from tavernkit.playground.story.characters.files import SPRITES
from tavernkit.playground.story.chatfiles.exporting import FolderNames, encoded, export_chat, written_chat
from tavernkit.playground.story.lorebooks.links import CARD, CHAT
from tavernkit.playground.story.migration.characters import character_bytes
from tavernkit.playground.story.migration.export_paths import name_of, stem_of
from tavernkit.playground.story.migration.export_plan import ExportPlan, PlannedConversation, PlannedSpace
from tavernkit.playground.story.migration.known_settings import source_settings
from tavernkit.playground.story.migration.markers import is_as_imported, marker_of
from tavernkit.playground.story.migration.pictures import BACKGROUNDS, expression_of, read_background
from tavernkit.playground.story.migration.presets import FOLDERS
from tavernkit.playground.story.paths.pictures import EMOTION
from tavernkit.text.js_json import from_json, to_json
from tavernkit.values import Json

INDENT = 4
"""SillyTavern's own files are indented by so much."""
PICTURES = "user/images"
_BOOK, _PERSONA, _BACKGROUND = "world_info", "persona", "custom_background"
"""What the header of a chat names."""
_INLINE = "data:image/"
_PARTS: Mapping[str, str] = {
    "instruct": "instruct",
    "context": "context",
    "sysprompt": "system_prompt",
    "reasoning": "reasoning",
    "preset": "text",
}
"""What a master export has, and the kind of preset that each part is."""


@dataclass(eq=False, kw_only=True)
class Exporting:
    """An export while it is carried out. Pictures of messages get `pictures` as their paths, by their folders and
    hashes; `pending` are those that are yet to be written. `backgrounds` are the files of those that were chosen here,
    by spaces; `media` are the files that the chats of a selection name."""

    runtime: Runtime
    viewer: Viewer
    plan: ExportPlan
    names: FolderNames
    pictures: dict[tuple[str, str], str] = field(default_factory=dict)
    pending: list[tuple[str, str]] = field(default_factory=list)
    backgrounds: dict[UUID, str] = field(default_factory=dict)
    media: set[str] = field(default_factory=set)


def written_json(document: Json) -> bytes:
    """A file as SillyTavern writes it."""
    return to_json(document, indent=INDENT).encode("utf-8", "replace")


async def preset_parts(session: AsyncSession, plan: ExportPlan, id: UUID) -> list[tuple[str, bytes]]:
    """A master export, which has no folder of its own: the path and the bytes of each part."""
    row = await session.get_one(Preset, id)
    parts: list[tuple[str, bytes]] = []
    for part, kind in _PARTS.items():
        document = row.data.get(part)
        if isinstance(document, dict):
            own = document.get("name")
            name = own if isinstance(own, str) and own else row.name
            parts.append((plan.free.give(FOLDERS[kind], name, ".json"), written_json(document)))
    return parts


async def card_bytes(work: Exporting, session: AsyncSession, id: UUID) -> bytes:
    """A card in its picture, which names the book that is used with it."""
    png = await character_bytes(work.runtime, session, id)
    world = await changed_world(session, work.plan, id)
    return png if world is None else await asyncio.to_thread(_with_world, png, world)


async def name_as_png(session: AsyncSession, plan: ExportPlan) -> None:
    """Give cards that were imported in another format and are written anew the path of a PNG."""
    for id in plan.of("character"):
        path = plan.paths["character", id]
        if ("character", id) not in plan.imported or path.lower().endswith(".png") or plan.source is None:
            continue
        file = await session.get_one(ImportedFile, (plan.source.id, path))
        is_same = is_as_imported(file, await marker_of(session, "character", id))
        if not is_same or await changed_world(session, plan, id) is not None:
            plan.paths["character", id] = plan.free.give("characters", stem_of(path), ".png")


def _with_world(png: bytes, world: str) -> bytes:
    card = characters.load(png).card
    extensions: dict[str, Json] = {**card.character.extensions, "world": world}
    return characters.to_png(card.with_(character=card.character.with_(extensions=extensions)), png)


async def changed_world(session: AsyncSession, plan: ExportPlan, id: UUID) -> str | None:
    """The book that a card is to name where it names another one; None where it need not be changed."""
    chosen, named = await worlds_of(session, plan, id)
    return None if chosen == named else chosen


async def worlds_of(session: AsyncSession, plan: ExportPlan, id: UUID) -> tuple[str, str]:
    """The book that a card is to name, and the one that it names."""
    data = await session.scalar(select(Character.data).where(Character.id == id))
    named, is_new = _named(data, *CARD), ("character", id) not in plan.imported
    return plan.chosen_book(id, named, is_new=is_new, names_none=not is_new and not named), named


async def changed_chat_book(session: AsyncSession, plan: ExportPlan, id: UUID, space_id: UUID) -> str | None:
    """The book that a chat is to name where it names another one; None where it need not be changed."""
    settings = await session.scalar(select(Conversation.settings).where(Conversation.id == id))
    named, is_new = _named(settings, *CHAT), ("conversation", id) not in plan.imported
    chosen = plan.chosen_book(id, named, is_new=is_new)
    if is_new and not chosen:
        # A space can have several books for all its chats; a chat has one.
        chosen = next(iter(plan.books_of(space_id)), "")
    return None if chosen == named else chosen


def _named(document: Json, *path: str) -> str:
    """The name of a book at a path of a document, exactly as it stands there."""
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document if isinstance(document, str) else ""


async def chat_pieces(work: Exporting, space: PlannedSpace, conversation: PlannedConversation) -> AsyncIterator[bytes]:
    """A conversation, with links to those that were made from it. Its pictures become files, which are yet to be
    written."""
    export = await export_chat(work.runtime, work.viewer, conversation.id, work.names)
    async with work.runtime.database.read() as session:
        book = await changed_chat_book(session, work.plan, conversation.id, space.id)
        stored = set(await session.scalars(_pictures_of(conversation.id)))
        persona = await locked_persona(session, conversation.id, work.viewer.user_id)
    if export.header is not None:
        named = {} if book is None else {_BOOK: book}
        if space.id in work.backgrounds:
            named[_BACKGROUND] = address_of(work.backgrounds[space.id])
        if persona is not None and ("persona", persona.id) in work.plan.paths:
            named[_PERSONA] = name_of(work.plan.paths["persona", persona.id])
        metadata = {
            key: value for key, value in {**export.header.chat_metadata, **named}.items() if value or key not in named
        }
        export = export.with_(header=export.header.with_(chat_metadata=metadata))
    folder = f"{PICTURES}/{_folder_name(space)}"
    async for piece in written_chat(work.runtime, export, "jsonl"):
        if stored and _INLINE in piece:
            piece = "\n".join(_with_files(work, line, folder, stored) for line in piece.split("\n"))
        yield encoded(piece)


def _pictures_of(conversation_id: UUID) -> Select[str]:
    return (
        select(MessagePicture.sha256)
        .join(MessageSwipe, MessageSwipe.id == MessagePicture.swipe_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(Message.conversation_id == conversation_id)
        .distinct()
    )


def _folder_name(space: PlannedSpace) -> str:
    """The folder of a space's pictures, without what would be escaped in an address."""
    return sanitised(re.sub("[#%]", "", space.name if space.is_group else space.speaker)) or str(space.id)


def _with_files(work: Exporting, line: str, folder: str, stored: Collection[str]) -> str:
    """A line of a chat, with addresses of files in the place of those pictures that are stored here."""
    if _INLINE not in line:
        return line

    def address(url: str) -> str:
        data = data_of(url)
        sha256 = "" if data is None else hashlib.sha256(data).hexdigest()
        if data is None or sha256 not in stored:
            return url
        if (folder, sha256) not in work.pictures:
            ending = media_type_of(data).partition("/")[2].replace("jpeg", "jpg")
            path = work.plan.free.give(folder, sha256[:20], f".{ending}")
            work.pictures[folder, sha256] = path
            work.pending.append((path, sha256))
        return f"/{work.pictures[folder, sha256]}"

    try:
        message = from_json(line)
    except ValueError:
        return line
    infos = message.get("swipe_info") if isinstance(message, dict) else None
    for holder in (message, *(infos if isinstance(infos, list) else ())):
        if isinstance(holder, dict) and isinstance(holder.get("extra"), dict):
            holder["extra"] = with_addresses(holder["extra"], address)
    return to_json(message)


async def has_sprite(session: AsyncSession, viewer: Viewer, file: ImportedFile) -> bool:
    """Whether a sprite of the folder is still the emotion of a character."""
    uri = file.path.replace("characters/", SPRITES, 1)
    is_same = and_(CharacterAsset.character_id == file.target_id, CharacterAsset.sha256 == file.sha256)
    rows = await session.execute(
        select(CharacterAsset.uri, CharacterAsset.name)
        .join(Character, Character.id == CharacterAsset.character_id)
        .where(
            CharacterAsset.kind == EMOTION,
            Character.owner_id == viewer.user_id,
            Character.status == "ready",
            or_(CharacterAsset.uri == uri, is_same),
        )
    )
    expression = expression_of(name_of(file.path))
    return any(known == uri or expression_of(name) == expression for known, name in rows)


async def new_sprites(session: AsyncSession, plan: ExportPlan, id: UUID) -> list[tuple[str, str]]:
    """The emotions of a character that are not yet in its folder: a path for each, and the hash of its bytes."""
    folder = f"characters/{sanitised(plan.names['character', id]) or id}"
    there: set[tuple[str, str]] = set()
    if plan.source is not None:
        of_character = (ImportedFile.kind == "sprite", ImportedFile.target_id == id)
        files = select(ImportedFile.path, ImportedFile.sha256).where(
            ImportedFile.source_id == plan.source.id, *of_character
        )
        there = {(expression_of(name_of(path)), sha256) for path, sha256 in await session.execute(files)}
    rows = await session.execute(
        select(CharacterAsset.name, CharacterAsset.ext, CharacterAsset.uri, CharacterAsset.sha256)
        .where(CharacterAsset.character_id == id, CharacterAsset.kind == EMOTION)
        .order_by(CharacterAsset.name, CharacterAsset.id)
    )
    return [
        (plan.free.give(folder, name, f".{ext or 'png'}"), sha256)
        for name, ext, uri, sha256 in rows
        if not (uri.startswith(SPRITES) and uri.replace(SPRITES, "characters/", 1) in plan.free)
        and (expression_of(name), sha256) not in there
    ]


async def choose_backgrounds(work: Exporting, session: AsyncSession) -> list[tuple[str, str]]:
    """Find the backgrounds of spaces that were chosen here, and not by the settings of the source: a path for each, and
    the hash of its bytes."""
    plan, known = work.plan, set[str]()
    if plan.source is not None:
        of_source = (ImportedFile.source_id == plan.source.id, ImportedFile.kind == "background")
        known.update(await session.scalars(select(ImportedFile.sha256).where(*of_source)))
        settings = await source_settings(session, plan.source.id)
        usual = None if settings is None else await read_background(session, plan.source.id, settings.file.background)
        known |= set() if usual is None else {usual.sha256}
    names = {space.id: space.name for space in plan.spaces}
    rows = await session.execute(
        select(Space.id, Blob.sha256, Blob.media_type)
        .join(Blob, Blob.sha256 == Space.background_sha256)
        .where(Space.owner_id == work.viewer.user_id)
        .order_by(Space.created_at, Space.id)
    )
    paths: dict[str, str] = {}
    for id, sha256, media_type in rows:
        if id in names and sha256 not in known:
            if sha256 not in paths:
                ending = media_type.partition("/")[2].replace("jpeg", "jpg")
                paths[sha256] = plan.free.give(BACKGROUNDS, names[id], f".{ending}")
            work.backgrounds[id] = paths[sha256]
    return [(path, sha256) for sha256, path in paths.items()]


def address_of(path: str) -> str:
    """A background as chats and settings of SillyTavern name it."""
    folder, _slash, name = path.rpartition("/")
    return f'url("{folder}/{quote(name, safe=_UNQUOTED)}")'


_UNQUOTED = "!~*'()"


async def placeless(session: AsyncSession, viewer: Viewer) -> list[tuple[str, FileKind, str]]:
    """What a person has and SillyTavern has no place for: a name, the kind of files it belongs to, and a sentence."""
    own = and_(Space.owner_id == viewer.user_id, Space.status != "deleting")
    own_characters = select(Character.id).where(Character.owner_id == viewer.user_id, Character.status == "ready")
    versions = select(func.count()).where(CharacterVersion.character_id.in_(own_characters))
    artifacts = (
        select(func.count())
        .select_from(ArtifactHead)
        .join(Conversation, Conversation.id == ArtifactHead.conversation_id)
        .join(Space, Space.id == Conversation.space_id)
        .where(own, Conversation.status != "deleting")
    )
    pipelines = (
        select(func.count())
        .select_from(PipelineProfile)
        .where(PipelineProfile.owner_id == viewer.user_id, PipelineProfile.trashed_at.is_(None))
    )
    scripts = select(func.count()).select_from(ScriptList).join(Space, Space.id == ScriptList.space_id).where(own)
    books = select(func.count()).select_from(LorebookLink).join(Space, Space.id == LorebookLink.space_id).where(own)
    counted: list[tuple[str, FileKind, str]] = []
    if number := await session.scalar(versions):
        sentence = ngettext("{count} earlier version of characters.", "{count} earlier versions of characters.", number)
        counted.append(("character versions", "character", sentence))
    if number := await session.scalar(artifacts):
        sentence = ngettext("{count} artifact of conversations.", "{count} artifacts of conversations.", number)
        counted.append(("artifacts", "chat", sentence))
    if number := await session.scalar(pipelines):
        sentence = ngettext("{count} pipeline profile.", "{count} pipeline profiles.", number)
        counted.append(("pipelines", "settings", sentence))
    if number := await session.scalar(scripts):
        sentence = ngettext(
            "Regex scripts of {count} space. SillyTavern has scripts for all chats, for characters and for presets.",
            "Regex scripts of {count} spaces. SillyTavern has scripts for all chats, for characters and for presets.",
            number,
        )
        counted.append(("regex scripts of spaces", "settings", sentence))
    if number := await session.scalar(books):
        sentence = ngettext(
            "{count} link of a lorebook with a space. New chats name the first one; SillyTavern has one per chat.",
            "{count} links of lorebooks with spaces. New chats name the first one; SillyTavern has one per chat.",
            number,
        )
        counted.append(("lorebooks of spaces", "chat", sentence))
    return counted
