"""What holds for the parts of every prompt with lore."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tavernkit.lore.verdicts import LoreVerdict
from tavernkit.prompt.block import Block

_MARK = re.compile(r"lore-(\d+)-")


def marked(number: int, text: str) -> str:
    """The content of an entry by whose words its number is known wherever they stand."""
    return f"lore-{number}- {text} lore-{number}-"


def check_parts(blocks: Iterable[Block], ids: dict[str, str]) -> set[str]:
    """Check that the parts of blocks cover them, and that each mark of an entry is in its part; `ids` are those of the
    entries by their numbers. Returns the ids that were found."""
    found: set[str] = set()
    for block in blocks:
        content = block.content
        if block.parts:
            assert [part.start for part in block.parts] == [0, *(part.end for part in block.parts[:-1])]
            assert block.parts[-1].end == len(content)
            assert all(part.start < part.end for part in block.parts)
        for part in block.parts:
            numbers = set(_MARK.findall(content[part.start : part.end]))
            assert {ids[number] for number in numbers} <= {part.source}, (block, part)
            assert part.kind == "lore" or not numbers
        for mark in _MARK.finditer(content):
            (owner,) = [part for part in block.parts if part.start <= mark.start() < part.end]
            assert owner.end >= mark.end()
            found.add(owner.source)
    return found


def check_texts(blocks: Iterable[Block], verdicts: Iterable[LoreVerdict]) -> None:
    """Check that each part of lore is what its entry says, but for white space, says why it is there, and names its
    book."""
    by_id = {verdict.entry: verdict for verdict in verdicts}
    for block in blocks:
        for part in block.lore_parts:
            verdict = by_id[part.source]
            assert (part.book, part.name, part.cause, part.key) == (
                verdict.book,
                verdict.name,
                verdict.cause,
                verdict.key,
            )
            assert block.content[part.start : part.end].split() == verdict.content.split()
