"""What `show` says about a card, a lorebook or a chat, and `lore test` about what a text activates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tavernkit.characters import Bundle, Character
from tavernkit.chats import ChatFile
from tavernkit.chats.chat import Date
from tavernkit.cli.output import Printer, shorten
from tavernkit.lore.book import Book, Entry
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import Note
from tavernkit.values import Json, Value

if TYPE_CHECKING:
    from tavernkit.sillytavern.world_info.trial import LoreTest

EXCERPT = 60
# SillyTavern's numbers for the places that a `character_book` has no name for.
PLACES: dict[Json, str] = {
    0: "before_char",
    1: "after_char",
    2: "before author's note",
    3: "after author's note",
    5: "before examples",
    6: "after examples",
    7: "outlet",
}
IN_CHAT = 4


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


class EntrySummary(Value, frozen=True, kw_only=True):
    """One entry at a glance."""

    id: str
    name: str
    keys: tuple[str, ...]
    secondary_keys: tuple[str, ...]
    position: str
    order: int
    tokens: int
    flags: tuple[str, ...]


class BookSummary(Value, frozen=True, kw_only=True):
    """A lorebook at a glance; `tokens` is what all its enabled entries would take together."""

    name: str | None
    format: str
    scan_depth: int | None
    token_budget: int | None
    tokens: int
    entries: tuple[EntrySummary, ...]


def summarise_book(book: Book, format: str) -> BookSummary:
    """Look at every entry and measure it."""
    entries = tuple(map(_summarise, book.entries))
    return BookSummary(
        name=book.name,
        format=format,
        scan_depth=book.scan_depth,
        token_budget=book.token_budget,
        tokens=sum(summary.tokens for summary, entry in zip(entries, book.entries, strict=True) if entry.enabled),
        entries=entries,
    )


def _summarise(entry: Entry) -> EntrySummary:
    return EntrySummary(
        id=entry.id,
        name=entry.name or entry.comment,
        keys=entry.keys,
        secondary_keys=entry.secondary_keys,
        position=_position(entry),
        order=entry.insertion_order,
        tokens=default_estimator().estimate(entry.content),
        flags=tuple(_flags(entry)),
    )


def _position(entry: Entry) -> str:
    number = entry.extensions.get("position")
    if isinstance(number, bool) or not isinstance(number, int):
        return entry.position or ""
    if number == IN_CHAT:
        return f"in chat, depth {entry.extensions.get('depth', 4)}"
    return PLACES.get(number, entry.position or "")


def _flags(entry: Entry) -> list[str]:
    flags = {
        "disabled": not entry.enabled,
        "constant": entry.constant,
        "selective": entry.selective and bool(entry.secondary_keys),
        "regex": _has_patterns(entry),
        "case-sensitive": bool(entry.case_sensitive),
    }
    return [flag for flag, is_set in flags.items() if is_set]


def _has_patterns(entry: Entry) -> bool:
    # SillyTavern treats every key of a world file as a possible pattern, so there the key must look like one.
    if entry.spelling is not None and entry.spelling.format == "world_info":
        return any(key.startswith("/") for key in entry.keys)
    return entry.use_regex


def book_line(book: BookSummary) -> str:
    """The book in one line."""
    name = f"{book.name}, " if book.name else ""
    return f"{name}{len(book.entries):,} entries, {book.tokens:,} tokens"


def print_book(printer: Printer, book: BookSummary, notes: tuple[Note, ...]) -> None:
    printer.line(book.name or "(no name)", style="bold")
    printer.line(
        f"{book.format}, {len(book.entries):,} entries, {book.tokens:,} tokens if all enabled entries are activated"
    )
    printer.pair("scan depth", "" if book.scan_depth is None else str(book.scan_depth))
    printer.pair("token budget", "" if book.token_budget is None else f"{book.token_budget:,}")
    if book.entries:
        printer.line()
        printer.table(
            ("id", "name", "keys", "position", "order", "tokens", "flags"),
            [
                (
                    shorten(entry.id, 20),
                    shorten(entry.name, 30),
                    shorten(_keys(entry), 40),
                    entry.position,
                    entry.order,
                    entry.tokens,
                    ", ".join(entry.flags),
                )
                for entry in book.entries
            ],
        )
    printer.notes(notes)


def _keys(entry: EntrySummary) -> str:
    secondary = f" + {', '.join(entry.secondary_keys)}" if entry.secondary_keys else ""
    return ", ".join(entry.keys) + secondary


def print_test(printer: Printer, test: LoreTest) -> None:
    """Two tables: what is activated, and why the rest is not."""
    if test.fired:
        printer.table(
            ("activated", "entry", "position", "order", "tokens", "why"),
            [
                (one.id, shorten(one.name, 30), one.position, str(one.order), str(one.tokens), one.why)
                for one in test.fired
            ],
        )
    else:
        printer.line("No entries activated.")
    if test.silent:
        printer.line("")
        printer.table(
            ("not activated", "entry", "reason", "why"),
            [(one.id, shorten(one.name, 30), one.reason, one.why) for one in test.silent],
        )
    printer.line("")
    entries = len(test.fired) + len(test.silent)
    printer.line(f"{len(test.fired)} of {entries} entries activated, {test.tokens} of {test.budget} tokens")
    for warning in test.warnings:
        printer.line(warning)


class SpeakerSummary(Value, frozen=True, kw_only=True):
    """How much one speaker said."""

    name: str
    is_user: bool
    messages: int
    characters: int


class ChatSummary(Value, frozen=True, kw_only=True):
    """A chat at a glance; `swipes` counts the alternatives beside the chosen ones."""

    is_group: bool
    messages: int
    hidden: int
    swipes: int
    damaged_lines: int
    first_date: Date
    last_date: Date
    metadata: tuple[str, ...]
    speakers: tuple[SpeakerSummary, ...]


def summarise_chat(chat: ChatFile) -> ChatSummary:
    """Count everything once."""
    messages, characters = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for message in chat.messages:
        speaker = (message.name, message.is_user)
        messages[speaker] += 1
        characters[speaker] += len(message.text)
    dates = [message.send_date for message in chat.messages if message.send_date is not None]
    return ChatSummary(
        is_group=chat.is_group,
        messages=len(chat.messages),
        hidden=sum(message.is_system for message in chat.messages),
        swipes=sum(max(len(message.swipes) - 1, 0) for message in chat.messages),
        damaged_lines=sum(bool(stray.text) and not stray.text.isspace() for stray in chat.strays),
        first_date=dates[0] if dates else None,
        last_date=dates[-1] if dates else None,
        metadata=() if chat.header is None else tuple(chat.header.chat_metadata),
        speakers=tuple(
            SpeakerSummary(name=name, is_user=is_user, messages=count, characters=characters[name, is_user])
            for (name, is_user), count in messages.most_common()
        ),
    )


def print_chat(printer: Printer, chat: ChatSummary, format: str) -> None:
    counts = {"hidden": chat.hidden, "further swipes": chat.swipes, "damaged lines": chat.damaged_lines}
    details = [f"{count:,} {name}" for name, count in counts.items() if count]
    printer.line(", ".join([format, f"{chat.messages:,} messages", *details]), style="bold")
    printer.pair("from", "" if chat.first_date is None else str(chat.first_date))
    printer.pair("to", "" if chat.last_date is None else str(chat.last_date))
    printer.pair("metadata", shorten(", ".join(chat.metadata), 200))
    if chat.speakers:
        printer.line()
        printer.table(
            ("speaker", "role", "messages", "characters"),
            [
                (shorten(each.name, 40), "user" if each.is_user else "", each.messages, each.characters)
                for each in chat.speakers
            ],
        )
