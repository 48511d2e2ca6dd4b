"""Regex scripts in files of their own, in cards and in presets, and the three lists that scripts come in."""
# ruff: noqa: N815 - the name of a field is its name in the file

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import chain

from tavernkit.errors import PresetParseError
from tavernkit.reading import Imported, LooseObject, ReportBuilder, Source, kind_of, open_json
from tavernkit.sillytavern.presets.fields import PresetFile, decode, encode
from tavernkit.text.js_values import is_truthy, to_number
from tavernkit.values import Json, JsonObject, Value

_FLAGS = ("disabled", "markdownOnly", "promptOnly", "runOnEdit")
_DEPTHS = ("minDepth", "maxDepth")
_LOWEST_MIN_DEPTH = -1
_LOWEST_MAX_DEPTH = 0


class Placement(IntEnum):
    """What a text is; a script says which of them it is for."""

    USER_INPUT = 1
    AI_OUTPUT = 2
    SLASH = 3
    WORLD_INFO = 5
    REASONING = 6


class RegexScript(PresetFile, frozen=True, kw_only=True):
    """One script. Yes or no, depths and `substituteRegex` are read as JavaScript would take what the file has.

    `placement` holds numbers; anything else in it never fits. `substituteRegex` is 0 for a
    pattern without macros, 1 for one in which they are expanded, 2 for one in which what they give is taken literally.
    """

    id: str = ""
    scriptName: str = ""
    findRegex: str = ""
    replaceString: str = ""
    trimStrings: tuple[str, ...] = ()
    placement: tuple[Json, ...] = ()
    disabled: bool = False
    markdownOnly: bool = False
    promptOnly: bool = False
    runOnEdit: bool = False
    substituteRegex: int = 0
    minDepth: float | None = None
    maxDepth: float | None = None

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """The fields with the loose ones among them as JavaScript compares them."""
        fields = super().modernised(source)
        fields |= {key: is_truthy(fields[key]) for key in _FLAGS if key in fields}
        fields |= {key: _depth(fields[key]) for key in _DEPTHS if key in fields}
        if "substituteRegex" in fields:
            mode = to_number(fields["substituteRegex"])
            fields["substituteRegex"] = int(mode) if mode in (1, 2) else 0
        if isinstance(places := fields.get("placement"), list):
            fields["placement"] = [place for place in places if not isinstance(place, bool)]  # True is no 1 there
        return fields

    @property
    def is_idle(self) -> bool:
        """Whether it never changes a text."""
        return self.disabled or not self.findRegex

    def is_for(
        self, placement: int, *, is_prompt: bool, is_markdown: bool, is_edit: bool, depth: int | None = None
    ) -> bool:
        """Whether it applies to a text of that kind, in that place and at that depth."""
        if self.markdownOnly or self.promptOnly:
            wanted = (self.markdownOnly and is_markdown) or (self.promptOnly and is_prompt)
        else:
            wanted = not is_markdown and not is_prompt
        return (
            wanted
            and (self.runOnEdit or not is_edit)
            and placement in self.placement
            and (depth is None or self._reaches(depth))
        )

    def _reaches(self, depth: int) -> bool:
        low, high = self.minDepth, self.maxDepth
        if low is not None and low >= _LOWEST_MIN_DEPTH and depth < low:
            return False
        return high is None or high < _LOWEST_MAX_DEPTH or depth <= high


class RegexScripts(Value, frozen=True, kw_only=True):
    """Every script in use: the user's, those of the preset and those of the character, which run in that order."""

    global_: tuple[RegexScript, ...] = ()
    preset: tuple[RegexScript, ...] = ()
    scoped: tuple[RegexScript, ...] = ()

    def __iter__(self) -> Iterator[RegexScript]:
        return chain(self.global_, self.preset, self.scoped)


def _depth(value: Json) -> float | None:
    """The number that a depth is compared as: none where there is no limit, 0 for an empty text."""
    if value is None or isinstance(value, list):
        return None
    number = to_number(value)
    return number if math.isfinite(number) else None


FORMAT = "regex_scripts"
KEY = "regex_scripts"


def read_regex_scripts(source: Source, *, strict: bool = False) -> Imported[tuple[RegexScript, ...]]:
    """Read an exported file of one script or of a list of them; raises PresetParseError for anything else."""
    document, file = open_json(source, what="The file of regex scripts", error=PresetParseError)
    report = ReportBuilder()
    match document:
        case list():
            scripts = _scripts(LooseObject({KEY: document}, report))
        case Mapping() if "findRegex" in document or "scriptName" in document:
            scripts = (read_script(LooseObject(document, report)),)
        case Mapping():
            raise PresetParseError("The file is not a regex script: it has neither a findRegex nor a scriptName.")
        case _:
            raise PresetParseError(
                f"A file of regex scripts holds one script or a list; this one is {kind_of(document)}."
            )
    return Imported(scripts, report.build(FORMAT, file=file, error=PresetParseError, strict=strict))


def write_regex_scripts(scripts: Iterable[RegexScript]) -> list[dict[str, Json]]:
    """Write scripts as the list that files, cards and presets hold; what was not changed is written as it was read."""
    return [encode(script) for script in scripts]


def embedded_scripts(
    extensions: JsonObject, report: ReportBuilder | None = None, path: str = "extensions"
) -> tuple[RegexScript, ...]:
    """The scripts that a card or a preset brings along in its `extensions`, which stand at that path."""
    return _scripts(LooseObject(extensions, ReportBuilder() if report is None else report, path))


def _scripts(source: LooseObject) -> tuple[RegexScript, ...]:
    return tuple(map(read_script, source.objects(KEY)))


def read_script(source: LooseObject) -> RegexScript:
    """Read one script; what JavaScript takes in its own way is noted where nobody can have meant that."""
    notes = ReportBuilder()
    loose = LooseObject(source.source, notes, source.path)
    for key in _FLAGS:
        loose.optional_flag(key)
    for key in (*_DEPTHS, *(() if isinstance(loose.raw("substituteRegex"), bool) else ("substituteRegex",))):
        loose.optional_number(key)
    places = loose.raw("placement")
    for place, item in enumerate(places if isinstance(places, list) else ()):
        if isinstance(item, bool) or not isinstance(item, int | float):
            notes.broken(f"{loose.at('placement')}[{place}]", f"expected a number, found {kind_of(item)}")
    for note in notes.build(FORMAT).broken:
        source.report.broken(note.path, note.message)
    return decode(RegexScript, source.source, source.report, source.path)
