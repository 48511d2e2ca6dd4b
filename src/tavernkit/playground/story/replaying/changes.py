"""What somebody tries with prompts that were sent: other settings, presets, books and cards, and parts switched off."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Character, characters
from tavernkit.errors import TavernKitError
from tavernkit.hooks import BuildHook
from tavernkit.lore import Book, read_book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.lorebooks.queries import BooksInPlay, SameBook
from tavernkit.playground.story.presets.queries import AnyPreset, decode_preset, preset_for, read_file
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.settings_schema.resolving import Changes, changed_settings, read_patch
from tavernkit.prompt.context import Context
from tavernkit.prompt.unsent import made_of
from tavernkit.risuai import RisuSettings
from tavernkit.sillytavern.groups import StoryGroup
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.values import Value

T = TypeVar("T")

MAX_CHANGE_BYTES = 4 * 1024 * 1024
"""How large edited presets, books and cards are together, as JSON."""

MAX_OFF = 500
CARD_FIELDS = (
    "description",
    "personality",
    "scenario",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
)

Name = Annotated[str, Field(min_length=1, max_length=500)]
Document = dict[str, Any]


class EntryOff(StrictModel):
    """An entry of a lorebook that is switched off."""

    book: str = Field(max_length=500, description="The name of the book.")
    entry: str = Field(max_length=200, description="Its id in the book, such as `7`.")


class WhatIf(StrictModel):
    """What is changed. Nothing of it is stored."""

    settings: dict[str, Any] = Field(
        default={}, description='Settings by group and name, as `{"world_info": {"depth": 5}}`; null is the default.'
    )
    preset_id: UUID | None = Field(default=None, description="Another preset of your library.")
    preset: Document | None = Field(default=None, description="A preset as a file has it; it wins over `preset_id`.")
    lorebooks: list[Document] = Field(
        default=[],
        max_length=50,
        description="Lorebooks as files have them. Each takes the place of the book with its name; one with another "
        "name is added for all characters.",
    )
    card: Document | None = Field(default=None, description="The speaker's card as a file has it; the name stays.")
    prompts_off: list[Name] = Field(
        default=[], max_length=MAX_OFF, description="Prompts of the preset by identifier; of RisuAI's by place or name."
    )
    entries_off: list[EntryOff] = Field(default=[], max_length=MAX_OFF, description="Entries of lorebooks.")
    card_fields_off: list[Name] = Field(
        default=[], max_length=20, description=f"Fields of the speaker's card: {', '.join(CARD_FIELDS)}."
    )
    blocks_off: list[Name] = Field(
        default=[],
        max_length=MAX_OFF,
        description="Blocks by slot, or by id as their source names it: `message:3`.",
    )


class PreparedChange(Value, frozen=True, kw_only=True):
    """A change that was checked and read."""

    settings: Changes
    preset: AnyPreset | None
    books: tuple[Book, ...]
    card: Character | None
    prompts_off: frozenset[str]
    entries_off: frozenset[tuple[str, str]]
    card_fields_off: tuple[str, ...]
    blocks_off: frozenset[str]


async def prepared(session: AsyncSession, viewer: Viewer, change: WhatIf) -> PreparedChange:
    """Read what is to be tried; Refused with a sentence where it cannot be."""
    if len(change.model_dump_json()) > MAX_CHANGE_BYTES:
        most = MAX_CHANGE_BYTES // 2**20
        raise Refused("too_large", _("What is tried may have {most} MB at most.", most=most))
    settings = read_patch(change.settings, None)
    unread = next((path for path in settings if path.startswith(("model.", "space."))), None)
    if unread is not None:
        sentence = _("{setting} cannot be tried on prompts that were sent. Try another preset instead.", setting=unread)
        raise Refused("invalid", sentence)
    unknown = next((name for name in change.card_fields_off if name not in CARD_FIELDS), None)
    if unknown is not None:
        raise Refused("invalid", _("A card has no field {name} that can be switched off.", name=unknown))
    preset = None
    if change.preset is not None:
        preset = _read(change.preset, lambda file: read_file(file)[0])
    elif change.preset_id is not None:
        row = await preset_for(session, viewer, change.preset_id)
        preset = decode_preset(row.kind, row.data)[0]
    return PreparedChange(
        settings=settings,
        preset=preset,
        books=tuple(_read(book, lambda file: read_book(file)[0]) for book in change.lorebooks),
        card=None if change.card is None else _read(change.card, lambda file: characters.read_card(file)[0].character),
        prompts_off=frozenset(change.prompts_off),
        entries_off=frozenset((one.book, one.entry) for one in change.entries_off),
        card_fields_off=tuple(change.card_fields_off),
        blocks_off=frozenset(change.blocks_off),
    )


def _read(document: Document, read: Callable[[bytes], T]) -> T:
    try:
        return read(json.dumps(document).encode())
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None


class TriedChange:
    """A change that is tried on many prompts: what it makes of a book is made once."""

    def __init__(self, change: PreparedChange) -> None:
        self._change = change
        self._by_name = {book.name: book for book in change.books}
        self._made: dict[SameBook, Book] = {}

    def on(self, inputs: PromptInputs) -> PromptInputs:
        """What a prompt would be built from."""
        change, cast, books, presets = self._change, inputs.cast, inputs.books, inputs.presets
        settings = changed_settings(inputs.settings, change.settings)
        history = inputs.history
        if "prompt.history_messages" in change.settings:
            history = history.with_messages(list(history)[-settings.prompt.history_messages :])
        character = cast.character if change.card is None else change.card.with_(name=cast.character.name)
        own = books.own if change.card is None else change.card.character_book
        blank: dict[str, Any] = dict.fromkeys(change.card_fields_off, "")
        character = character.with_(**blank)
        return inputs.with_(
            settings=settings,
            history=history,
            books=self._books(books, own),
            cast=cast.with_(character=character, group=_with_member(cast.group, cast.avatar, character)),
            presets=presets.with_(preset=_without_prompts(change.preset or presets.preset, change.prompts_off)),
        )

    def build(self, inputs: PromptInputs) -> BuiltPrompt:
        """Build a prompt from this, which was changed already."""
        off = self._change.blocks_off | self._change.prompts_off
        return build_prompt(inputs, before_trimming=_without_blocks(off) if off else None)

    def _books(self, books: BooksInPlay, own: Book | None) -> BooksInPlay:
        used = {book.name for book in (*books.everywhere, *books.character, *books.chat, *books.persona)}
        added = tuple(book for book in self._change.books if book.name not in used)

        def those(scope: tuple[Book, ...]) -> tuple[Book, ...]:
            return tuple(self._book(self._by_name.get(book.name, book)) for book in scope)

        return books.with_(
            everywhere=those((*books.everywhere, *added)),
            character=those(books.character),
            own=None if own is None else self._book(own),
            chat=those(books.chat),
            persona=those(books.persona),
        )

    def _book(self, book: Book) -> Book:
        """A book without the entries that are switched off; the same one where there are none."""
        off = {entry for name, entry in self._change.entries_off if name == (book.name or "")}
        if not off:
            return book
        same = SameBook(book)
        if same not in self._made:
            entries = (entry.with_(enabled=False) if entry.id in off else entry for entry in book.entries)
            self._made[same] = book.with_(entries=tuple(entries))
        return self._made[same]


def _without_blocks(off: frozenset[str]) -> BuildHook:
    """A hook that leaves out the blocks with these slots, or made of parts with these names."""

    def leave_out(ctx: Context) -> None:
        ctx.blocks = [block for block in ctx.blocks if block.slot not in off and not off.issuperset(made_of(block))]

    return leave_out


def _with_member(group: StoryGroup | None, avatar: str, character: Character) -> StoryGroup | None:
    if group is None:
        return None
    members = (member.with_(character=character) if member.avatar == avatar else member for member in group.cast)
    return group.with_(cast=tuple(members))


def _without_prompts(preset: AnyPreset | None, off: frozenset[str]) -> AnyPreset | None:
    match preset:
        case ChatPreset() if off:
            orders = tuple(
                order.with_(
                    order=tuple(one.with_(enabled=False) if one.identifier in off else one for one in order.order)
                )
                for order in preset.prompt_order
            )
            return preset.with_(prompt_order=orders)
        case RisuSettings() if off and preset.template is not None:
            cards = enumerate(preset.template)
            return preset.with_(
                template=tuple(card for place, card in cards if str(place) not in off and card.name not in off)
            )
        case _:
            return preset
