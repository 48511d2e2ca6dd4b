"""Cards in: version 1, 2, 3 and the older Gradio keys, read into one model."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from tavernkit.characters.character import MIRRORED_FIELDS, AssetReference, CardSpec, Character, CharacterCard
from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.errors import InvalidCardError, UnsupportedVersionError
from tavernkit.lore.book import Book
from tavernkit.lore.files.character_book import read_character_book
from tavernkit.reading import MAX_JSON_DEPTH, Imported, LooseObject, ReportBuilder, Source, kind_of, open_json
from tavernkit.values import Json, JsonObject


def with_plain_numbers(source: dict[str, Json], report: ReportBuilder) -> dict[str, Json]:
    """Return the same object where all is well; else a copy that any JSON reader takes, with a note for each change."""
    return source if _is_plain(source) else {key: _replace(value, report, key) for key, value in source.items()}


def _is_plain(source: dict[str, Json]) -> bool:
    """Look at all numbers, level by level, without following the places where they stand."""
    level: list[dict[str, Json] | list[Json]] = [source]
    for _ in range(MAX_JSON_DEPTH + 1):
        found: list[Any] = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, _LOOKED_INTO)
        ]
        level = [item for item in found if not isinstance(item, float)]
        if len(level) < len(found) and not all(math.isfinite(item) for item in found if isinstance(item, float)):
            return False
        if not level:
            return True
    raise InvalidCardError(f"The card is nested more than {MAX_JSON_DEPTH} levels deep.")


_LOOKED_INTO = (dict, list, float)


def _replace(value: Json, report: ReportBuilder, path: str) -> Json:
    if isinstance(value, dict):
        return {key: _replace(item, report, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, report, f"{path}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        report.mended(path, "not a number (NaN), which JSON cannot hold, read as null")
        return None
    report.mended(path, "a number beyond all limits read as the largest one that fits")
    return math.copysign(sys.float_info.max, value)


ENVELOPE = ("spec", "spec_version", "data")
GRADIO_FIELDS = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
}
FLAT_FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creatorcomment", "creator_notes"),
    *("alternate_greetings", "character_book", "tags", "creator", "talkativeness"),
    *(field for field in GRADIO_FIELDS if field != "char_name"),
)
"""What makes a file with a name a card: workflows, packages and presets have a name as well."""
BESIDE_DESCRIPTION = frozenset(
    {*Character.__struct_fields__, *ENVELOPE, "avatar", "chat", "create_date", "fav", "metadata"}
)
"""What a card may have beside a name and a description, which packages have as well."""
DEFAULT_VERSION: dict[CardSpec, str] = {"v1": "1.0", "v2": "2.0", "v3": "3.0"}


def read_card(source: Source, *, limits: CardLimits = DEFAULT_LIMITS, strict: bool = False) -> Imported[CharacterCard]:
    """Read a card's JSON; the report says what was converted or ignored, a strict reader raises it."""
    report = ReportBuilder()
    document, file = open_json(source, what="The card", max_bytes=limits.json_bytes)
    card = decode_card(document, report, limits=limits)
    return Imported(card, report.build(f"card {card.spec}", file=file, error=InvalidCardError, strict=strict))


def check_has_card_fields(source: Json) -> None:
    """Raise InvalidCardError for the object of a text file that has a name, but nothing else that makes it a card."""
    if not isinstance(source, Mapping) or "spec" in source or isinstance(source.get("data"), dict):
        return
    # What has no name, or the entries of a lorebook, is refused for that.
    if not _named(source, "name", "char_name") or "entries" in source:
        return
    given = [field for field in FLAT_FIELDS if field in source]
    if not given:
        raise InvalidCardError(
            "This is not a character card: it has a name, and none of a card's other fields, such as description or"
            " first_mes."
        )
    if given == ["description"] and not source.keys() <= BESIDE_DESCRIPTION:
        raise InvalidCardError(
            "This is not a character card: it has a name, a description and fields of something else, and none of a"
            " card's other fields, such as first_mes."
        )


def decode_card(source: Json, report: ReportBuilder, *, limits: CardLimits = DEFAULT_LIMITS) -> CharacterCard:
    """Read a card and add the notes to a report that its container has begun."""
    if not isinstance(source, Mapping):
        raise InvalidCardError(f"A character card is a JSON object, but this is {kind_of(source)}.")
    top = with_plain_numbers(dict(source), report)
    spec = _spec(top, report)
    if spec == "v1":
        return _read_flat(top, report, limits)
    data = dict(LooseObject(top, report).object("data"))
    _fill_from_top(data, top, report)
    fields = LooseObject(data, report, "data")
    character = _read_character(fields, limits)
    mirrored, unknown = _split_top(top, character, report)
    return CharacterCard(
        character=character,
        spec=spec,
        spec_version=_spec_version(top, spec, report),
        mirrored=mirrored,
        unknown=unknown,
    )


def _spec(top: Mapping[str, Json], report: ReportBuilder) -> CardSpec:
    spec = top.get("spec")
    data = top.get("data")
    has_data = isinstance(data, dict) and bool(data)
    if spec is None:
        if not isinstance(data, dict) or not _named(data):
            return "v1"
        report.converted("spec", "missing; read as chara_card_v2, because there is a data object with a name")
        return "v2"
    match = re.fullmatch(r"chara_card_v(\d{1,9})", spec.strip().lower()) if isinstance(spec, str) else None
    major = int(match.group(1)) if match else None
    if major is not None and major > 3:
        raise UnsupportedVersionError(f"The card says it is {spec!r}; versions 1, 2 and 3 of the card format are read.")
    if not has_data:
        if major is None:
            raise UnsupportedVersionError(
                f"The card says it is {str(spec)[:80]!r}, which is not a known card format, and it has no data object."
            )
        if major != 1:
            report.mended("spec", f"{spec} without a data object; its top-level fields read as version 1")
        return "v1"
    if major in (2, 3):
        return "v3" if major == 3 else "v2"
    report.mended("spec", f"{str(spec)[:80]!r} is not a known card format; read as chara_card_v2")
    return "v2"


def _spec_version(top: Mapping[str, Json], spec: CardSpec, report: ReportBuilder) -> str:
    usual = DEFAULT_VERSION[spec]
    version = LooseObject(top, report).text("spec_version", default=usual).strip() or usual
    numbers = re.match(r"(\d{1,9})(?:\.(\d{1,9}))?", version)
    newest = (int(usual[0]), 0)
    if numbers and (int(numbers.group(1)), int(numbers.group(2) or 0)) > newest:
        report.converted(
            "spec_version", f"{version[:40]} is newer than {usual}; what is new in it is kept but not used"
        )
    return version


def _fill_from_top(data: dict[str, Json], top: Mapping[str, Json], report: ReportBuilder) -> None:
    for outer, inner in MIRRORED_FIELDS.items():
        missing = data.get(inner) is None or (inner == "name" and not _named(data))
        if missing and top.get(outer) not in (None, "", []):
            data[inner] = top[outer]
            report.converted(f"data.{inner}", f"missing; taken from the top-level field {outer}")


def _split_top(
    top: Mapping[str, Json], character: Character, report: ReportBuilder
) -> tuple[tuple[str, ...], dict[str, Json]]:
    mirrored: list[str] = []
    unknown: dict[str, Json] = {}
    for key, value in top.items():
        if key in ENVELOPE:
            continue
        if key in MIRRORED_FIELDS:
            inner = getattr(character, MIRRORED_FIELDS[key])
            if value == (list(inner) if isinstance(inner, tuple) else inner):
                mirrored.append(key)
                continue
        unknown[key] = value
        if key in MIRRORED_FIELDS and value is not None:
            report.ignored(key, f"differs from data.{MIRRORED_FIELDS[key]}, which wins; kept as it is")
    return tuple(mirrored), unknown


def _read_flat(top: Mapping[str, Json], report: ReportBuilder, limits: CardLimits) -> CharacterCard:
    fields = LooseObject({key: value for key, value in top.items() if key not in ENVELOPE}, report)
    if "entries" in top and not any(key in top for key in ("personality", "first_mes")):
        raise InvalidCardError("This is not a character card: it has entries and no first_mes, as a lorebook has.")
    character = _read_character(fields, limits)
    if top.get("data") is not None:
        report.broken("data", "not a card's data object; the top-level fields are the card")
    # What a flat card has beside the known fields stood at the top level, and stays there.
    return CharacterCard(
        character=character.with_(unknown={}),
        spec="v1",
        spec_version=DEFAULT_VERSION["v1"],
        unknown=character.unknown,
    )


def _read_character(fields: LooseObject, limits: CardLimits) -> Character:
    if not _named(fields.source, "name", "char_name"):
        raise InvalidCardError(_nameless(fields))
    for older, field in GRADIO_FIELDS.items():
        if older in fields.source and field not in fields.source:
            fields.report.converted(fields.at(older), f"the older name of {field}")
    character = Character(
        name=fields.text("name") if _named(fields.source, "name") else fields.text("char_name"),
        description=fields.text("description", "char_persona"),
        personality=fields.text("personality"),
        scenario=fields.text("scenario", "world_scenario"),
        first_mes=fields.text("first_mes", "char_greeting"),
        mes_example=fields.text("mes_example", "example_dialogue"),
        creator_notes=_creator_notes(fields),
        system_prompt=fields.text("system_prompt"),
        post_history_instructions=fields.text("post_history_instructions"),
        alternate_greetings=fields.texts("alternate_greetings"),
        group_only_greetings=fields.texts("group_only_greetings"),
        tags=_tags(fields),
        creator=fields.text("creator"),
        character_version=fields.text("character_version"),
        extensions=_extensions(fields),
        nickname=fields.text("nickname") if _is_text(fields.source.get("nickname")) else None,
        creator_notes_multilingual=_object(fields, "creator_notes_multilingual"),
        source=_texts(fields, "source"),
        assets=_assets(fields, limits),
        creation_date=_date(fields, "creation_date"),
        modification_date=_date(fields, "modification_date"),
        character_book=_book(fields, limits),
    )
    # An optional field that is null or unusable stays in the file as it was found.
    unread = {
        key: fields.source[key]
        for key, value in msgspec.structs.asdict(character).items()
        if value is None and key in fields.source
    }
    for key, value in unread.items():
        if value is not None:
            fields.report.broken(fields.at(key), f"{kind_of(value)} cannot stand here; kept in the file, not used")
    return character.with_(unknown={**fields.rest(), **unread})


class _DepthPrompt(msgspec.Struct):
    prompt: str | None = None
    depth: int | None = None
    role: Literal["", "system", "user", "assistant"] | None = None


class _UsualExtensions(msgspec.Struct):
    """What most applications read in the extensions of a card."""

    talkativeness: float | None = None
    depth_prompt: _DepthPrompt | None = None


def _extensions(fields: LooseObject) -> JsonObject:
    """The extensions as they stand; what most applications read in them is noted where it is of no use."""
    found = fields.object("extensions")
    try:
        msgspec.convert(found, _UsualExtensions)
    except (msgspec.ValidationError, UnicodeEncodeError):
        _note_extensions(fields, found)
    return found


def _note_extensions(fields: LooseObject, found: JsonObject) -> None:
    notes = ReportBuilder()
    loose = LooseObject(found, notes, fields.at("extensions"))
    loose.optional_number("talkativeness")
    prompt = loose.nested("depth_prompt")
    prompt.text("prompt")
    prompt.integer("depth")
    role = prompt.text("role")
    if role not in ("", "system", "user", "assistant"):
        notes.broken(prompt.at("role"), f"{role[:40]!r} is none of system, user, assistant")
    for note in notes.build("extensions").broken:
        fields.report.broken(note.path, note.message)


def _creator_notes(fields: LooseObject) -> str:
    # The older name wins where both are given, as in SillyTavern; only flat cards have it here.
    older = fields.source.get("creatorcomment") if not fields.path else None
    return fields.text("creatorcomment") if isinstance(older, str) and older else fields.text("creator_notes")


def _tags(fields: LooseObject) -> tuple[str, ...]:
    tags = fields.source.get("tags")
    if not isinstance(tags, str):
        return fields.texts("tags")
    fields.raw("tags")
    if tags:
        fields.report.converted(fields.at("tags"), "one text split at its commas")
    return tuple(tag.strip() for tag in tags.split(",") if tag.strip())


def _object(fields: LooseObject, key: str) -> JsonObject | None:
    return fields.object(key) if isinstance(fields.source.get(key), dict) else None


def _texts(fields: LooseObject, key: str) -> tuple[str, ...] | None:
    return fields.texts(key) if isinstance(fields.source.get(key), list | str) else None


def _date(fields: LooseObject, key: str) -> int | None:
    value = fields.source.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not re.fullmatch(r"\s*-?\d{1,18}(\.\d{0,9})?\s*", value, re.ASCII):
        return None
    return fields.integer(key)


def _assets(fields: LooseObject, limits: CardLimits) -> tuple[AssetReference, ...] | None:
    assets = fields.source.get("assets")
    if not isinstance(assets, list):
        return None
    if len(assets) > limits.assets:
        raise InvalidCardError(f"The card names {len(assets):,} assets; at most {limits.assets:,} are read.")
    return tuple(
        AssetReference(
            type=asset.text("type", default="icon"),
            uri=asset.text("uri", default="ccdefault:"),
            name=asset.text("name", default="main"),
            ext=asset.text("ext", default="png"),
            unknown=asset.rest(),
        )
        for asset in fields.objects("assets")
    )


def _book(fields: LooseObject, limits: CardLimits) -> Book | None:
    book = fields.source.get("character_book")
    if not isinstance(book, dict):
        return None
    entries = book.get("entries")
    if isinstance(entries, list | dict) and len(entries) > limits.book_entries:
        raise InvalidCardError(
            f"The card's lorebook has {len(entries):,} entries; at most {limits.book_entries:,} are read."
        )
    return read_character_book(fields.nested("character_book"))


def _named(fields: Mapping[str, Json], *keys: str) -> bool:
    names = (fields.get(key) for key in keys or ("name",))
    return any(_is_text(name) and bool(str(name).strip()) for name in names)


def _is_text(value: Json) -> bool:
    return isinstance(value, str | int | float)


def _nameless(fields: LooseObject) -> str:
    if fields.has("prompts", "temp_openai"):
        return "This is not a character card: it has prompts and no name, as a preset has."
    return f"The card has no name. Give the field {fields.at('name')} a text that is not empty."
