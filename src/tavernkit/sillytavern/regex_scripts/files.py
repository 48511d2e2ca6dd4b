"""Regex scripts in files of their own, in cards and in presets."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.errors import ParseError, PresetParseError
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, kind_of, parse_json
from tavernkit.sillytavern.presets.fields import decode, encode
from tavernkit.sillytavern.regex_scripts.script import RegexScript
from tavernkit.values import Json, JsonObject

FORMAT = "regex_scripts"
KEY = "regex_scripts"


def read_regex_scripts(data: bytes | str) -> tuple[tuple[RegexScript, ...], ImportReport]:
    """Read an exported file of one script or of a list of them; raises PresetParseError for anything else."""
    try:
        document = parse_json(data, what="The file of regex scripts")
    except ParseError as error:
        raise PresetParseError(str(error)) from None
    report = ReportBuilder()
    match document:
        case list():
            return _scripts(LooseObject({KEY: document}, report)), report.build(FORMAT)
        case dict():
            if "findRegex" in document or "scriptName" in document:
                return (decode(RegexScript, document, report),), report.build(FORMAT)
            raise PresetParseError("The file is no regex script: it has neither a findRegex nor a scriptName.")
        case _:
            raise PresetParseError(
                f"A file of regex scripts holds one script or a list; this one is {kind_of(document)}."
            )


def write_regex_scripts(scripts: Iterable[RegexScript]) -> list[dict[str, Json]]:
    """Write scripts as the list that files, cards and presets hold; what was not changed is written as it was read."""
    return [encode(script) for script in scripts]


def embedded_scripts(extensions: JsonObject, report: ReportBuilder | None = None) -> tuple[RegexScript, ...]:
    """The scripts that a card or a preset brings along in its `extensions`."""
    return _scripts(LooseObject(extensions, ReportBuilder() if report is None else report, "extensions"))


def _scripts(source: LooseObject) -> tuple[RegexScript, ...]:
    return tuple(decode(RegexScript, item.source, item.report, item.path) for item in source.objects(KEY))
