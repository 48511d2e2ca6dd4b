"""The bundled story of 40 turns, played through the library."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tavernkit import Built, Message, Preset, User, characters, example, sillytavern
from tavernkit.lore import read_book
from tavernkit.prompt.reuse import reuse
from tavernkit.sillytavern import AuthorsNote, SillyTavernResult, Story
from tavernkit.sillytavern.presets import TextPreset, read_preset

__all__ = ["DATA", "build_turn", "play", "share_of", "text_preset"]

DATA: Any = json.loads(example.read(example.WINTER_FERRY))
CARD = characters.load(json.dumps(DATA["card"]).encode()).card.character
BOOK, _ = read_book(DATA["lorebook"])
PRESET, _ = read_preset(DATA["preset"])


def text_preset(window: int) -> TextPreset:
    return TextPreset(max_length=window, genamt=400)


def chat_preset(window: int) -> Preset:
    preset: Preset = PRESET.with_(openai_max_context=window)
    return preset


def build_turn(
    number: int, history: list[Message], preset: Preset, story: Story, **inputs: Any
) -> Built[SillyTavernResult]:
    """The prompt of one turn; seven minutes pass between two."""
    now = datetime(2026, 1, 9, 18, tzinfo=UTC) + timedelta(minutes=7 * number)
    return sillytavern.build(
        character=CARD,
        user=User(**DATA["user"]),
        preset=preset,
        history=history,
        story=story.with_(note=AuthorsNote(text=DATA["note"])),
        rng=random.Random(number),
        clock=lambda: now,
        model="gpt-4o",
        **{"books": [BOOK], "message": DATA["turns"][number]["user"], **inputs},
    )


def play(preset: Preset, story: Story, **inputs: Any) -> Iterator[Built[SillyTavernResult]]:
    """The prompts of all turns, one after the other; each begins with what the one before has left."""
    history = [Message(role="assistant", content=CARD.first_mes)]
    for number, turn in enumerate(DATA["turns"]):
        built = build_turn(number, history, preset, story, **inputs)
        yield built
        story = story.with_(timed=built.result.timed, layout_state=built.result.layout_state)
        history += [Message(role="user", content=turn["user"]), Message(role="assistant", content=turn["reply"])]


def share_of(prompts: Iterator[Built[SillyTavernResult]]) -> float:
    """The share of all tokens of turns 2 to 40 that begin the prompt as they began the one before."""
    common = total = 0
    before = next(prompts)
    for built in prompts:
        found = reuse(before, built, model="gpt-4o")
        common, total, before = common + found.common_tokens, total + found.total_tokens, built
    return common / total
