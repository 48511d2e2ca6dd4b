"""The part of a text that shows why it was found."""

from __future__ import annotations

from tavernkit.playground.base.database.fulltext.analysis import SearchQuery
from tavernkit.playground.story.search.documents import PassagePiece
from tavernkit.text.words import FoldedText

PASSAGE_CHARACTERS = 240
BEFORE_MATCH = 80


def passage(text: str, query: SearchQuery) -> tuple[PassagePiece, ...]:
    """The surroundings of the first place that matches, on one line, with every match in them; without one, the
    beginning."""
    folded = FoldedText(text)
    spans = query.spans(folded)
    start = _word_start(text, spans[0][0] - BEFORE_MATCH) if spans else 0
    end = min(len(text), start + PASSAGE_CHARACTERS)
    pieces: list[PassagePiece] = [PassagePiece("… ", False)] if start else []
    place = start
    for first, last in spans:
        if first >= end:
            break
        pieces += [
            PassagePiece(_one_line(text[place:first]), False),
            PassagePiece(_one_line(text[first : min(last, end)]), True),
        ]
        place = min(last, end)
    pieces.append(PassagePiece(_one_line(text[place:end]), False))
    if end < len(text):
        pieces.append(PassagePiece("…", False))
    return tuple(piece for piece in pieces if piece.text)


def _word_start(text: str, place: int) -> int:
    """A place near this one where a word begins, if there is one."""
    if place <= 0:
        return 0
    blank = text.find(" ", place, place + BEFORE_MATCH // 2)
    return place if blank < 0 else blank + 1


def _one_line(text: str) -> str:
    """Blanks at the ends stay: they are between pieces."""
    if "  " not in text and text.isprintable():
        return text
    lead, tail = text[:1].isspace(), text[-1:].isspace() and text.strip() != ""
    return f"{' ' if lead else ''}{' '.join(text.split())}{' ' if tail else ''}"
