"""Books of other applications, scanned as RisuAI would after importing them."""

from __future__ import annotations

from tests.risuai.lorebook.builders import scene_with

from tavernkit import Book, Entry
from tavernkit.lore.engine import ScanInput
from tavernkit.risuai.lorebook import LorebookEngine

SEA = Entry(id="sea", keys=("sea", "reef"), content="Deep water.", insertion_order=20)
DEPTH = Entry(id="depth", keys=("sea",), content="Later.", extensions={"position": 4, "depth": 2, "role": 1})


def test_books_are_scanned_by_risuai_s_rules() -> None:
    scan_input = ScanInput(messages=("the SEA",), books=(Book(entries=(SEA,)), Book(entries=(DEPTH,))))

    result = LorebookEngine(scene_with()).scan(scan_input)

    assert result.activated_entries == (SEA, DEPTH)
    assert [(lore.pos, lore.depth, lore.role) for lore in result.lorebook.active] == [
        ("", 0, "system"),
        ("depth", 2, "user"),
    ]


def test_messages_come_newest_first() -> None:
    book = Book(entries=(SEA,), scan_depth=1, token_budget=100, recursive_scanning=False)
    engine = LorebookEngine(scene_with())

    assert engine.scan(ScanInput(messages=("sea", "land"), books=(book,))).activated_entries == (SEA,)
    assert engine.scan(ScanInput(messages=("land", "sea"), books=(book,))).activated_entries == ()


def test_what_does_not_fit_is_reported() -> None:
    result = LorebookEngine(scene_with()).scan(ScanInput(messages=("sea",), books=(Book(entries=(SEA,)),), budget=1))

    assert result.activated_entries == ()
    assert result.trim_report is not None
    assert [(record.block_id, record.token_count) for record in result.trim_report.evictions] == [("lorebook 0", 2)]
