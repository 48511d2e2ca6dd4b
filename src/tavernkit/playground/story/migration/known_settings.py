"""The settings of a folder: what they say that has a use here, read from the file or from the bytes kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import ParseError
from tavernkit.migration.settings_file import UserSettingsFile, read_user_settings_file
from tavernkit.playground.base.database.models import ImportedFile
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.personas.files import BackedUp, read_personas
from tavernkit.playground.story.settings.sillytavern_file import space_patch
from tavernkit.playground.story.settings_schema.resolving import SETTINGS
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject, Value

PATH = "settings.json"
_CACHED = "settings"
TEXT_APIS = ("textgenerationwebui", "kobold", "koboldhorde", "novel")
LIVE: Mapping[str, tuple[str, ...]] = {
    "openai": ("oai_settings",),
    "textgenerationwebui": ("textgenerationwebui_settings",),
    **{name: ("power_user", name) for name in ("instruct", "context", "sysprompt", "reasoning")},
}
"""Where the settings have a copy of the preset in use, by what SillyTavern calls its kind."""


class FolderSettings(Value, frozen=True, kw_only=True):
    """The settings of SillyTavern. Besides what has a type of its own: personas and regex scripts with everything that
    the file says about them, the copies of presets in use, and what a space can take over."""

    file: UserSettingsFile = UserSettingsFile()
    tag_names: Mapping[str, str] = {}
    personas: tuple[BackedUp, ...] = ()
    scripts: tuple[JsonObject, ...] = ()
    live: Mapping[str, JsonObject] = {}
    patch: Mapping[str, Mapping[str, Json]] = {}

    def tags_of(self, key: str) -> dict[str, str]:
        """The tags of a card's file or of a group: their ids and names."""
        return {id: self.tag_names[id] for id in self.file.tag_map.get(key, ()) if id in self.tag_names}


def read_folder_settings(data: bytes) -> FolderSettings:
    """Read a settings file; raises ParseError."""
    file = read_user_settings_file(data)
    document = parse_json(data, what="The settings file")
    source = LooseObject(document if isinstance(document, dict) else {}, ReportBuilder())
    return FolderSettings(
        file=file,
        tag_names={tag.id: name for tag in file.tags if (name := titled(tag.name, ""))},
        personas=tuple(read_personas(source.nested("power_user"))),
        scripts=tuple(one.source for one in source.nested("extension_settings").objects("regex")),
        live={kind: fields for kind, places in LIVE.items() if (fields := _part(source, places))},
        patch={**space_patch(source), **_further(source)},
    )


async def known_settings(session: AsyncSession, job: ImportJob) -> FolderSettings | None:
    """The settings of the source as they were imported last; None where they were not."""
    if _CACHED not in job.cache:
        job.cache[_CACHED] = await source_settings(session, job.source_id)
    known: FolderSettings | None = job.cache[_CACHED]
    return known


async def source_settings(session: AsyncSession, source_id: UUID) -> FolderSettings | None:
    """The same of any source."""
    query = select(ImportedFile.kept_sha256).where(ImportedFile.source_id == source_id, ImportedFile.path == PATH)
    sha256 = await session.scalar(query)
    return None if sha256 is None else read_folder_settings(await kept_bytes(session, sha256))


def remember(job: ImportJob, settings: FolderSettings) -> None:
    """Let the rest of an import know the settings that were just imported."""
    job.cache[_CACHED] = settings


def valid(group: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Those of the settings of a group that can have the value that they shall have."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and SETTINGS[f"{group}.{name}"].problem(value) is None
    }


def _part(source: LooseObject, places: tuple[str, ...]) -> JsonObject:
    for place in places:
        source = source.nested(place)
    return source.source


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


def _stop_strings(text: str) -> Json:
    """SillyTavern keeps them as the text of a list."""
    try:
        return parse_json(text, what="The stop strings") or None
    except ParseError:
        return None
