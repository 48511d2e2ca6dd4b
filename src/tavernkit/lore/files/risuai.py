"""RisuAI's lorebook exports: entries whose keys stand in one text, parted by commas."""

from __future__ import annotations

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.files.character_book import each_entry
from tavernkit.lore.files.foreign import leftovers
from tavernkit.reading import LooseObject
from tavernkit.values import Json


def read_risuai(source: LooseObject) -> Book:
    """Read a RisuAI lorebook; what has no counterpart is kept under `extensions["risuai"]`."""
    entries = tuple(_read_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "data")))
    return Book(entries=entries, extensions=leftovers(source, "risuai"))


def _read_entry(source: LooseObject, place: int) -> Entry:
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
        keys=_keys(source.text("key"), is_regex=use_regex),
        secondary_keys=_keys(source.text("secondkey"), is_regex=use_regex),
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


def _keys(text: str, *, is_regex: bool) -> tuple[str, ...]:
    """A pattern may hold commas of its own, so it is one key."""
    pieces = [text] if is_regex else text.split(",")
    return tuple(piece.strip() for piece in pieces if piece.strip())
