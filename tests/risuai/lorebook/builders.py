"""Entries and scans in one line."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tavernkit.macros.variables import Variables
from tavernkit.risuai.character import LoreSettings, RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import LorebookReason, LorebookResult, scan
from tavernkit.risuai.module import Module
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

__all__ = ["WordCount", "entry", "prompts", "reasons", "scanned", "scene_with"]


class WordCount:
    """Every word is a token."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


def entry(key: str = "", content: str = "", **fields: Any) -> LoreEntry:
    return LoreEntry(key=key, content=content, **fields)


def scene_with(
    *entries: LoreEntry,
    chat: Sequence[str] = (),
    depth: int = 5,
    budget: int = 800,
    recursive: bool = True,
    full_words: bool = False,
    random: Sequence[float] = (0.5,),
    greeting: int = -1,
    variables: Mapping[str, str] | None = None,
    chat_lore: Sequence[LoreEntry] = (),
    modules: Sequence[Module] = (),
) -> RisuScene:
    """A scene whose character has this lore; the chat's oldest message comes first."""
    settings = LoreSettings(
        token_budget=budget, scan_depth=depth, recursive_scanning=recursive, full_word_matching=full_words
    )
    return RisuScene(
        character=RisuCharacter(name="Orla", lore=entries, lore_settings=settings),
        chat=RisuChat(
            messages=[RisuMessage(role="user", data=text) for text in chat], greeting_index=greeting, lore=chat_lore
        ),
        settings=RisuSettings(),
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        random=itertools.cycle(random).__next__,
        variables=Variables(variables),
        modules=modules,
        estimator=WordCount(),
    )


def scanned(*entries: LoreEntry, **given: Any) -> LorebookResult:
    return scan(scene_with(*entries, **given))


def prompts(result: LorebookResult) -> list[str]:
    """What is in the prompt, in its order."""
    return [lore.prompt for lore in result.active]


def reasons(result: LorebookResult) -> list[LorebookReason]:
    return [verdict.reason for verdict in result.verdicts]
