"""A RisuAI module: lore, scripts, triggers and assets that are switched on together."""

from __future__ import annotations

from tavernkit.reading import LooseObject
from tavernkit.risuai.lore_entry import LoreEntry, read_lore
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.trigger import Trigger, read_triggers
from tavernkit.values import JsonObject, Value


class AssetName(Value, frozen=True, kw_only=True):
    """An asset as a character or module lists it: the name that macros use, where it is kept, and its kind of file."""

    name: str
    path: str = ""
    extension: str = ""


class Module(Value, frozen=True, kw_only=True):
    """A module. `namespace` is what macros ask for; `toggles` is the text that lists its switches; `written` is the
    object that it was read from, with everything that is not named here."""

    name: str = ""
    description: str = ""
    id: str = ""
    namespace: str | None = None
    lore: tuple[LoreEntry, ...] = ()
    scripts: tuple[RisuRegexScript, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    assets: tuple[AssetName, ...] = ()
    low_level_access: bool = False
    toggles: str = ""
    written: JsonObject = {}


def read_module(source: LooseObject) -> Module:
    """Read a module as RisuAI stores it."""
    return Module(
        name=source.text("name"),
        description=source.text("description"),
        id=source.text("id"),
        namespace=source.optional_text("namespace"),
        lore=read_lore(source.objects("lorebook")),
        scripts=read_scripts(source.objects("regex")),
        triggers=read_triggers(source.objects("trigger")),
        assets=read_asset_names(source, "assets"),
        low_level_access=source.flag("lowLevelAccess"),
        toggles=source.text("customModuleToggle"),
        written=dict(source.source),
    )


def read_asset_names(source: LooseObject, key: str) -> tuple[AssetName, ...]:
    """Read a list of `[name, path, extension]`; anything else in it is noted and passed over."""
    found: list[AssetName] = []
    for index, item in enumerate(source.items(key)):
        if isinstance(item, list) and item and all(isinstance(part, str) for part in item):
            name, path, extension = (*item, "", "")[:3]
            found.append(AssetName(name=name, path=path, extension=extension))
        else:
            source.report.ignored(f"{source.at(key)}[{index}]", "expected the texts of an asset: name, path, extension")
    return tuple(found)
