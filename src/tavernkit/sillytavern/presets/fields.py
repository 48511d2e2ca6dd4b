"""Preset files as typed values: a class lists its fields, and everything else about reading and writing follows.

The name of a field is its name in the file. A value of the wrong type is noted and gives way to the default; a field
that no class knows is kept. `encode(decode(...))` gives back what was read, and a field that was changed since is
written anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import CheckedValue, Json, JsonObject

P = TypeVar("P", bound="PresetFile")
Reader: TypeAlias = Callable[[LooseObject, str, Any], Any]


class PresetFile(CheckedValue, frozen=True, kw_only=True):
    """The base of everything that stands in a preset file.

    `unknown` holds the fields that no class here names; `spelling` the named ones as the file had them, None for a
    value that came from no file.
    """

    OLD_NAMES: ClassVar[Mapping[str, str]] = {}
    """Fields of older versions, and the field that each has become."""

    unknown: JsonObject = {}
    spelling: JsonObject | None = None

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """The fields of a file of any age under today's names."""
        fields = {key: value for key, value in source.items() if key not in cls.OLD_NAMES}
        for old, new in cls.OLD_NAMES.items():
            if old in source:
                fields.setdefault(new, source[old])
        return fields


def decode(kind: type[P], source: JsonObject, report: ReportBuilder, path: str = "") -> P:
    """Read one object of a preset file; what was wrong or is unknown is noted in the report."""
    fields = _fields(kind)
    known = {*fields, *kind.OLD_NAMES}
    spelling = {key: value for key, value in source.items() if key in known}
    unknown = {key: value for key, value in source.items() if key not in known}
    for key in unknown:
        report.add(f"{path}.{key}" if path else key, "exact", "kept as it is; no field of that name is known here")
    loose = LooseObject(kind.modernised(spelling), report, path)
    values = {name: _read(loose, field) for name, field in fields.items() if loose.has(name)}
    return kind(**values, unknown=unknown, spelling=spelling)


def encode(value: PresetFile) -> dict[str, Json]:
    """Write one object of a preset file."""
    names = _fields(type(value))
    if value.spelling is None:
        written = {name: _plain(getattr(value, name)) for name in names}
    else:
        changed = _changed(value, value.spelling)
        written = {
            key: item for key, item in value.spelling.items() if value.OLD_NAMES.get(key, key) not in changed
        } | {name: _plain(getattr(value, name)) for name in changed}
        # A field may have been read from another one that was left out or written anew.
        written |= {name: _plain(getattr(value, name)) for name in (_changed(value, written) if changed else ())}
    return written | {key: item for key, item in value.unknown.items() if key not in written}


def _changed(value: PresetFile, written: JsonObject) -> list[str]:
    """The fields whose value is another one than `written` is read as."""
    before = decode(type(value), written, ReportBuilder())
    return [name for name in _fields(type(value)) if getattr(value, name) != getattr(before, name)]


@functools.cache
def _fields(kind: type[PresetFile]) -> Mapping[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind) if field.name not in ("unknown", "spelling")}


def _read(source: LooseObject, field: msgspec.structs.FieldInfo) -> Any:
    default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    reader = READERS.get(field.type)
    if reader is not None:
        return reader(source, field.name, default)
    origin, arguments = get_origin(field.type), get_args(field.type)
    if origin is Literal:
        return _one_of(source, field.name, arguments, default)
    if origin is tuple:
        return tuple(decode(arguments[0], item.source, source.report, item.path) for item in source.objects(field.name))
    nested = source.nested(field.name)
    kind = arguments[0] if arguments else field.type
    return decode(kind, nested.source, source.report, nested.path) if nested.source else default


def _one_of(source: LooseObject, key: str, choices: tuple[Any, ...], default: Any) -> Any:
    value = source.integer(key, default=default) if isinstance(default, int) else source.text(key, default=default)
    if value in choices:
        return value
    source.report.broken(source.at(key), f"expected one of {', '.join(map(repr, choices))}")
    return default


def _plain(value: Any) -> Json:
    match value:
        case PresetFile():
            return encode(value)
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)
        case _:
            return value


READERS: Mapping[Any, Reader] = {
    str: lambda source, key, default: source.text(key, default=default),
    bool: lambda source, key, default: source.flag(key, default=default),
    int: lambda source, key, default: source.integer(key, default=default),
    float: lambda source, key, default: source.number(key, default=default),
    str | None: lambda source, key, _: source.optional_text(key),
    bool | None: lambda source, key, _: source.optional_flag(key),
    int | None: lambda source, key, _: source.optional_integer(key),
    float | None: lambda source, key, _: source.optional_number(key),
    tuple[str, ...]: lambda source, key, _: source.texts(key),
    tuple[Json, ...]: lambda source, key, _: tuple(source.items(key)),
    int | str: lambda source, key, _: number if type(number := source.raw(key)) is int else source.text(key),
    JsonObject: lambda source, key, _: source.object(key),
    Json: lambda source, key, _: source.raw(key),
}
