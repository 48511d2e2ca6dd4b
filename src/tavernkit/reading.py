"""Reading what strangers wrote: JSON under limits, loose objects field by field, and a report of what was changed.

Everything that comes from a file passes through here once. Behind it, types hold.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from tavernkit.errors import ParseError, TavernKitError
from tavernkit.values import Json, Value

T = TypeVar("T")

Outcome: TypeAlias = Literal["exact", "converted", "ignored"]
Source: TypeAlias = bytes | str | os.PathLike[str] | Mapping[str, Json]
"""What readers take: the bytes of a file, its text, the path where it lies, or the JSON object that is in it."""

MAX_JSON_BYTES = 32 * 1024 * 1024
MAX_JSON_DEPTH = 200
MAX_JSON_NODES = 2_000_000


class Note(Value, frozen=True, kw_only=True):
    """What became of one field: `path` is where it stood, such as `data.tags[2]`.

    `is_broken` tells what somebody should mend from what is only spelt in another way.
    """

    path: str
    outcome: Outcome
    message: str
    is_broken: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ImportReport(Value, frozen=True, kw_only=True):
    """What an import kept exactly, what it converted, and what it ignored.

    `file` is the path that was read, if it was one; `error` is what a strict reader raises for what is broken.
    """

    format: str
    notes: tuple[Note, ...] = ()
    file: str = ""
    error: type[TavernKitError] = ParseError

    @property
    def converted(self) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.outcome == "converted")

    @property
    def ignored(self) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.outcome == "ignored")

    @property
    def is_exact(self) -> bool:
        """True when nothing was converted or ignored."""
        return not self.converted and not self.ignored

    @property
    def broken(self) -> tuple[Note, ...]:
        """What was converted or ignored because it was of no use as it stood."""
        return tuple(note for note in self.notes if note.is_broken)

    def refuse_broken(self) -> None:
        """Raise the report's error, with every place and its problem, where something is broken."""
        if self.broken:
            problems = "; ".join(map(str, self.broken[:MAX_NAMED]))
            more = f"; and {len(self.broken) - MAX_NAMED} more" if len(self.broken) > MAX_NAMED else ""
            raise self.error(f"{self.file}: {problems}{more}." if self.file else f"{problems}{more}.")


MAX_NAMED = 20
"""How many broken places an error names."""


class Imported(NamedTuple, Generic[T]):
    """What a reader has made of a file, and its report."""

    value: T
    report: ImportReport


class ReportBuilder:
    """Collects notes while a file is read; a flood of them is cut off with a last note that says so.

    What is broken is counted apart, so that a flood of harmless notes cannot hide it.
    """

    LIMIT = 500

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._counts = {True: 0, False: 0}

    def add(self, path: str, outcome: Outcome, message: str, *, is_broken: bool = False) -> None:
        self._counts[is_broken] += 1
        if self._counts[is_broken] <= self.LIMIT:
            self._notes.append(Note(path=path, outcome=outcome, message=message, is_broken=is_broken))

    def converted(self, path: str, message: str) -> None:
        """Note a field that is spelt in another way than usual, and means the same."""
        self.add(path, "converted", message)

    def mended(self, path: str, message: str) -> None:
        """Note a field that was broken, and what was made of it."""
        self.add(path, "converted", message, is_broken=True)

    def ignored(self, path: str, message: str) -> None:
        """Note what has no use here."""
        self.add(path, "ignored", message)

    def broken(self, path: str, message: str) -> None:
        """Note what is broken, and was left out."""
        self.add(path, "ignored", message, is_broken=True)

    def build(
        self, format: str, *, file: str = "", error: type[TavernKitError] = ParseError, strict: bool = False
    ) -> ImportReport:
        """The report; a strict reader's raises `error` where something is broken."""
        notes = list(self._notes)
        left_out = sum(self._counts.values()) - len(notes)
        if left_out:
            notes.append(Note(path="", outcome="ignored", message=f"{left_out} further notes left out"))
        report = ImportReport(format=format, notes=tuple(notes), file=file, error=error)
        if strict:
            report.refuse_broken()
        return report


def open_source(source: Source, *, max_bytes: int, what: str) -> tuple[bytes | str | Mapping[str, Json], str]:
    """What there is to read, and the path it was read from, "" for what was given as it is.

    A text of one line that is no JSON names a file. Raises ParseError for a file that is too large, and OSError for one
    that cannot be opened.
    """
    match source:
        case bytes() | Mapping():
            return source, ""
        case str() if "\n" in source or source.lstrip("\ufeff \t\r")[:1] in ("{", "[", ""):
            return source, ""
        case str() | os.PathLike():
            path = Path(source)
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = b"" if size > max_bytes else file.read(max_bytes + 1)
            if max(size, len(data)) > max_bytes:
                raise ParseError(f"{what} has {max(size, len(data)):,} bytes or more; at most {max_bytes:,} are read.")
            return data, str(path)
        case _:
            raise TypeError(f"{what} is read from a path, bytes, text or a mapping, not a {type(source).__name__}.")


def open_json(
    source: Source, *, what: str, max_bytes: int = MAX_JSON_BYTES, error: type[ParseError] = ParseError
) -> tuple[Json, str]:
    """The JSON value of a source, and the path it was read from; `error` is raised where there is none."""
    try:
        found, file = open_source(source, max_bytes=max_bytes, what=what)
        return (found if isinstance(found, Mapping) else parse_json(found, what=what, max_bytes=max_bytes)), file
    except ParseError as problem:
        raise error(str(problem)) from None


def decode_text(data: bytes, *, what: str) -> str:
    """Decode UTF-8 with or without a byte order mark, or UTF-16 with one; broken bytes become U+FFFD."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    if b"\x00" in data[:64]:
        raise ParseError(f"{what} is binary, not text.")
    return data.decode("utf-8-sig", errors="replace")


def parse_json(
    source: str | bytes, *, what: str, max_bytes: int = MAX_JSON_BYTES, max_values: int = MAX_JSON_NODES
) -> Json:
    """Parse JSON that may be hostile. NaN, infinities, lone surrogates and big numbers are accepted, as real
    cards contain them; size, depth and the number of values are limited."""
    if len(source) > max_bytes:
        raise ParseError(f"{what} is {len(source):,} bytes long; at most {max_bytes:,} are read.")
    text = decode_text(source, what=what) if isinstance(source, bytes) else source.removeprefix("\ufeff")
    check_nesting(text, what, max_values)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(
            f"{what} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise ParseError(f"{what} is nested too deeply.") from None
    except ValueError as error:
        raise ParseError(f"{what} contains a number that cannot be read: {error}.") from None


def check_nesting(text: str, what: str, max_values: int) -> None:
    """Refuse JSON that is nested too deeply or holds too many values, before it is parsed."""
    # Counting over-estimates (the characters may stand inside strings), so only a suspicious text is looked at closely.
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH and text.count(",") <= max_values:
        return
    structure = _structure(text)
    if len(structure) - structure.count(b"]") > max_values:
        raise ParseError(f"{what} contains more than {max_values:,} values.")
    steps = structure.replace(b",", b"")
    deepest = max(itertools.accumulate(92 - code for code in steps), default=0)
    if deepest > MAX_JSON_DEPTH:
        raise ParseError(f"{what} is nested {deepest} levels deep; at most {MAX_JSON_DEPTH} are read.")


def _structure(text: str) -> bytes:
    """The brackets and commas outside strings; `{` and `}` become `[` and `]`, which stand at 92 - 1 and 92 + 1."""
    data = text.encode("utf-8", "surrogatepass").replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = re.sub(rb'"[^"]*"', b"", data)
    return re.sub(rb"[^\[\],]+", b"", outside.replace(b"{", b"[").replace(b"}", b"]"))


class LooseObject:
    """One loose JSON object, read field by field.

    Each method takes a key and further spellings of it; the first that is present wins. A value of another type is
    converted where that keeps its meaning and noted in the report; otherwise the default (None for an optional field)
    stands in, and that is noted too. What nobody asked for is in `rest()`.
    """

    def __init__(self, source: Mapping[str, Json], report: ReportBuilder, path: str = "") -> None:
        self.source = source
        self.report = report
        self.path = path
        self._read: set[str] = set()

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, *keys: str) -> bool:
        return any(key in self.source for key in keys)

    def raw(self, *keys: str) -> Json:
        """The value as it stands, or None."""
        source = self.source
        for key in keys:
            if key in source:
                self._read.add(key)
                return source[key]
        return None

    def rest(self) -> dict[str, Json]:
        """Every field that was not read, untouched."""
        return {key: value for key, value in self.source.items() if key not in self._read}

    def text(self, *keys: str, default: str = "") -> str:
        value = self.optional_text(*keys)
        return default if value is None else value

    def optional_text(self, *keys: str) -> str | None:
        value = self.raw(*keys)
        if isinstance(value, str) or value is None:
            return value
        if isinstance(value, bool | int | float):
            self._write_as_text(self._at(keys), value)
            return json.dumps(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self.report.mended(self._at(keys), "a list of lines joined into one text")
            return "\n".join(value)
        self._refuse(keys, value, "text")
        return None

    def texts(self, *keys: str) -> tuple[str, ...]:
        value = self.raw(*keys)
        if value is None or value == "":
            return ()
        if isinstance(value, str):
            self.report.mended(self._at(keys), "a single text made a list of one")
            return (value,)
        if not isinstance(value, list):
            self._refuse(keys, value, "a list of texts")
            return ()
        kept: list[str] = []
        for index, item in enumerate(value):
            if isinstance(item, str):
                kept.append(item)
            elif isinstance(item, bool | int | float):
                self._write_as_text(f"{self._at(keys)}[{index}]", item)
                kept.append(json.dumps(item))
            else:
                self.report.broken(f"{self._at(keys)}[{index}]", f"expected text, found {kind_of(item)}")
        return tuple(kept)

    def flag(self, *keys: str, default: bool = False) -> bool:
        value = self.optional_flag(*keys)
        return default if value is None else value

    def optional_flag(self, *keys: str) -> bool | None:
        value = self.raw(*keys)
        if value is None or isinstance(value, bool):
            return value
        if value in (0, 1):
            self.report.converted(self._at(keys), f"{value} read as {bool(value)}")
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            self.report.mended(self._at(keys), f"the text {value!r} read as a yes or no")
            return value.strip().lower() == "true"
        self._refuse(keys, value, "true or false")
        return None

    def number(self, *keys: str, default: float = 0) -> float:
        value = self.optional_number(*keys)
        return default if value is None else value

    def optional_number(self, *keys: str) -> float | None:
        value = self.raw(*keys)
        if isinstance(value, bool):
            self._refuse(keys, value, "a number")
            return None
        if value is None or isinstance(value, int):
            return value
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            self._refuse(keys, value, "a finite number")
            return None
        if isinstance(value, str):
            try:
                parsed = float(value)
            except ValueError:
                parsed = math.nan
            if math.isfinite(parsed):
                self.report.converted(self._at(keys), f"the text {value[:40]!r} read as a number")
                return int(parsed) if parsed.is_integer() else parsed
        self._refuse(keys, value, "a number")
        return None

    def integer(self, *keys: str, default: int = 0) -> int:
        value = self.optional_integer(*keys)
        return default if value is None else value

    def optional_integer(self, *keys: str) -> int | None:
        value = self.optional_number(*keys)
        if isinstance(value, float) and not value.is_integer():
            self.report.mended(self._at(keys), f"{value} rounded down")
        return None if value is None else math.floor(value)

    def one_of(self, key: str, choices: Collection[int], *, default: int = 0) -> int:
        """A whole number that should be one of several; any other is noted, and given back all the same."""
        value = self.integer(key, default=default)
        if value not in choices:
            self.report.broken(self.at(key), f"{value} is not one of {', '.join(map(str, choices))}")
        return value

    def object(self, *keys: str) -> dict[str, Json]:
        """A nested object as it stands, or an empty one."""
        value = self.raw(*keys)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._refuse(keys, value, "an object")
        return {}

    def nested(self, *keys: str) -> LooseObject:
        return LooseObject(self.object(*keys), self.report, self._at(keys))

    def items(self, *keys: str) -> list[Json]:
        """A list as it stands, or an empty one."""
        value = self.raw(*keys)
        if isinstance(value, list):
            return value
        if value is not None:
            self._refuse(keys, value, "a list")
        return []

    def objects(self, *keys: str) -> Iterator[LooseObject]:
        """Each object of a list; anything else in it is noted and passed over."""
        for index, item in enumerate(self.items(*keys)):
            where = f"{self._at(keys)}[{index}]"
            if isinstance(item, dict):
                yield LooseObject(item, self.report, where)
            else:
                self.report.broken(where, f"expected an object, found {kind_of(item)}")

    def _write_as_text(self, path: str, value: bool | float) -> None:
        note = self.report.mended if isinstance(value, bool) else self.report.converted
        note(path, f"{kind_of(value)} written as text")

    def _at(self, keys: tuple[str, ...]) -> str:
        """The place of the field, by the first of its spellings that is there."""
        return self.at(next((key for key in keys if key in self.source), keys[0]))

    def _refuse(self, keys: tuple[str, ...], value: Json, wanted: str) -> None:
        # An empty text, list or object has nothing that could be lost.
        note = self.report.ignored if value in ("", [], {}) else self.report.broken
        note(self._at(keys), f"expected {wanted}, found {kind_of(value)}")


def kind_of(value: Json) -> str:
    """What a JSON value is, in words for a sentence."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a yes or no"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
