"""What `lore show` says about a lorebook, and `lore test` about what a text activates."""

from __future__ import annotations

from tavernkit.cli.output import Printer, shorten
from tavernkit.lore.book import Book
from tavernkit.lore.entry import Entry
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import Note
from tavernkit.sillytavern.world_info.trial import LoreTest
from tavernkit.values import Json, Value

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
        f"{book.format}, {len(book.entries):,} entries, {book.tokens:,} tokens when all enabled ones are active"
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
    """Two tables: what fires, and why the rest does not."""
    if test.fired:
        printer.table(
            ("fires", "entry", "position", "order", "tokens", "why"),
            [
                (one.id, shorten(one.name, 30), one.position, str(one.order), str(one.tokens), one.why)
                for one in test.fired
            ],
        )
    else:
        printer.line("Nothing fires.")
    if test.silent:
        printer.line("")
        printer.table(
            ("silent", "entry", "reason", "why"),
            [(one.id, shorten(one.name, 30), one.reason, one.why) for one in test.silent],
        )
    printer.line("")
    entries = len(test.fired) + len(test.silent)
    printer.line(f"{len(test.fired)} of {entries} entries, {test.tokens} of {test.budget} tokens")
    for warning in test.warnings:
        printer.line(warning)
