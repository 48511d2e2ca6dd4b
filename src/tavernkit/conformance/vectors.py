"""Files of recorded behaviour: source, group, definitions and cases, where `{"$ref": "d3"}` is a definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tavernkit.errors import ParseError
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject, Value

MAX_REFERENCES = 50

Case: TypeAlias = Mapping[str, Any]
"""A recorded case, or an object in one: loose JSON of our own files, read by the keys that its group has. A case of
another shape raises there, which counts as a failure of that case."""

Outcome: TypeAlias = tuple[Json, Json]
"""What was recorded and what we did, which should be equal."""

Found = TypeVar("Found")

Check: TypeAlias = Callable[[Case], Outcome]
"""Replays one case."""


class VectorFile(Value, frozen=True, kw_only=True):
    """One file. `application` is the lower-cased first word of its source, such as `sillytavern`."""

    path: Path
    application: str
    group: str
    defs: JsonObject
    raw_cases: tuple[JsonObject, ...]

    def cases(self) -> Iterator[Case]:
        """Each case with its references replaced."""
        for case in self.raw_cases:
            yield {key: self._resolve(value, 0) for key, value in case.items()}

    def _resolve(self, value: Json, depth: int) -> Json:
        if isinstance(value, list):
            return [self._resolve(item, depth) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$ref"}:
            name = value["$ref"]
            if depth > MAX_REFERENCES:
                raise ParseError(f"{self.path.name}: the definition {name!r} refers to itself.")
            if name not in self.defs:
                raise ParseError(f"{self.path.name}: no definition {name!r}.")
            return self._resolve(self.defs[name], depth + 1)
        return {key: self._resolve(item, depth) for key, item in value.items()}


def read_vectors(path: Path) -> VectorFile:
    """Read a file of recorded cases; raises ParseError when it is not one."""
    try:
        data = parse_json(path.read_bytes(), what=path.name)
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror or 'cannot be read'}.") from None
    match data:
        case {"source": str(source), "group": str(group), "cases": list(cases), **others} if source.strip():
            if not all(isinstance(case, dict) for case in cases):
                raise ParseError(f"{path.name}: every case must be an object.")
            defs = others.get("defs")
            return VectorFile(
                path=path,
                application=source.split()[0].lower(),
                group=group,
                defs=defs if isinstance(defs, dict) else {},
                raw_cases=tuple(cases),
            )
        case _:
            raise ParseError(f"{path.name} is not a file of recorded cases: it needs source, group and cases.")


def replay_of(kinds: Mapping[str, Found], kind: Json) -> Found:
    """How cases of a kind are replayed; raises ParseError that names a kind that nothing here replays."""
    if not isinstance(kind, str) or kind not in kinds:
        raise ParseError(f"no way to replay a case of the kind {kind!r}; there is one for {', '.join(kinds)}.")
    return kinds[kind]


def compare(case: Case, ours: JsonObject, **where_recorded: Json) -> Outcome:
    """Set ours against what was recorded under the same names; not every case has recorded the latter ones."""
    ours = {**ours, **{name: value for name, value in where_recorded.items() if name in case}}
    return {name: case[name] for name in ours}, ours


def loose(source: Case) -> LooseObject:
    """A recorded object for the readers of files."""
    return LooseObject(source, ReportBuilder())
