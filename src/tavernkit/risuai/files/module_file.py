"""Modules from files of every kind that RisuAI makes a module of."""

from __future__ import annotations

from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.errors import LoreParseError, ParseError
from tavernkit.lore.book import Book
from tavernkit.lore.files.foreign import read_risuai
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, kind_of, parse_json
from tavernkit.risuai.book_import import import_external
from tavernkit.risuai.files.risum import MODULE_TYPE, ModuleFile, is_risum, read_risum
from tavernkit.risuai.lore_entry import write_lore_entry
from tavernkit.risuai.module import read_module
from tavernkit.values import Json, JsonObject


def read_module_file(data: bytes, *, limits: CardLimits = DEFAULT_LIMITS) -> ModuleFile:
    """Read a `.risum` file, a module as JSON, or a lorebook or list of regex scripts, which become a module."""
    if is_risum(data):
        return read_risum(data, limits=limits)
    document = parse_json(data, what="The module", max_bytes=limits.json_bytes, max_values=limits.json_values)
    if not isinstance(document, dict):
        raise ParseError(f"A module is a JSON object, but this is {kind_of(document)}.")
    report = ReportBuilder()
    module = read_module(LooseObject(_module_of(document), report))
    return ModuleFile(module=module, report=report.build("json"))


def read_module_book(data: bytes, *, limits: CardLimits = DEFAULT_LIMITS) -> tuple[Book, ImportReport]:
    """The lore of a module as a book; RisuAI's decorators stay in the entries' texts."""
    file = read_module_file(data, limits=limits)
    if not file.module.lore:
        raise LoreParseError("The module has no lorebook.")
    report = ReportBuilder()
    lore = {"data": [write_lore_entry(entry) for entry in file.module.lore]}
    book = read_risuai(LooseObject(lore, report))
    return book.with_(name=file.module.name or None), report.build("risum")


def _module_of(document: JsonObject) -> JsonObject:
    kind, data, entries = document.get("type"), document.get("data"), document.get("entries")
    if kind == MODULE_TYPE:
        inner = document.get("module")
        return inner if isinstance(inner, dict) else document
    if kind == "risu" and isinstance(data, list):
        return _made(document, "Imported Lorebook", lorebook=data)
    if isinstance(entries, dict | list):
        return _made(document, "Imported Lorebook", lorebook=import_external(entries))
    if kind == "regex" and isinstance(data, list):
        return _made(document, "Imported Regex", regex=data)
    raise ParseError("This is not a RisuAI module: it holds neither a module nor a lorebook nor regex scripts.")


def _made(document: JsonObject, name: str, **fields: Json) -> JsonObject:
    return {
        "name": document.get("name") or name,
        "description": document.get("description") or "",
        **fields,
    }
