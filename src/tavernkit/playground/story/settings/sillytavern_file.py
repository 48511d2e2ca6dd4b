"""What a story takes over of SillyTavern's `settings.json`: the macro engine, and how World Info is scanned."""

from __future__ import annotations

from tavernkit.errors import ParseError
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.settings_schema.resolving import SETTINGS
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern.settings import macro_engine
from tavernkit.sillytavern.world_info import read_settings
from tavernkit.values import Json, JsonObject

MAX_FILE_BYTES = 8 * 1024 * 1024


def read_sillytavern_file(file: bytes) -> JsonObject:
    """A patch for the settings of a space, of what the file says; raises ParseError."""
    return space_patch(open_settings(file))


def open_settings(file: bytes) -> LooseObject:
    """The settings of SillyTavern as they stand in their file; raises ParseError for a file of anything else."""
    document = parse_json(file, what="The settings file")
    if not isinstance(document, dict) or not isinstance(document.get("power_user"), dict):
        raise ParseError(_("The file is not a settings.json of SillyTavern. Choose the one in the folder of its user."))
    return LooseObject(document, ReportBuilder())


def space_patch(source: LooseObject) -> dict[str, dict[str, Json]]:
    """What a space can take over of the settings; a value that the setting cannot be is left out."""
    patch: dict[str, dict[str, Json]] = {"prompt": {}, "world_info": {}}
    engine = macro_engine(source)
    if engine is not None:
        patch["prompt"]["macro_engine"] = engine
    lore = source.nested("world_info_settings")
    if lore.source:
        read = read_settings(lore)
        values = {name: getattr(read, name) for name in read.__struct_fields__} | {
            "strategy": read.strategy.name.lower()
        }
        patch["world_info"] = {
            name: value for name, value in values.items() if SETTINGS[f"world_info.{name}"].problem(value) is None
        }
    return {group: fields for group, fields in patch.items() if fields}
