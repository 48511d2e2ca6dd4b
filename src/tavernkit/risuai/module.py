"""A RisuAI module: lore, scripts, triggers and assets that are switched on together."""

from __future__ import annotations

from tavernkit.reading import LooseObject
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.stored import AssetName, StoredNoun
from tavernkit.risuai.trigger import Trigger
from tavernkit.values import Json


class Module(StoredNoun, frozen=True, kw_only=True):
    """A module. `namespace` is what macros ask for; `toggles` is the text that lists its switches; `written` is the
    object that it was read from, with everything that is not named here."""

    SPELT = {"lore": "lorebook", "scripts": "regex", "triggers": "trigger", "toggles": "customModuleToggle"}
    ALWAYS = ("name", "description", "id")

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


def read_module(source: LooseObject) -> Module:
    """Read a module as RisuAI stores it."""
    return Module.read(source)


def write_module(module: Module) -> dict[str, Json]:
    """The module as RisuAI stores it."""
    return module.write()
