"""What a build without a platform says of what is not in its prompt, and of what it was built from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from tavernkit.characters.character import Character
from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult
from tavernkit.lore.plain import DEFAULT_SCAN_DEPTH
from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.prompt.context import Context
from tavernkit.prompt.facts import card_facts, common_facts, listed, mark_of, persona_facts, variable_facts
from tavernkit.prompt.parts import Part
from tavernkit.prompt.reasons import EntryCount, ExplainedEntry, FactGroup, Findings, NearMiss
from tavernkit.values import JsonObject

SEARCHED_MESSAGES = 32
MOST_SEARCHED_ENTRIES = 2_000


def plain_findings(ctx: Context, variables: Mapping[str, JsonObject]) -> Findings:
    """The findings of the build that has just ended; nothing in them holds the build, or is worked out yet."""
    common = common_facts(ctx, "plain", "chat")
    user, character, books, result = ctx.user, ctx.character, ctx.books, ctx.lore_result
    length = len(ctx.history)
    recent = [message.content for message in ctx.history.last(SEARCHED_MESSAGES)] if result is not None else []
    said = [(length - place, text) for place, text in enumerate(reversed(recent), start=1)]
    if ctx.message:
        said.insert(0, (length, ctx.message))

    @cache
    def entries() -> tuple[list[ExplainedEntry], list[EntryCount]]:
        return ([], []) if result is None else listed(list(_entries(_books(books, character), result, said)), _itself)

    def facts() -> Iterator[FactGroup]:
        yield from common
        yield from card_facts(*([] if character is None else [character]))
        yield from persona_facts(user)
        yield from variable_facts(variables)
        yield FactGroup(kind="book", values={book.name or "": str(len(book.entries)) for book in books})

    return Findings(
        lore=LazyVerdicts(lambda: entries()[0]),
        lore_cut=LazyVerdicts(lambda: entries()[1]),
        facts=LazyVerdicts(lambda: [*facts()]),
    )


def _itself(entry: ExplainedEntry) -> ExplainedEntry:
    return entry


def _books(books: Sequence[Book], character: Character | None) -> list[Book]:
    own = None if character is None else character.character_book
    return [*books, *([own] if own else [])]


def _entries(books: Sequence[Book], result: LoreResult, said: Sequence[tuple[int, str]]) -> Iterator[ExplainedEntry]:
    """A verdict for each entry of the books; `said` are the messages with their places, the newest first."""
    parts = {id(entry): part for entry, part in result.entry_parts()}
    report = result.trim_report
    short = {} if report is None else {record.block_id: record.token_count for record in report.evictions}
    room = 0 if report is None else max(0, report.budget_tokens - report.final_tokens)
    searches = MOST_SEARCHED_ENTRIES
    lowered = [(place, text.lower()) for place, text in said]
    for book in books:
        depth = DEFAULT_SCAN_DEPTH if book.scan_depth is None else max(0, book.scan_depth)
        for entry in book.entries:
            part = parts.get(id(entry))
            if part is not None:
                yield _activated(book, entry, part)
                continue
            searches -= 1
            missing = None if entry.id not in short else max(1, short[entry.id] - room)
            yield _silent(book, entry, missing, _near_miss(entry, depth, lowered) if searches >= 0 else None)


def _activated(book: Book, entry: Entry, part: Part) -> ExplainedEntry:
    sentence = "always on" if entry.constant else f"“{part.key}” was found" if part.key else "a key was found"
    return _entry(book, entry).with_(reason="activated", sentence=sentence, cause=part.cause, key=part.key)


def _silent(book: Book, entry: Entry, missing: int | None, near_miss: NearMiss | None) -> ExplainedEntry:
    told = _entry(book, entry)
    if not entry.enabled:
        return told.with_(reason="disabled", sentence="switched off")
    if missing is not None:
        miss = NearMiss(kind="budget", tokens=missing)
        return told.with_(reason="budget", sentence=str(miss), near_miss=miss)
    if not entry.keys:
        return told.with_(reason="no_keys", sentence="has no keys")
    sentence = "none of its keys was found" + (f"; {near_miss}" if near_miss else "")
    return told.with_(sentence=sentence, near_miss=near_miss)


def _entry(book: Book, entry: Entry) -> ExplainedEntry:
    return ExplainedEntry(
        book=book.name or "",
        entry=entry.id,
        name=entry.name or entry.comment,
        reason="no_key",
        sentence="",
        mark=mark_of(entry.content, entry.keys, entry.secondary_keys, entry.enabled, entry.constant),
    )


def _near_miss(entry: Entry, depth: int, lowered: Sequence[tuple[int, str]]) -> NearMiss | None:
    """The newest message that has one of the keys in another case, or that is too old."""
    for number, (place, text) in enumerate(lowered):
        for key in entry.keys:
            if key and key.lower() in text:
                if number >= depth:
                    return NearMiss(kind="depth", key=key, message=place, depth=number + 1)
                if entry.case_sensitive:
                    return NearMiss(kind="case", key=key, message=place)
    return None
