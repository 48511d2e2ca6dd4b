"""How RisuAI stores its nouns: a class lists its fields, and reading and writing follow from them.

A value of the wrong type is noted and gives way to the default. What nobody changed is written as it was read, with the
fields that no class names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, get_args, get_origin

import msgspec

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject, Value

_Reader: TypeAlias = Callable[[LooseObject, str, Any], Any]


class StoredFields(Value, frozen=True, kw_only=True):
    """The base of what RisuAI stores as an object.

    `SPELT` is what RisuAI calls a field whose name is not the field's own in camel case, None for what it does not
    store as such. `ALWAYS` are the fields that are written even when they were not read.
    """

    SPELT: ClassVar[Mapping[str, str | None]] = {}
    ALWAYS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, source: LooseObject, **given: Any) -> Self:
        """Read what RisuAI has stored, but for the fields that are given."""
        for name, key, default, exact, reader in _fields(cls):
            value = source.source.get(key, msgspec.UNSET)
            if type(value) is exact and name not in given:
                given[name] = value
            elif (value is not msgspec.UNSET or default is msgspec.NODEFAULT) and name not in given:
                given[name] = reader(source, key, "" if default is msgspec.NODEFAULT else default)
        return cls(**given)

    def write(self) -> dict[str, Json]:
        """The fields as RisuAI stores them."""
        fields = {key: getattr(self, name) for name, key, *_ in _fields(type(self))}
        return {key: value for key, value in fields.items() if value is not None}


class StoredNoun(StoredFields, frozen=True, kw_only=True):
    """The base of what RisuAI stores by itself; `written` is the object that it was read from."""

    written: JsonObject = {}

    @classmethod
    def read(cls, source: LooseObject, **given: Any) -> Self:
        return super().read(source, written=dict(source.source), **given)

    def write(self, **spelt: str) -> dict[str, Json]:
        """What it was read from, with the fields that have changed; `spelt` has other names for them."""
        before = self.read(LooseObject(self.written, ReportBuilder()))
        fields = dict(self.written)
        for name, usual, *_ in _fields(type(self)):
            value, key = getattr(self, name), spelt.get(name, usual)
            if value == getattr(before, name) and (key in fields or name not in self.ALWAYS):
                continue
            if value is None:
                fields.pop(key, None)
            else:
                fields[key] = _plain(value, fields.get(key))
        return fields


def spelling_of(kind: type[StoredFields]) -> Mapping[str, str]:
    """What RisuAI calls each field that it stores."""
    return {name: key for name, key, *_ in _fields(kind)}


class AssetName(Value, frozen=True, kw_only=True):
    """An asset as a character or module lists it: the name that macros use, where it is kept, and its kind of file."""

    name: str
    path: str = ""
    extension: str = ""


class _Field(NamedTuple):
    """One field of a class; a value of the type `exact` is taken as it is."""

    name: str
    key: str
    default: Any
    exact: type | None
    reader: _Reader


@functools.cache
def _fields(kind: type[StoredFields]) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            field.name,
            key,
            field.default if field.default_factory is msgspec.NODEFAULT else None,
            _EXACT.get(field.type),
            _reader(field),
        )
        for field in msgspec.structs.fields(kind)
        if field.name != "written" and (key := kind.SPELT.get(field.name, _camel(field.name))) is not None
    )


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _reader(field: msgspec.structs.FieldInfo) -> _Reader:
    known = _READERS.get(field.type)
    if known is not None:
        return known
    kind: type[StoredFields] = next((part for part in get_args(field.type)), field.type)
    if get_origin(field.type) is tuple:
        return lambda source, key, _: tuple(kind.read(item) for item in source.objects(key))
    return lambda source, key, default: kind.read(source.nested(key)) if source.object(key) else default


def _read_asset_names(source: LooseObject, key: str, _: object) -> tuple[AssetName, ...]:
    """Read a list of `[name, path, extension]`; anything else in it is noted and passed over."""
    found: list[AssetName] = []
    for index, item in enumerate(source.items(key)):
        if isinstance(item, list) and item and all(isinstance(part, str) for part in item):
            name, path, extension = (*item, "", "")[:3]
            found.append(AssetName(name=name, path=path, extension=extension))
        else:
            source.report.broken(f"{source.at(key)}[{index}]", "expected the texts of an asset: name, path, extension")
    return tuple(found)


_READERS: Mapping[Any, _Reader] = {
    str: lambda source, key, default: source.text(key, default=default),
    bool: lambda source, key, default: source.flag(key, default=default),
    int: lambda source, key, default: source.integer(key, default=default),
    float: lambda source, key, default: source.number(key, default=default),
    str | None: lambda source, key, _: source.optional_text(key),
    int | None: lambda source, key, _: source.optional_integer(key),
    float | None: lambda source, key, _: source.optional_number(key),
    tuple[str, ...]: lambda source, key, _: source.texts(key),
    tuple[JsonObject, ...]: lambda source, key, _: tuple(item.source for item in source.objects(key)),
    tuple[AssetName, ...]: _read_asset_names,
    JsonObject: lambda source, key, _: source.object(key),
}
_EXACT: Mapping[Any, type] = {str: str, str | None: str, bool: bool, int: int, float: int, float | None: int}


def _plain(value: Any, before: Json) -> Json:
    match value:
        case StoredNoun():
            return value.write()
        case StoredFields():  # it names only what is known here, and leaves what else stood in its place
            return {**before, **value.write()} if isinstance(before, dict) else value.write()
        case AssetName():
            return [value.name, value.path, *([value.extension] if value.extension else [])]
        case tuple():
            return [_plain(item, None) for item in value]
        case _:
            return value
