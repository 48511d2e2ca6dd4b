"""Modules from files of every kind that RisuAI makes a module of."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.errors import LoreParseError, ParseError
from tavernkit.lore.book import Book
from tavernkit.lore.files.foreign import read_risuai
from tavernkit.reading import (
    Imported,
    ImportReport,
    LooseObject,
    ReportBuilder,
    Source,
    kind_of,
    open_source,
    parse_json,
)
from tavernkit.risuai.book_import import import_external
from tavernkit.risuai.files.risum import MODULE_TYPE, ModuleFile, is_risum, read_risum
from tavernkit.risuai.lore_entry import write_lore_entry
from tavernkit.risuai.module import read_module
from tavernkit.values import Json, JsonObject


def read_module_file(source: Source, *, limits: CardLimits = DEFAULT_LIMITS, strict: bool = False) -> ModuleFile:
    """Read a `.risum` file, a module as JSON, or a lorebook or list of regex scripts, which become a module."""
    data, path = open_source(source, max_bytes=limits.file_bytes, what="The module")
    file = _read(data, limits)
    report = file.report.with_(file=path)
    if strict:
        report.refuse_broken()
    return file.with_(report=report)


def _read(data: bytes | str | Mapping[str, Json], limits: CardLimits) -> ModuleFile:
    if isinstance(data, bytes) and is_risum(data):
        return read_risum(data, limits=limits)
    document: Json = data
    if not isinstance(data, Mapping):
        document = parse_json(data, what="The module", max_bytes=limits.json_bytes, max_values=limits.json_values)
    if not isinstance(document, Mapping):
        raise ParseError(f"A module is a JSON object, but this is {kind_of(document)}.")
    report = ReportBuilder()
    module = read_module(LooseObject(_module_of(document, report), report))
    return ModuleFile(module=module, report=report.build("json"))


def read_module_book(source: Source, *, limits: CardLimits = DEFAULT_LIMITS, strict: bool = False) -> Imported[Book]:
    """The lore of a module as a book; RisuAI's decorators stay in the entries' texts."""
    file = read_module_file(source, limits=limits)
    if not file.module.lore:
        raise LoreParseError("The module has no lorebook.")
    lore = {"data": [write_lore_entry(entry) for entry in file.module.lore]}
    book = read_risuai(LooseObject(lore, ReportBuilder()))
    notes = tuple(note for note in file.report.notes if note.path.startswith("lorebook"))
    report = ImportReport(format="risum", notes=notes, file=file.report.file, error=LoreParseError)
    if strict:
        report.refuse_broken()
    return Imported(book.with_(name=file.module.name or None), report)


def _module_of(document: JsonObject, report: ReportBuilder) -> JsonObject:
    kind, data, entries = document.get("type"), document.get("data"), document.get("entries")
    if kind == MODULE_TYPE:
        if "module" in document and not isinstance(document["module"], dict):
            report.broken("module", f"expected an object, found {kind_of(document['module'])}")
        inner = document.get("module")
        return inner if isinstance(inner, dict) else document
    if kind == "risu" and isinstance(data, list):
        return _made(document, "Imported Lorebook", lorebook=data)
    if isinstance(entries, dict | list):
        return _made(document, "Imported Lorebook", lorebook=import_external(entries))
    if kind == "regex" and isinstance(data, list):
        return _made(document, "Imported Regex", regex=data)
    raise ParseError("This is not a RisuAI module: it contains neither a module nor a lorebook nor regex scripts.")


def _made(document: JsonObject, name: str, **fields: Json) -> JsonObject:
    return {
        "name": document.get("name") or name,
        "description": document.get("description") or "",
        **fields,
    }
