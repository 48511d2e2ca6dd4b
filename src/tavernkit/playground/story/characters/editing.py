"""The form of a card: what its boxes hold, what somebody has changed in them, and whose words stay when two did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from starlette.datastructures import FormData

from tavernkit import characters
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.characters.documents import CardEdit
from tavernkit.playground.story.characters.queries import find_character, find_version
from tavernkit.playground.story.characters.service import edit_character
from tavernkit.values import Value

TEXTS = (
    "name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes",
    "system_prompt", "post_history_instructions", "creator", "character_version",
)  # fmt: skip
GREETINGS = ("alternate_greetings", "group_only_greetings")
BETWEEN_GREETINGS = "\n\n⁂\n\n"


class CardForm(Value, frozen=True, kw_only=True):
    """What the boxes hold: texts by the name of their field, and greetings, none of them blank."""

    texts: dict[str, str]
    greetings: dict[str, tuple[str, ...]]

    def shown(self) -> dict[str, str]:
        """One text for each field."""
        return {**self.texts, **{field: BETWEEN_GREETINGS.join(texts) for field, texts in self.greetings.items()}}


class MergedForm(Value, frozen=True, kw_only=True):
    """What somebody typed, with everybody else's changes where they typed nothing.

    `now` is what the card says where both changed the same field.
    """

    form: CardForm
    now: dict[str, str]


def form_of(card: Mapping[str, Any]) -> CardForm:
    """The boxes for a stored card, with texts as a browser would send them back."""
    character = characters.read_card(card)[0].character
    texts = {field: _as_typed(getattr(character, field) or "") for field in TEXTS}
    texts["tags"] = ", ".join(tag for tag in (" ".join(_as_typed(tag).split()) for tag in character.tags) if tag)
    return CardForm(texts=texts, greetings={field: _not_blank(getattr(character, field)) for field in GREETINGS})


def typed_form(sent: FormData, shown: CardForm) -> CardForm:
    """What was sent; boxes that were not sent are as they were."""

    def texts_of(field: str) -> list[str]:
        return [value for value in sent.getlist(field) if isinstance(value, str)]

    return CardForm(
        texts={field: _as_typed((texts_of(field) or [text])[0]) for field, text in shown.texts.items()},
        greetings={field: _not_blank(texts_of(field) or texts) for field, texts in shown.greetings.items()},
    )


async def save_form(runtime: Runtime, viewer: Viewer, row: Character, typed: CardForm, *, version: int) -> Character:
    """Change what differs from the boxes' contents. What nobody touched stays as the file wrote it, to the byte."""
    shown = form_of(row.data)
    changed: dict[str, Any] = {field: text for field, text in typed.texts.items() if text != shown.texts[field]}
    if "tags" in changed:
        changed["tags"] = [tag for tag in (tag.strip() for tag in changed["tags"].split(",")) if tag]
    if changed.get("nickname") == "":
        changed["nickname"] = None
    changed |= {field: list(texts) for field, texts in typed.greetings.items() if texts != shown.greetings[field]}
    try:
        edit = CardEdit(version=version, **changed)
    except ValidationError as error:
        fields = sorted({str(problem["loc"][0]).replace("_", " ") for problem in error.errors()})
        sentence = f"This is more than a card can hold: {', '.join(fields)}. Shorten it."
        raise Refused(code="too_long", sentence=sentence) from None
    return await edit_character(runtime, viewer, row.id, version=version, fields=edit.fields())


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
    both = {field: text for field, text in current.items() if text not in (kept[field], base.get(field))}
    return row, MergedForm(form=form, now=both)


def _merged(before: CardForm, typed: CardForm, now: CardForm) -> CardForm:
    """What was typed, and what the card says now where nothing was."""
    return CardForm(
        texts={field: now.texts[field] if text == before.texts[field] else text for field, text in typed.texts.items()},
        greetings={
            field: now.greetings[field] if texts == before.greetings[field] else texts
            for field, texts in typed.greetings.items()
        },
    )


def _as_typed(text: str) -> str:
    return storable(text).replace("\r\n", "\n").replace("\r", "\n")


def _not_blank(texts: Any) -> tuple[str, ...]:
    return tuple(text for text in map(_as_typed, texts) if text.strip())
