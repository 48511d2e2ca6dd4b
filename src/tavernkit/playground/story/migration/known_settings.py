"""The settings of a folder: what they say that has a use here, read from the file or from the bytes kept of it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import ParseError
from tavernkit.playground.base.database.models import ImportedFile
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.personas.files import BackedUp, read_personas
from tavernkit.playground.story.settings.sillytavern_file import open_settings, space_patch
from tavernkit.playground.story.settings_schema.resolving import SETTINGS
from tavernkit.reading import LooseObject, parse_json
from tavernkit.sillytavern import AuthorsNote, CharacterNote, NotePlacement
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionPosition, extension_place, extension_role
from tavernkit.values import Json, JsonObject, Value

PATH = "settings.json"
_CACHED = "settings"
TEXT_APIS = ("textgenerationwebui", "kobold", "koboldhorde", "novel")

SELECTED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "chat": (("oai_settings",), "preset_settings_openai"),
    "text": (("textgenerationwebui_settings",), "preset"),
    "instruct": (("power_user", "instruct"), "preset"),
    "context": (("power_user", "context"), "preset"),
    "system_prompt": (("power_user", "sysprompt"), "name"),
    "reasoning": (("power_user", "reasoning"), "name"),
}
"""Where the preset in use of each kind is, and which field of it has its name."""


class SelectedPreset(Value, frozen=True, kw_only=True):
    """The preset in use: its name, and everything that the settings themselves say in its place."""

    name: str
    fields: JsonObject


class QuickReplySets(Value, frozen=True, kw_only=True):
    """The sets in use, each with whether its buttons are shown: everywhere, and by the file of a character's card."""

    everywhere: tuple[tuple[str, bool], ...] = ()
    characters: Mapping[str, tuple[tuple[str, bool], ...]] = {}


class FolderSettings(Value, frozen=True, kw_only=True):
    """The settings of SillyTavern. Files are named as it names them: lorebooks and notes by the stem of a file, tags by
    the file of a card or the id of a group."""

    username: str = ""
    user_avatar: str = ""
    personas: tuple[BackedUp, ...] = ()
    tags: Mapping[str, str] = {}
    tag_map: Mapping[str, tuple[str, ...]] = {}
    global_books: tuple[str, ...] = ()
    extra_books: Mapping[str, tuple[str, ...]] = {}
    scripts: tuple[JsonObject, ...] = ()
    variables: Mapping[str, Json] = {}
    note: AuthorsNote = AuthorsNote()
    character_notes: Mapping[str, CharacterNote] = {}
    quick_replies: QuickReplySets = QuickReplySets()
    background: str = ""
    main_api: str = ""
    selected: Mapping[str, SelectedPreset] = {}
    patch: Mapping[str, Mapping[str, Json]] = {}

    def tags_of(self, key: str) -> dict[str, str]:
        """The tags of a card's file or of a group: their ids and names."""
        return {id: self.tags[id] for id in self.tag_map.get(key, ()) if id in self.tags}


def read_folder_settings(data: bytes) -> FolderSettings:
    """Read a settings file; raises ParseError."""
    source = open_settings(data)
    lore = source.nested("world_info_settings").nested("world_info")
    extensions = source.nested("extension_settings")
    note = extensions.nested("note")
    quick_replies = extensions.nested("quickReplyV2")
    tags = {tag.text("id"): titled(tag.text("name"), "") for tag in source.objects("tags")}
    return FolderSettings(
        username=source.text("username"),
        user_avatar=source.text("user_avatar"),
        personas=tuple(read_personas(source.nested("power_user"))),
        tags={id: name for id, name in tags.items() if id and name},
        tag_map=_texts_by_key(source.nested("tag_map")),
        global_books=_texts(lore, "globalSelect"),
        extra_books={one.text("name"): _texts(one, "extraBooks") for one in lore.objects("charLore")},
        scripts=tuple(one.source for one in extensions.objects("regex")),
        variables=extensions.nested("variables").object("global"),
        note=_note(note),
        character_notes=_character_notes(note),
        quick_replies=QuickReplySets(
            everywhere=_sets(quick_replies.nested("config")),
            characters={
                key: _sets(quick_replies.nested("characterConfigs").nested(key))
                for key in quick_replies.object("characterConfigs")
            },
        ),
        background=source.nested("background").text("name"),
        main_api=source.text("main_api", default="openai"),
        selected=_selected(source),
        patch={**space_patch(source), **_further(source)},
    )


async def known_settings(session: AsyncSession, job: ImportJob) -> FolderSettings | None:
    """The settings of the source as they were imported last; None where they were not."""
    if _CACHED not in job.cache:
        query = select(ImportedFile.kept_sha256).where(
            ImportedFile.source_id == job.source_id, ImportedFile.path == PATH
        )
        sha256 = await session.scalar(query)
        job.cache[_CACHED] = None if sha256 is None else read_folder_settings(await kept_bytes(session, sha256))
    known: FolderSettings | None = job.cache[_CACHED]
    return known


def remember(job: ImportJob, settings: FolderSettings) -> None:
    """Let the rest of an import know the settings that were just imported."""
    job.cache[_CACHED] = settings


def _texts(source: LooseObject, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in source.items(key) if isinstance(one, str) and one))


def _texts_by_key(source: LooseObject) -> dict[str, tuple[str, ...]]:
    return {key: _texts(source, key) for key in source.source}


def _sets(source: LooseObject) -> tuple[tuple[str, bool], ...]:
    return tuple((one.text("set"), one.flag("isVisible", default=True)) for one in source.objects("setList"))


def _note(source: LooseObject) -> AuthorsNote:
    usual = AuthorsNote()
    return AuthorsNote(
        text=source.text("default"),
        position=extension_place(source.one_of("defaultPosition", tuple(ExtensionPosition), default=1)),
        depth=source.integer("defaultDepth", default=usual.depth),
        role=extension_role(source.one_of("defaultRole", range(len(ROLES)))),
        interval=source.integer("defaultInterval", default=usual.interval),
        scan=source.flag("allowWIScan"),
    )


def _character_notes(source: LooseObject) -> dict[str, CharacterNote]:
    placements = {place.value: place for place in NotePlacement}
    return {
        one.text("name"): CharacterNote(
            text=one.text("prompt"), placement=placements.get(one.integer("position"), NotePlacement.REPLACE)
        )
        for one in source.objects("chara")
        if one.flag("useChara") and one.text("prompt")
    }


def _selected(source: LooseObject) -> dict[str, SelectedPreset]:
    found: dict[str, SelectedPreset] = {}
    for kind, (places, key) in SELECTED.items():
        part = source
        for place in places:
            part = part.nested(place)
        if part.source:
            found[kind] = SelectedPreset(name=part.text(key), fields=part.source)
    return found


def _further(source: LooseObject) -> dict[str, dict[str, Json]]:
    """What else a space can take over, besides how lore is activated and macros are evaluated."""
    power_user = source.nested("power_user")
    reasoning = power_user.nested("reasoning")
    is_text = source.text("main_api") in TEXT_APIS
    values: dict[str, dict[str, Json]] = {
        "reasoning": {
            "auto_parse": reasoning.optional_flag("auto_parse"),
            "add_to_prompts": reasoning.optional_flag("add_to_prompts"),
            "max_additions": reasoning.optional_integer("max_additions"),
        },
        "llm": {
            "stop": _stop_strings(power_user.text("custom_stopping_strings")),
            "max_tokens": source.optional_integer("amount_gen") if is_text else None,
            "context_tokens": source.optional_integer("max_context") if is_text else None,
        },
        "space": {"relax_message_trim": power_user.optional_flag("disable_group_trimming")},
    }
    return {group: kept for group, fields in values.items() if (kept := valid(group, fields))}


def valid(group: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Those of the settings of a group that can have the value that they shall have."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and SETTINGS[f"{group}.{name}"].problem(value) is None
    }


def _stop_strings(text: str) -> Json:
    """SillyTavern keeps them as the text of a list."""
    try:
        return parse_json(text, what="The stop strings") or None
    except ParseError:
        return None
