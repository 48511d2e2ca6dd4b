"""RisuAI's lorebook as a lore engine, for books of any origin."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace

from tavernkit.lore.book import Book
from tavernkit.lore.engine import LoreResult, ScanInput
from tavernkit.prompt.trimming import EvictionRecord, TrimReport
from tavernkit.risuai.book_import import module_of_book
from tavernkit.risuai.character import LoreSettings, RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.lorebook.result import ActiveLore, LorebookResult
from tavernkit.risuai.lorebook.scan import scan
from tavernkit.risuai.module import Module
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

REMEMBERED = 16


class RisuLoreResult(LoreResult, frozen=True, kw_only=True):
    """`lorebook` says in which form the entries are active, and why others are not."""

    lorebook: LorebookResult


class LorebookEngine:
    """Scans books as RisuAI would after importing them. Chance, variables, tokens, the greeting and the settings are
    those of the scene; its own lore and messages are not looked at."""

    def __init__(self, scene: RisuScene) -> None:
        self._scene = scene
        self._imported: OrderedDict[tuple[int, ...], tuple[tuple[Book, ...], tuple[Module, ...]]] = OrderedDict()

    def scan(self, scan_input: ScanInput) -> RisuLoreResult:
        messages = [RisuMessage(role="user", data=text) for text in reversed(scan_input.messages)]
        character = self._scene.character or RisuCharacter(name="")
        result = scan(
            replace(
                self._scene,
                character=character.with_(lore=(), lore_settings=_settings(scan_input, self._scene.settings)),
                chat=RisuChat(
                    messages=messages, greeting_index=self._scene.chat.greeting_index, id=self._scene.chat.id
                ),
                modules=self._modules(scan_input.books),
            )
        )
        entries = [entry for book in scan_input.books for entry in book.entries]
        return RisuLoreResult(
            activated_entries=tuple(entries[lore.index] for lore in result.active),
            total_tokens=result.total_tokens,
            trim_report=_trim_report(result) if result.left_out else None,
            lorebook=result,
        )

    def _modules(self, books: tuple[Book, ...]) -> tuple[Module, ...]:
        # Frozen books keep their entries, and are held here, so that their ids stay their own.
        key = tuple(map(id, books))
        known = self._imported.get(key)
        if known is None:
            known = self._imported[key] = (books, tuple(map(module_of_book, books)))
            if len(self._imported) > REMEMBERED:
                self._imported.popitem(last=False)
        return known[1]


def _settings(scan_input: ScanInput, usual: RisuSettings) -> LoreSettings:
    """A book's own settings count if it has all of them, as with a card; the scan's budget goes before its own."""
    settings = LoreSettings(recursive_scanning=usual.lore_is_recursive, full_word_matching=usual.lore_full_words)
    for book in scan_input.books:
        if book.scan_depth is not None and book.token_budget is not None and book.recursive_scanning is not None:
            settings = LoreSettings(
                token_budget=book.token_budget,
                scan_depth=book.scan_depth,
                recursive_scanning=book.recursive_scanning,
                full_word_matching=book.extensions.get("risu_fullWordMatching") is True,
            )
            break
    return settings if scan_input.budget is None else settings.with_(token_budget=scan_input.budget)


def _trim_report(result: LorebookResult) -> TrimReport:
    return TrimReport(
        strategy="priority",
        budget_tokens=result.budget,
        initial_tokens=result.total_tokens + sum(lore.tokens for lore in result.left_out),
        final_tokens=result.total_tokens,
        evictions=tuple(_eviction(lore) for lore in result.left_out),
    )


def _eviction(lore: ActiveLore) -> EvictionRecord:
    return EvictionRecord(
        block_id=lore.source,
        slot=lore.pos or None,
        token_count=lore.tokens,
        reason="budget_exceeded",
        budget_group="lore",
        priority=0 if math.isnan(lore.priority) else int(lore.priority),
        source={"stage": "lore", "id": lore.source},
    )
