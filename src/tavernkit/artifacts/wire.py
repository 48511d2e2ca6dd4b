"""Values that are written as JSON: one declaration gives their fields, their names there and their JSON Schema.

`decode` reads such a value in camelCase or snake_case, field by field with `msgspec.convert`, so that all that is wrong
is found at once, each at its place. `encode` writes it, and `json_schema` describes it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, ClassVar, NoReturn, TypeGuard, TypeVar, cast

import msgspec
from msgspec import inspect

from tavernkit.errors import InvalidArtifactError
from tavernkit.reading import ReportBuilder, kind_of
from tavernkit.values import Value

T = TypeVar("T", bound=str)
W = TypeVar("W", bound="Wire")

_DEEPEST = 16
_PLAIN: Mapping[type[inspect.Type], tuple[type, str]] = {
    inspect.StrType: (str, "text"),
    inspect.IntType: (int, "a number"),
    inspect.FloatType: (float, "a number"),
    inspect.BoolType: (bool, "true or false"),
    inspect.DictType: (dict, "an object"),
}


class Wire(Value, frozen=True, kw_only=True, rename="camel"):
    """The base of values that are written as JSON.

    A text with a `min_length` that is blank counts as absent; one with a `max_length` is stripped.
    """

    spellings: ClassVar[Mapping[str, str]] = {}
    """Further names under which a field is found."""
    synonyms: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By field: words that mean another one."""
    needs: ClassVar[Mapping[str, str]] = {}
    """By required field: the sentence for whoever has left it out."""
    blank: ClassVar[Mapping[str, object]] = {}
    """The JSON of what stands where one cannot be read, so that the places of the others are right."""
    written_as: ClassVar[type[WireRules] | None] = None
    """The rules it is made from, where JSON may say less than the value does."""

    @classmethod
    def parse(cls, text: str) -> Wire:
        """Read the form in one text, where there is one."""
        raise InvalidArtifactError(f"Write an object, not the text {text[:80]!r}.")

    @classmethod
    def variants(cls) -> Mapping[str, type[Wire]]:
        """By their tags, the values one of which stands where this one is declared; none: it is the value itself."""
        return {}

    @classmethod
    def usual(cls, said: Mapping[str, object]) -> Mapping[str, object]:  # noqa: ARG003 - for the fields of subclasses
        """The defaults that depend on the other fields."""
        return {}


class WireRules(Wire, frozen=True, kw_only=True):
    """What JSON says about a value that is made from it."""

    def normal(self) -> Wire | None:
        raise NotImplementedError  # all rules have their own; a Struct cannot be abstract


class Notes:
    """Is told what is found while JSON is read; this one keeps nothing of it."""

    def subject(self, path: str) -> str:
        """What a sentence about that place begins with."""
        return path

    def refused(self, path: str, sentence: str) -> None:
        """A word that is none of the allowed ones, or rules that contradict each other."""

    def mistyped(self, path: str, message: str) -> None:
        """A value of another type; the default stands in."""

    def unknown(self, path: str) -> None:
        """A field that nobody reads."""


class NotesOfReport(Notes):
    """Raises InvalidArtifactError for what is refused, and keeps the rest in an import report."""

    def __init__(self, report: ReportBuilder) -> None:
        self._report = report

    def refused(self, path: str, sentence: str) -> None:  # noqa: ARG002 - the sentence says where
        raise InvalidArtifactError(sentence)

    def mistyped(self, path: str, message: str) -> None:
        self._report.ignored(path, message)

    def unknown(self, path: str) -> None:
        self._report.ignored(path, "unknown field, not used")


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """The value has been reported, and nothing can be made of it."""


def one_of(word: object, allowed: Sequence[T], *, what: str) -> T:
    """The allowed word that this is; else InvalidArtifactError lists them."""
    for option in allowed:
        if option == word:
            return option
    found = repr(word[:80]) if isinstance(word, str) else kind_of(word)
    raise InvalidArtifactError(f"{what} is {found}; it must be one of {', '.join(allowed)}.")


def decode(model: type[W], source: object, notes: Notes, path: str = "") -> W:
    """The value, as far as it can be read; the notes are told of everything that is wrong."""
    try:
        return cast(W, _Reader(notes).struct(model, source, path))
    except _Unreadable:
        return _stand_in(model)


def encode(value: Wire) -> dict[str, object]:
    """The JSON that `decode` reads."""
    return cast(dict[str, object], msgspec.to_builtins(value, enc_hook=str, order="deterministic"))


def _stand_in(model: type[W]) -> W:
    return cast(W, _Reader(Notes()).struct(model, model.blank, ""))


class _Reader:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._depth = 0

    def struct(self, model: type[Wire], source: object, path: str) -> object:
        if isinstance(source, str):
            return self._made(path, (model.written_as or model).parse, source)
        if not isinstance(source, Mapping):
            self._refuse(path, f"{self._notes.subject(path)} must be an object, not {kind_of(source)}.")
        if self._depth == _DEEPEST:
            self._refuse(path, f"{self._notes.subject(path)} is nested too deeply.")
        self._depth += 1
        try:
            written = model.written_as or model
            said = self._fields(written, source, path)
            made = self._made(path, written, **{**written.usual(said), **said})
        finally:
            self._depth -= 1
        return self._made(path, made.normal) if isinstance(made, WireRules) else made

    def _fields(self, model: type[Wire], source: Mapping[str, object], path: str) -> dict[str, object]:
        fields, names = _fields_of(model), _names_of(model)
        raw: dict[str, object] = {}
        for key, name in names.items():
            if key in source:
                raw.setdefault(name, source[key])
        for key in source:
            if key not in names:
                self._notes.unknown(_at(path, key))
        said: dict[str, object] = {}
        for name, field in fields.items():
            value = raw.get(name)
            at = _at(path, field.encode_name)
            if isinstance(value, str):
                value = model.synonyms.get(name, {}).get(value, value)
            if value is None or _is_blank(value, field.type):
                if field.required:
                    self._notes.refused(at, _missing(model, field))
                    said[name] = model.blank.get(field.encode_name, "")
                continue
            try:
                said[name] = self._value(field.type, value, at)
            except _Unreadable:
                if field.required:
                    said[name] = model.blank.get(field.encode_name, "")
        return said

    def _value(self, kind: inspect.Type, value: object, path: str) -> object:
        match kind:
            case inspect.UnionType(types=types):
                return self._value(next(each for each in types if not isinstance(each, inspect.NoneType)), value, path)
            case inspect.StructType(cls=model) if issubclass(model, Wire):
                variants = _variants(model)
                return self._tagged(variants, value, path) if variants else self.struct(model, value, path)
            case inspect.VarTupleType(item_type=item):
                return tuple(self._items(item, value, path))
            case inspect.FrozenSetType(item_type=item):
                return frozenset(self._items(item, value, path))
            case inspect.LiteralType(values=values):
                return self._made(path, one_of, value, values, what=self._notes.subject(path))
            case inspect.CustomType(cls=custom):
                return value if custom is object else self._parsed(custom, value, path)
            case _:
                return self._plain(kind, value, path)

    def _parsed(self, custom: Any, value: object, path: str) -> object:
        return self._made(path, custom.parse, self._plain(_TEXT, value, path))

    def _tagged(self, models: Mapping[str, type[Wire]], value: object, path: str) -> object:
        """One of several kinds of object, which says itself of which kind it is."""
        first = next(iter(models.values()))
        if not isinstance(value, Mapping):
            return self.struct(first, value, path)
        tag = str(first.__struct_config__.tag_field)
        word = next((value[key] for key, name in _names_of(first).items() if name == tag and key in value), None)
        try:
            model = models[one_of(word, tuple(models), what=self._notes.subject(_at(path, tag)))]
        except InvalidArtifactError as error:
            self._notes.refused(_at(path, tag), str(error))
            # What an unknown kind would need is not known either, so nothing more is said about it.
            return self.struct(first, {**first.blank, **value}, path)
        return self.struct(model, value, path)

    def _items(self, item: inspect.Type, value: object, path: str) -> Iterator[object]:
        if isinstance(value, str):
            value = [value] if value else []
        if not isinstance(value, list | tuple):
            self._mistype(path, "a list", value)
        for place, each in enumerate(value):
            try:
                yield self._value(item, each, f"{path}[{place}]")
            except _Unreadable:
                if isinstance(item, inspect.StructType) and issubclass(item.cls, Wire):
                    yield _stand_in(next(iter(_variants(item.cls).values()), item.cls))

    def _plain(self, kind: inspect.Type, value: object, path: str) -> object:
        """A text, a number, a yes or no, or any object, converted where that keeps its meaning."""
        if isinstance(kind, inspect.StrType) and isinstance(value, bool | int | float):
            value = json.dumps(value)
        elif isinstance(kind, inspect.StrType) and isinstance(value, list) and _are_texts(value):
            value = "\n".join(value)
        elif isinstance(kind, inspect.IntType) and isinstance(value, float) and math.isfinite(value):
            value = math.floor(value)
        plain, wanted = _PLAIN[type(kind)]
        try:
            converted: Any = msgspec.convert(value, plain, strict=False)
        except msgspec.ValidationError:
            is_too_large = isinstance(value, int | float) and not isinstance(value, bool)
            self._mistype(path, "a finite number" if is_too_large else wanted, value)
        if isinstance(converted, float) and not math.isfinite(converted):
            self._mistype(path, "a finite number", value)
        if isinstance(kind, inspect.IntType | inspect.FloatType):
            self._check_range(kind, converted, path)
        return converted.strip() if isinstance(kind, inspect.StrType) and kind.max_length is not None else converted

    def _check_range(self, kind: inspect.IntType | inspect.FloatType, number: float, path: str) -> None:
        name = self._notes.subject(path)
        if kind.ge is not None and number < kind.ge:
            self._refuse(path, f"{name} must be at least {kind.ge}, not {number}.")
        if kind.gt is not None and number <= kind.gt:
            self._refuse(path, f"{name} must be more than {kind.gt}, not {number}.")
        if kind.le is not None and number > kind.le:
            self._refuse(path, f"{name} must be at most {kind.le:,}, not {number}.")

    def _made(self, path: str, make: Any, *arguments: object, **fields: object) -> Any:
        """What a constructor or a parser of ours makes; what it refuses is told at its place."""
        try:
            return make(*arguments, **fields)
        except InvalidArtifactError as error:
            self._refuse(path, str(error))

    def _refuse(self, path: str, sentence: str) -> NoReturn:
        self._notes.refused(path, sentence)
        raise _Unreadable

    def _mistype(self, path: str, wanted: str, value: object) -> NoReturn:
        self._notes.mistyped(path, f"expected {wanted}, found {kind_of(value)}")
        raise _Unreadable


_TEXT = inspect.StrType()


def _variants(model: type[Wire]) -> Mapping[str, type[Wire]]:
    """Of the model itself: those that it inherits are its siblings."""
    return model.variants() if "variants" in vars(model) else {}


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


@cache
def _fields_of(model: type[Wire]) -> Mapping[str, inspect.Field]:
    described = inspect.type_info(model)
    return {field.name: field for field in described.fields} if isinstance(described, inspect.StructType) else {}


@cache
def _names_of(model: type[Wire]) -> Mapping[str, str]:
    """Every name under which a field is found, the proper one first."""
    fields = _fields_of(model).values()
    tag = model.__struct_config__.tag_field
    proper = {field.encode_name: field.name for field in fields} | ({tag: tag} if tag else {})
    snake = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): field for name, field in proper.items()}
    others = {**{field.name: field.name for field in fields}, **snake, **model.spellings}
    return {**proper, **{name: field for name, field in others.items() if name not in proper}}


def _are_texts(values: list[object]) -> TypeGuard[list[str]]:
    return all(isinstance(each, str) for each in values)


def _is_blank(value: object, kind: inspect.Type) -> bool:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    limited = any(isinstance(each, inspect.CustomType) or getattr(each, "min_length", None) for each in kinds)
    return limited and isinstance(value, str) and not value.strip()


def _missing(model: type[Wire], field: inspect.Field) -> str:
    words = field.type.values if isinstance(field.type, inspect.LiteralType) else ()
    sentence = model.needs.get(field.name, f"This needs a field {field.encode_name}.")
    return f"{sentence} It must be one of {', '.join(map(str, words))}." if words else sentence


def json_schema(*models: type[Wire], ref_template: str = "#/$defs/{name}") -> dict[str, dict[str, Any]]:
    """The JSON Schemas of these values and of all that they hold, by the names of their classes."""
    known = {model.__name__: model for model in _below(Wire)}
    rules = [model for model in known.values() if issubclass(model, WireRules)]
    variants = {name: found for name, model in known.items() if (found := list(_variants(model).values()))}
    _, schemas = msgspec.json.schema_components(
        [*models, *rules, *chain.from_iterable(variants.values())],
        schema_hook=_custom_schema,
        ref_template=ref_template,
    )
    for name, model in known.items():
        if name not in schemas or issubclass(model, WireRules):
            continue
        written = model.written_as or model
        schema = {**schemas[written.__name__], "title": name}
        for field, words in model.synonyms.items():
            schema["properties"][field]["enum"] += words
        schemas[name] = {"title": name, "anyOf": [{"type": "string"}, schema]} if "parse" in vars(written) else schema
    for name in schemas.keys() & variants.keys():
        references = [{"$ref": ref_template.format(name=each.__name__)} for each in variants[name]]
        schemas[name] = {"title": name, "anyOf": references}
    return {name: schema for name, schema in schemas.items() if name not in {model.__name__ for model in rules}}


def inlined_schema(model: type[Wire], *, left_out: Iterable[str] = ()) -> dict[str, Any]:
    """The JSON Schema of one value without references, and without some of its fields."""
    schemas = json_schema(model)
    whole: dict[str, Any] = _inlined(schemas[model.__name__], schemas, ())
    whole["properties"] = {name: field for name, field in whole["properties"].items() if name not in left_out}
    whole["required"] = [name for name in whole["required"] if name not in left_out]
    return whole


def _inlined(part: Any, schemas: Mapping[str, Any], above: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_inlined(each, schemas, above) for each in part]
    if not isinstance(part, dict):
        return part
    name = str(part.get("$ref", "")).rpartition("/")[2]
    if not name:
        return {key: _inlined(each, schemas, above) for key, each in part.items() if key != "discriminator"}
    # Only an anchor stands inside itself, and no deeper than once.
    return _inlined(schemas[name], schemas, (*above, name)) if above.count(name) < 2 else {"type": "string"}


def _below(model: type[Wire]) -> Iterator[type[Wire]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


def _custom_schema(custom: type) -> dict[str, Any]:
    return {"description": "Any JSON."} if custom is object else {"type": "string"}
