"""The form of a card: what its boxes hold, what somebody has changed in them, and whose words stay when two did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from starlette.datastructures import FormData

from tavernkit import characters
from tavernkit.characters import Character as LibraryCharacter
from tavernkit.characters import CharacterCard
from tavernkit.errors import ParseError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.characters.cards import LABELS, embedded_book, fill, stored_card
from tavernkit.playground.story.characters.documents import CardEdit, NewCard
from tavernkit.playground.story.characters.queries import find_character, find_version
from tavernkit.playground.story.characters.service import create_character, edit_character, edited_card
from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject, Value

TEXTS = (
    "name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes",
    "system_prompt", "post_history_instructions", "creator", "character_version",
)  # fmt: skip
ROWS: Mapping[str, tuple[str, ...]] = {
    "alternate_greetings": ("alternate_greetings",),
    "group_only_greetings": ("group_only_greetings",),
    "creator_notes_multilingual": ("note_language", "note_text"),
}
"""Fields that are lists, and the boxes of each of their rows."""
DEPTH_PROMPT = ("depth_prompt", "depth_prompt_depth", "depth_prompt_role")
OWN_EXTENSIONS = ("talkativeness", "fav", "world", "depth_prompt")
"""Extensions with boxes of their own."""
BETWEEN_ROWS = "\n\n⁂\n\n"
LONGEST_JSON = 200_000
"""What is longer has no box: a form must not grow too large to be sent."""
EMPTY = LibraryCharacter(name="")


class CardForm(Value, frozen=True, kw_only=True):
    """What the boxes hold: texts by the name of their box, and rows of boxes by the name of their field, none blank."""

    texts: dict[str, str]
    rows: dict[str, tuple[tuple[str, ...], ...]]

    def shown(self) -> dict[str, str]:
        """One text for each field."""
        joined = {field: BETWEEN_ROWS.join(map("\n".join, rows)) for field, rows in self.rows.items()}
        return {**self.texts, **joined}


class MergedForm(Value, frozen=True, kw_only=True):
    """What somebody typed, with everybody else's changes where they typed nothing.

    `now` is what the card says where both changed the same field. `is_same`: nobody changed anything in the form.
    """

    form: CardForm
    now: dict[str, str]
    is_same: bool


def form_of(card: Mapping[str, Any]) -> CardForm:
    """The boxes for a stored card."""
    return form_of_character(characters.read_card(card)[0].character)


def form_of_character(character: LibraryCharacter) -> CardForm:
    """The boxes for what a card says, with texts as a browser would send them back."""
    extensions = character.extensions
    prompt = _depth_prompt(extensions)
    tags = (" ".join(_as_typed(tag).split()) for tag in character.tags)
    texts = {
        **{field: _as_typed(getattr(character, field) or "") for field in TEXTS},
        "tags": ", ".join(tag for tag in tags if tag),
        "source": "\n".join(line for line in map(_one_line, character.source or ()) if line),
        **{name: _one_line(_shown_value(extensions.get(name))) for name in ("talkativeness", "world")},
        "fav": "on" if extensions.get("fav") in (True, "true") else "",
        "depth_prompt": _as_typed(_shown_value(prompt.get("prompt"))),
        "depth_prompt_depth": _one_line(_shown_value(prompt.get("depth"))),
        "depth_prompt_role": _one_line(_shown_value(prompt.get("role"))),
    }
    further = {
        "extensions": {name: value for name, value in extensions.items() if name not in OWN_EXTENSIONS},
        "unknown": _unnamed(character),
    }
    written = {name: _written(value) for name, value in further.items()}
    notes = (character.creator_notes_multilingual or {}).items()
    rows: dict[str, list[tuple[str, ...]]] = {
        "alternate_greetings": [(text,) for text in character.alternate_greetings],
        "group_only_greetings": [(text,) for text in character.group_only_greetings],
        "creator_notes_multilingual": [(language, text) for language, text in notes if isinstance(text, str)],
    }
    return CardForm(
        texts={**texts, **{name: text for name, text in written.items() if len(text) <= LONGEST_JSON}},
        rows={field: _not_blank(each) for field, each in rows.items()},
    )


def typed_form(sent: FormData, shown: CardForm) -> CardForm:
    """What was sent; boxes that were not sent are as they were."""

    def texts_of(box: str) -> list[str]:
        return [_as_typed(value) for value in sent.getlist(box) if isinstance(value, str)]

    def rows_of(boxes: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
        columns = [texts_of(box) for box in boxes]
        return _not_blank(list(zip(*columns, strict=False))) if any(columns) else None

    def given(field: str, rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        typed = rows_of(ROWS[field])
        return rows if typed is None else typed

    return CardForm(
        # A box that is not ticked is not sent; what is sent before it says that it was there.
        texts={field: (texts_of(field) or [text])[-1] for field, text in shown.texts.items()},
        rows={field: given(field, rows) for field, rows in shown.rows.items()},
    )


def changed_fields(character: LibraryCharacter, typed: CardForm) -> dict[str, Any]:
    """The fields of the card that differ from the boxes' contents. What nobody touched stays as the file wrote it."""
    shown = form_of_character(character)
    texts = {box: text for box, text in typed.texts.items() if text != shown.texts[box]}
    changed: dict[str, Any] = {field: texts[field] for field in TEXTS if field in texts}
    if changed.get("nickname") == "":
        changed["nickname"] = None
    if "tags" in texts:
        changed["tags"] = [tag for tag in (tag.strip() for tag in texts["tags"].split(",")) if tag]
    if "source" in texts:
        changed["source"] = [line for line in map(str.strip, texts["source"].split("\n")) if line] or None
    for field, rows in typed.rows.items():
        if rows != shown.rows[field]:
            changed[field] = _notes(character, rows) if len(ROWS[field]) > 1 else [text for (text,) in rows]
    if texts.keys() & {"extensions", *OWN_EXTENSIONS, *DEPTH_PROMPT}:
        changed["extensions"] = _extensions(character.extensions, texts)
    if "unknown" in texts:
        changed["unknown"] = _parsed("unknown", texts["unknown"], taken=LibraryCharacter.__struct_fields__)
    return changed


async def create_from_form(runtime: Runtime, viewer: Viewer, typed: CardForm) -> Character:
    """Make a character that says what was typed."""
    fields = changed_fields(EMPTY, typed)
    return await create_character(runtime, viewer, _checked(NewCard, {"name": "", **fields}).fields())


async def save_form(runtime: Runtime, viewer: Viewer, row: Character, typed: CardForm, *, version: int) -> Character:
    """Change what differs from the boxes' contents."""
    fields = changed_fields(characters.read_card(row.data)[0].character, typed)
    edit = _checked(CardEdit, {"version": version, **fields})
    return await edit_character(runtime, viewer, row.id, version=version, fields=edit.fields())


def draft_of(runtime: Runtime, viewer: Viewer, row: Character | None, typed: CardForm) -> Character:
    """A row that is not stored, with what was typed; of a new character, or with the id of the one that is there."""
    now = runtime.clock()
    card = CharacterCard(character=EMPTY) if row is None else stored_card(row)
    fields = changed_fields(card.character, typed)
    draft = Character(
        id=runtime.ids() if row is None else row.id,
        owner_id=viewer.user_id if row is None else row.owner_id,
        spec_version=3,
        created_at=now,
        updated_at=now,
    )
    fill(draft, edited_card(card, fields if row else {"name": "", **fields}))
    return draft


def typed_character(texts: Mapping[str, Sequence[str]], row: Character | None) -> LibraryCharacter:
    """What was typed so far, for looking at it: with empty greetings, and with the lorebook of the card."""
    first = {name: _as_typed(values[0]) for name, values in texts.items() if values}
    typed: dict[str, Any] = {name: text for name, text in first.items() if name in TEXTS}
    for name in ("alternate_greetings", "group_only_greetings"):
        typed[name] = tuple(map(_as_typed, texts.get(name, ())))
    prompt = {"depth_prompt": {"prompt": first.get("depth_prompt", "")}}
    return EMPTY.with_(**typed, extensions=prompt, character_book=None if row is None else embedded_book(row))


async def merged_with_now(
    runtime: Runtime, viewer: Viewer, character_id: UUID, typed: CardForm, *, version: int
) -> tuple[Character, MergedForm]:
    """The character as it is now, and the form in which nobody's words are lost; `version` is what was typed on."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        earlier = await find_version(session, row.id, version)
    now = form_of(row.data)
    before = None if earlier is None else form_of(earlier.data)
    form = typed if before is None else _merged(before, typed, now)
    kept, current, base = form.shown(), now.shown(), {} if before is None else before.shown()
    both = {field: text for field, text in current.items() if text not in (kept.get(field), base.get(field))}
    return row, MergedForm(form=form, now=both, is_same=before == now)


def _merged(before: CardForm, typed: CardForm, now: CardForm) -> CardForm:
    """What was typed, and what the card says now where nothing was."""
    return CardForm(
        texts={
            field: text if typed.texts.get(field) == before.texts.get(field) else typed.texts.get(field, text)
            for field, text in now.texts.items()
        },
        rows={field: now.rows[field] if rows == before.rows[field] else rows for field, rows in typed.rows.items()},
    )


def _checked(model: type[Any], fields: dict[str, Any]) -> Any:
    try:
        return model(**fields)
    except ValidationError as error:
        too_long = listed([LABELS[field] for field in sorted({str(problem["loc"][0]) for problem in error.errors()})])
        raise Refused("too_long", _("These fields are too long: {fields}. Shorten them.", fields=too_long)) from None


def _notes(character: LibraryCharacter, rows: Sequence[tuple[str, ...]]) -> JsonObject | None:
    if any(not language.strip() for language, _text in rows):
        raise Refused("invalid", _("Enter a language for each of the creator's notes, such as “de”."))
    kept = character.creator_notes_multilingual or {}
    texts = {language.strip(): text for language, text in rows}
    return {**{name: value for name, value in kept.items() if not isinstance(value, str)}, **texts} or None


def _extensions(extensions: JsonObject, texts: Mapping[str, str]) -> JsonObject:
    """The extensions with what was changed in their boxes, in the order that they had."""
    made: dict[str, Json] = dict(extensions)
    if "extensions" in texts:
        own = {name: value for name, value in extensions.items() if name in OWN_EXTENSIONS}
        made = {**own, **_parsed("extensions", texts["extensions"], taken=OWN_EXTENSIONS)}
    if "talkativeness" in texts:
        _put(made, "talkativeness", _share(texts["talkativeness"]))
    if "fav" in texts:
        made["fav"] = texts["fav"] == "on"
    if "world" in texts:
        _put(made, "world", texts["world"].strip() or None)
    if texts.keys() & {*DEPTH_PROMPT}:
        prompt = dict(_depth_prompt(extensions))
        if "depth_prompt" in texts:
            prompt["prompt"] = texts["depth_prompt"]
        if "depth_prompt_depth" in texts:
            _put(prompt, "depth", _depth(texts["depth_prompt_depth"]))
        if "depth_prompt_role" in texts:
            _put(prompt, "role", texts["depth_prompt_role"].strip() or None)
        made["depth_prompt"] = prompt
    return made


def _put(values: dict[str, Json], name: str, value: Json) -> None:
    """Write a value; None takes it out."""
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value


def _share(text: str) -> float | None:
    try:
        share = float(text) if text.strip() else None
    except ValueError:
        share = -1.0
    if share is not None and not 0 <= share <= 1:
        raise Refused("invalid", _("Talkativeness must be a number from 0 to 1."))
    return share


def _depth(text: str) -> int | None:
    digits = text.strip()
    if digits and not (digits.isascii() and digits.isdecimal() and int(digits[:9]) <= 10_000 and len(digits) < 9):
        raise Refused("invalid", _("The depth of the character's note must be a whole number from 0 to 10,000."))
    return int(digits) if digits else None


def _parsed(field: str, text: str, *, taken: Sequence[str]) -> dict[str, Json]:
    """The object that was typed as JSON, without what has boxes of its own."""
    label = LABELS[field]
    try:
        value = parse_json(text, what=str(label)) if text.strip() else {}
    except ParseError as error:
        raise Refused("invalid", str(error)) from None
    if not isinstance(value, dict):
        raise Refused(
            "invalid", _("{field} must be a JSON object: {example}", field=label, example='{"name": "value"}')
        )
    twice = next((name for name in value if name in taken), None)
    if twice is not None:
        raise Refused("invalid", _("{field}: “{name}” has its own field. Enter it there.", field=label, name=twice))
    return value


def _depth_prompt(extensions: JsonObject) -> JsonObject:
    found = extensions.get("depth_prompt")
    return found if isinstance(found, dict) else {}


def _unnamed(character: LibraryCharacter) -> JsonObject:
    """What no specification names, without what stands in the place of a field that is missing."""
    named = LibraryCharacter.__struct_fields__
    return {name: value for name, value in character.unknown.items() if name not in named}


def _written(value: JsonObject) -> str:
    return _as_typed(json.dumps(value, ensure_ascii=False, indent=2)) if value else ""


def _shown_value(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(_as_typed(text).split())


def _as_typed(text: str) -> str:
    return storable(text).replace("\r\n", "\n").replace("\r", "\n")


def _not_blank(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    typed = (tuple(map(_as_typed, row)) for row in rows)
    return tuple(row for row in typed if any(text.strip() for text in row))
