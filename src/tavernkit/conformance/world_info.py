"""Recorded scans of World Info, run through our engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import partial

from tavernkit.conformance.vectors import Case, Outcome, loose
from tavernkit.lore.book import Book
from tavernkit.lore.files.character_book import read_character_book, write_character_book
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.lore.files.world_info import read_world_info, write_world_info
from tavernkit.macros.variables import Variables
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.world_info import (
    ScanTexts,
    TimedEffect,
    TimedState,
    WorldInfo,
    WorldInfoInput,
    WorldInfoResult,
    read_settings,
)
from tavernkit.sillytavern.world_info.fields import reference
from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Json

CHARACTERS_PER_TOKEN = 3.35
USER, CHARACTER = "Zed", "Mira"


def check(case: Case) -> Outcome:
    """What the case expects of its scan or of each of its turns, and what our scans give."""
    replay = _Replay(case)
    turns = case.get("turns", [case])
    actual = [replay.turn(turn) for turn in turns]
    expected = [{key: value for key, value in turn["expected"].items() if key != "loops"} for turn in turns]
    return (expected, actual) if "turns" in case else (expected[0], actual[0])


def check_card_book(case: Case) -> Outcome:
    """A conversion between a world file and the `character_book` of a card."""
    given, expected = case["input"], case["expected"]
    if case["direction"] == "character_book -> world_info":
        book = read_character_book(loose(given))
        return expected["entries"], write_world_info(book)["entries"]
    entries = given["entries"].values() if isinstance(given["entries"], dict) else given["entries"]
    book = read_recorded_book(entries, name=given["world_name"])
    return expected["character_book"], write_character_book(book)


def read_recorded_book(recorded: Iterable[Case], *, name: str) -> Book:
    """A recording names only what differs from a new entry, and SillyTavern keeps entries by their uid."""
    entries = {str(entry.get("uid", place)): {**ENTRY_TEMPLATE, **entry} for place, entry in enumerate(recorded)}
    return read_world_info(loose({"name": name, "entries": entries}))


class _Replay:
    """The turns of one case: books, variables and timed state carry over."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._context = case.get("context") or {}
        self._scopes = _scopes(case["books"])
        self._settings = read_settings(loose(case.get("settings") or {}))
        self._variables = Variables(self._context.get("local_vars"))
        self._macros = ParserMacros("1.15")
        self._engine = WorldInfo()
        self._timed = TimedState()

    def turn(self, turn: Case) -> Json:
        scan = self._context.get("scan", {})
        random = itertools.cycle(turn.get("math_random") or self._context.get("math_random") or [0.5]).__next__
        environment = Environment(
            user_name=USER,
            character_name=self._context.get("char", CHARACTER),
            variables=self._variables,
            generation_type=self._context.get("trigger", ""),
            random=random,
        )
        expand = partial(self._macros.expand, environment=environment)
        result = self._engine.scan(
            WorldInfoInput(
                messages=tuple(reversed(turn["chat"])),
                books=self._scopes["global"],
                character_books=self._scopes["character"] + self._scopes["character_extra"],
                chat_books=self._scopes["chat"],
                persona_books=self._scopes["persona"],
                settings=self._settings,
                max_context=self._case["max_context"],
                texts=ScanTexts(
                    persona_description=scan.get("persona", ""),
                    character_description=scan.get("description", ""),
                    character_personality=scan.get("personality", ""),
                    character_depth_prompt=scan.get("depth_prompt", ""),
                    scenario=scan.get("scenario", ""),
                    creator_notes=scan.get("creator_notes", ""),
                ),
                injections=tuple(expand(text) for text in self._context.get("scan_injections", ())),
                trigger=self._context.get("trigger", "normal"),
                character_file=self._context.get("char_filename"),
                character_tags=tuple(self._context.get("char_tags", ())),
                forced=_forced({**self._context, **turn}),
                timed=self._timed,
                dry_run=turn.get("dry_run", False),
                count_tokens=_tokens,
                random=random,
                expand=expand,
            )
        )
        self._timed = result.timed
        return {**_recorded(result), "local_vars_after": self._variables.snapshot()}


def _scopes(recorded: list[Case]) -> Mapping[str, tuple[Book, ...]]:
    scopes: dict[str, tuple[Book, ...]] = dict.fromkeys(
        ("global", "character", "character_extra", "chat", "persona"), ()
    )
    for given in recorded:
        book = read_recorded_book(given["entries"], name=given["name"])
        for scope in (given["scope"], *given.get("also", ())):
            scopes[scope] += (book,)
    return scopes


def _forced(recorded: Case) -> frozenset[str]:
    """The entries that something outside the scan has activated, by reference or as `{world, uid}`.

    No open case has any, so the field is known by what it is about and not by one spelling.
    """
    named = [value for key, value in recorded.items() if "force" in key.lower() or "external" in key.lower()]
    given = [item for value in named for item in (value if isinstance(value, list) else [value])]
    return frozenset(
        reference(str(item.get("world", "")), str(item.get("uid", ""))) if isinstance(item, Mapping) else str(item)
        for item in given
    )


def _tokens(text: str) -> int:
    return math.ceil(utf16_length(text) / CHARACTERS_PER_TOKEN)


def _recorded(result: WorldInfoResult) -> dict[str, Json]:
    """The result in the words of a recording."""
    insertions = result.insertions
    return {
        "activated": [activation.entry.reference for activation in result.activations],
        "worldInfoBefore": insertions.before_character,
        "worldInfoAfter": insertions.after_character,
        "depth_entries": [
            {"depth": at.depth, "entries": list(at.entries), "role": at.role} for at in insertions.at_depth
        ],
        "examples": [
            {"position": 0 if example.placement == "before" else 1, "content": example.content}
            for example in insertions.examples
        ],
        "an_before": list(insertions.note_top),
        "an_after": list(insertions.note_bottom),
        "outlets": {name: list(contents) for name, contents in insertions.outlets.items()},
        "timed_effects_after": {
            "sticky": _effects(result.timed.sticky),
            "cooldown": _effects(result.timed.cooldown),
        },
    }


def _effects(effects: Mapping[str, TimedEffect]) -> dict[str, Json]:
    return {
        name: {"start": effect.start, "end": effect.end, "protected": effect.protected}
        for name, effect in effects.items()
    }
