"""Characters of RisuAI from card files and into them; in a CHARX file, a module holds what the card does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tavernkit.characters.character import Asset, Bundle, Character
from tavernkit.characters.decode import read_card
from tavernkit.characters.export import to_charx, to_png
from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.characters.loading import load
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, Source
from tavernkit.risuai.cards import export_card, from_card
from tavernkit.risuai.character import RisuCharacter, write_character
from tavernkit.risuai.files.risum import read_risum, write_risum
from tavernkit.risuai.module import Module, read_module
from tavernkit.values import Json, JsonObject

MODULE_FILE = "module.risum"
"""The module's place in a CHARX file."""


class LoadedCharacter(NamedTuple):
    """A character as RisuAI imports it, and the card file that it is from."""

    character: RisuCharacter
    bundle: Bundle

    @property
    def report(self) -> ImportReport:
        return self.bundle.report


def load_character(
    source: Source, *, id: str = "", limits: CardLimits = DEFAULT_LIMITS, strict: bool = False
) -> LoadedCharacter:
    """Read a card file of any format as RisuAI would import it.

    The triggers, regex scripts and lore of a module inside a CHARX file take the place of the card's own.
    """
    loaded = character_of(load(source, limits=limits), id=id, limits=limits)
    if strict:
        loaded.report.refuse_broken()
    return loaded


def character_of(bundle: Bundle, *, id: str = "", limits: CardLimits = DEFAULT_LIMITS) -> LoadedCharacter:
    """What `load` has found as RisuAI would import it, with what RisuAI finds broken in the bundle's report."""
    module = module_of(bundle, limits=limits)
    own = bundle.card.character if module is None else with_module(bundle.card.character, module)
    lore = None if module is None else module.written.get("lorebook")
    notes = ReportBuilder()
    character = from_card(own, id=id, lore=lore if isinstance(lore, list) else None, report=notes)
    report = bundle.report.with_(notes=(*bundle.report.notes, *notes.build(bundle.format).notes))
    return LoadedCharacter(character, bundle.with_(report=report))


def module_of(bundle: Bundle, *, limits: CardLimits = DEFAULT_LIMITS) -> Module | None:
    """The module inside a card file; raises a ParseError when it is damaged."""
    file = bundle.asset(f"embeded://{MODULE_FILE}")
    return None if file is None else read_risum(file.read(), limits=limits).module


def with_module(character: Character, module: Module) -> Character:
    """The character with the module's triggers and regex scripts, where a card without a module keeps its own."""
    own = character.extensions.get("risuai")
    scripts: dict[str, Json] = {
        "triggerscript": module.written.get("trigger") or [],
        "customScripts": module.written.get("regex") or [],
    }
    risuai = {**own, **scripts} if isinstance(own, Mapping) else scripts
    return character.with_(extensions={**character.extensions, "risuai": risuai})


def save_png(
    character: RisuCharacter, *, modified: int, image: bytes | None = None, assets: Iterable[Asset] = ()
) -> bytes:
    """Write a character into a PNG picture; `modified` is the time of writing, in seconds since 1970."""
    card, _ = read_card(export_card(character, modified=modified))
    return to_png(card, image, assets)


def save_charx(
    character: RisuCharacter,
    *,
    modified: int,
    module_id: str,
    image: bytes | None = None,
    assets: Iterable[Asset] = (),
) -> bytes:
    """Write a character as a CHARX file, with its triggers, regex scripts and lore in a module, as RisuAI does.

    `modified` is the time of writing, in seconds since 1970; `module_id` is what RisuAI makes up at that moment.
    """
    stored = write_character(character)
    module: JsonObject = {
        "name": f"{character.name} Module",
        "description": f"Module for {character.name}",
        "id": module_id,
        "trigger": stored["triggerscript"],
        "regex": stored["customscript"],
        "lorebook": stored["globalLore"],
    }
    file = Asset.of(MODULE_FILE, write_risum(read_module(LooseObject(module, ReportBuilder()))))
    exported = export_card(character, modified=modified, has_picture=image is not None, has_module=True)
    card, _ = read_card(exported)
    return to_charx(card, image, (file, *assets))
