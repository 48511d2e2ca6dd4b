"""The lorebooks of other applications: NovelAI (`.lorebook`), Agnai (memory books) and RisuAI."""

from __future__ import annotations

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.files.character_book import each_entry
from tavernkit.reading import LooseObject
from tavernkit.values import Json


def leftovers(source: LooseObject, platform: str) -> dict[str, Json]:
    """Everything that was not read from `source`, under the platform's name; ask when all else has been read."""
    rest = source.rest()
    return {platform: rest} if rest else {}


def read_novelai(source: LooseObject) -> Book:
    """Read a NovelAI lorebook; what has no counterpart is kept under `extensions["novelai"]`."""
    entries = tuple(_novelai_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(name=source.optional_text("name"), entries=entries)
    return book.with_(extensions=leftovers(source, "novelai"))


def _novelai_entry(source: LooseObject, place: int) -> Entry:
    keys = source.texts("keys")
    context = source.source.get("contextConfig")
    budget = LooseObject(context if isinstance(context, dict) else {}, source.report, source.at("contextConfig"))
    entry = Entry(
        id=str(place),
        keys=keys,
        content=source.text("text"),
        comment=source.text("displayName"),
        enabled=source.flag("enabled", default=True),
        constant=source.flag("forceActivation"),
        insertion_order=budget.integer("budgetPriority"),
        position="before_char",
        use_regex=any(key.startswith("/") for key in keys),
    )
    return entry.with_(extensions={"position": 0, "display_index": place} | leftovers(source, "novelai"))


def read_agnai(source: LooseObject) -> Book:
    """Read an Agnai memory book; what has no counterpart is kept under `extensions["agnai"]`."""
    entries = tuple(_agnai_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(
        name=source.optional_text("name"),
        description=source.optional_text("description"),
        entries=entries,
    )
    return book.with_(extensions=leftovers(source, "agnai"))


def _agnai_entry(source: LooseObject, place: int) -> Entry:
    name = source.text("name")
    entry = Entry(
        id=str(place),
        keys=source.texts("keywords"),
        content=source.text("entry"),
        enabled=source.flag("enabled", default=True),
        insertion_order=source.integer("weight"),
        priority=source.optional_integer("priority"),
        name=name or None,
        comment=name,
        position="before_char",
    )
    return entry.with_(extensions={"position": 0, "display_index": place} | leftovers(source, "agnai"))


def read_risuai(source: LooseObject) -> Book:
    """Read a RisuAI lorebook; what has no counterpart is kept under `extensions["risuai"]`."""
    entries = tuple(_risuai_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "data")))
    return Book(entries=entries, extensions=leftovers(source, "risuai"))


def _risuai_entry(source: LooseObject, place: int) -> Entry:
    comment = source.text("comment")
    use_regex = source.flag("useRegex")
    # The misspelling is RisuAI's.
    own = source.source.get("extentions")
    case_sensitive = own.get("risu_case_sensitive") if isinstance(own, dict) else None
    is_folder = source.source.get("mode") == "folder"
    if is_folder:
        source.report.converted(source.path, "a folder of entries, kept as an entry that is switched off")
    entry = Entry(
        id=str(place),
        keys=_risuai_keys(source.text("key"), is_regex=use_regex),
        secondary_keys=_risuai_keys(source.text("secondkey"), is_regex=use_regex),
        content=source.text("content"),
        enabled=not is_folder,
        constant=source.flag("alwaysActive"),
        selective=source.flag("selective"),
        insertion_order=source.integer("insertorder"),
        name=comment or None,
        comment=comment,
        position="before_char",
        case_sensitive=case_sensitive if isinstance(case_sensitive, bool) else None,
        use_regex=use_regex,
    )
    extensions: dict[str, Json] = {"position": 0, "display_index": place}
    chance = source.optional_number("activationPercent")
    if chance is not None:
        extensions |= {"probability": chance, "useProbability": True}
    return entry.with_(extensions=extensions | leftovers(source, "risuai"))


def _risuai_keys(text: str, *, is_regex: bool) -> tuple[str, ...]:
    """A pattern may hold commas of its own, so it is one key."""
    pieces = [text] if is_regex else text.split(",")
    return tuple(piece.strip() for piece in pieces if piece.strip())
