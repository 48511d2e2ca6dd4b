"""What `card show` says about a card."""

from __future__ import annotations

from tavernkit.characters import Bundle, Character
from tavernkit.cli.lore_summary import BookSummary, book_line, summarise_book
from tavernkit.cli.output import Printer, shorten
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import Note
from tavernkit.values import Value

EXCERPT = 60


class FieldSize(Value, frozen=True, kw_only=True):
    """How long one field is."""

    field: str
    characters: int
    tokens: int


class GreetingSummary(Value, frozen=True, kw_only=True):
    """One way for a chat to begin; `number` is the index that applications use, absent for group chats."""

    number: int | None
    characters: int
    tokens: int
    text: str


class AssetSummary(Value, frozen=True, kw_only=True):
    """An asset that the card names or the file holds; `inside` says whether its bytes are in the file."""

    type: str
    name: str
    uri: str
    inside: bool


class CardSummary(Value, frozen=True, kw_only=True):
    """A card at a glance. `tokens` is the sum of all fields and the first greeting."""

    file: str
    format: str
    spec: str
    spec_version: str
    name: str
    nickname: str | None
    creator: str
    character_version: str
    tags: tuple[str, ...]
    fields: tuple[FieldSize, ...]
    greetings: tuple[GreetingSummary, ...]
    tokens: int
    book: BookSummary | None
    image_bytes: int | None
    assets: tuple[AssetSummary, ...]
    notes: tuple[Note, ...]


def summarise(file: str, bundle: Bundle) -> CardSummary:
    """Look at everything that was loaded and measure it."""
    character = bundle.card.character
    fields = tuple(_size(name, text) for name, text in _texts(character).items() if text)
    greetings = _greetings(character)
    return CardSummary(
        file=file,
        format=bundle.format,
        spec=bundle.card.spec,
        spec_version=bundle.card.spec_version,
        name=character.name,
        nickname=character.nickname,
        creator=character.creator,
        character_version=character.character_version,
        tags=character.tags,
        fields=fields,
        greetings=greetings,
        tokens=sum(field.tokens for field in fields) + (greetings[0].tokens if greetings else 0),
        book=None if character.character_book is None else summarise_book(character.character_book, "card"),
        image_bytes=None if bundle.image is None else len(bundle.image),
        assets=tuple(_assets(bundle)),
        notes=bundle.report.notes,
    )


def _texts(character: Character) -> dict[str, str]:
    return {
        "description": character.description,
        "personality": character.personality,
        "scenario": character.scenario,
        "mes_example": character.mes_example,
        "system_prompt": character.system_prompt,
        "post_history_instructions": character.post_history_instructions,
        "creator_notes": character.creator_notes,
    }


def _size(name: str, text: str) -> FieldSize:
    return FieldSize(field=name, characters=len(text), tokens=default_estimator().estimate(text))


def _greetings(character: Character) -> tuple[GreetingSummary, ...]:
    numbered: list[tuple[int | None, str]] = [*enumerate(character.greetings)]
    for_groups: list[tuple[int | None, str]] = [(None, text) for text in character.group_only_greetings]
    return tuple(
        GreetingSummary(number=number, characters=len(text), tokens=default_estimator().estimate(text), text=text)
        for number, text in numbered + for_groups
        if text
    )


def _assets(bundle: Bundle) -> list[AssetSummary]:
    named = []
    referenced = set()
    for reference in bundle.card.character.assets or ():
        asset = bundle.asset(reference.uri)
        if asset is not None:
            referenced.add(asset.uri)
        uri = reference.uri if len(reference.uri) <= 200 else f"{reference.uri[:200]}…"
        named.append(AssetSummary(type=reference.type, name=reference.name, uri=uri, inside=asset is not None))
    beside = [asset for asset in bundle.assets if asset.uri not in referenced]
    return named + [AssetSummary(type="file", name=asset.name, uri=asset.uri, inside=True) for asset in beside]


def print_card(printer: Printer, card: CardSummary) -> None:
    printer.line(card.name or "(no name)", style="bold")
    printer.line(f"{card.format}, card version {card.spec_version}")
    printer.pair("nickname", card.nickname or "")
    printer.pair("creator", card.creator)
    printer.pair("character version", card.character_version)
    printer.pair("tags", ", ".join(card.tags))
    if card.image_bytes is not None:
        printer.line(f"picture: {card.image_bytes:,} bytes")
    if card.fields:
        printer.line()
        printer.table(
            ("field", "characters", "tokens"), [(size.field, size.characters, size.tokens) for size in card.fields]
        )
    if card.greetings:
        printer.line()
        printer.table(
            ("greeting", "characters", "tokens", "begins"),
            [
                (
                    "group" if greeting.number is None else str(greeting.number),
                    greeting.characters,
                    greeting.tokens,
                    shorten(greeting.text, EXCERPT),
                )
                for greeting in card.greetings
            ],
        )
    printer.line()
    printer.line(f"{card.tokens:,} tokens in the fields and the first greeting")
    if card.book is not None:
        printer.line(f"lorebook: {book_line(card.book)}")
    if card.assets:
        printer.line()
        printer.table(
            ("asset", "type", "where"),
            [
                (asset.name, asset.type, "inside" if asset.inside else shorten(asset.uri, EXCERPT))
                for asset in card.assets
            ],
        )
    printer.notes(card.notes)
