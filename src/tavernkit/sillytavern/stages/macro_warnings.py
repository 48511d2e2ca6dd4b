"""Warnings about macros that say where the macro stands: in a field of the card, a prompt, a lore entry, a template."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator

import msgspec

from tavernkit.characters.character import Character
from tavernkit.prompt.context import Context
from tavernkit.sillytavern.groups import GroupMember
from tavernkit.sillytavern.macros.problems import MacroProblem, PlacedProblems
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.story import Story

_SNIPPET = re.compile(r"\{\{[^{}\n]{0,40}(?:\}\})?")
_CARD_FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "system_prompt"),
    *("post_history_instructions", "creator_notes"),
)
_MOST_SEARCHES = 200
"""How many macros of a build are looked for in its texts; hostile texts have no end of them."""


def warn_in(ctx: Context) -> PlacedProblems:
    """A handler for `expand(…, on_problem=…)` that tells the build of every problem, without keeping it alive: a
    finished one need not wait for the garbage collector.

    A text without a place is put together from others. Its macros are looked for in what the build was given; those
    that are not there came out of a text that has a place, which was told of when it was expanded itself.
    """
    building = weakref.ref(ctx)
    told: set[tuple[str, str]] = set()
    found: dict[str, tuple[tuple[str, int], ...]] = {}

    def warn(problem: MacroProblem, text: str = "", place: str = "") -> None:
        still = building()
        if still is None:
            return
        match = _SNIPPET.match(text, problem.position)
        snippet = match[0] if match else ""
        places: tuple[tuple[str, int], ...] = ((place, problem.position),)
        if not place and snippet:
            if snippet not in found and len(found) < _MOST_SEARCHES:
                found[snippet] = tuple(_places_of(still, snippet))
            places = found.get(snippet, ())
        if not places:
            if (problem.code, snippet) in told:
                return
            places = ((still.current_stage or "", problem.position),)
        told.add((problem.code, snippet))
        shown = problem.message if problem.name or not snippet else f"{problem.message.rstrip('.')}: {snippet}"
        for name, position in places:
            sentence = f"{name}: {shown}" if name else shown
            error = problem.with_(message=sentence, position=position).error()
            still.warn(problem.code, sentence, error=error, place=name, macro=problem.name, position=position)

    return warn


def _places_of(ctx: Context, snippet: str) -> Iterator[tuple[str, int]]:
    for place, text in _texts(ctx):
        position = text.find(snippet)
        if position >= 0:
            yield place, position


def _texts(ctx: Context) -> Iterator[tuple[str, str]]:
    """Every text that the build was given and may expand, but for prompts and lore, which know their places."""
    story = ctx.platform(Scene).story
    if story.group is None:
        yield from _card_texts("character", ctx.require_character())
    for member in () if story.group is None else story.group.present:
        yield from _card_texts(f"character {member.name}", member.character)
    yield "user.persona", ctx.require_user().persona
    yield from _text_fields("preset", ctx.preset)
    yield from _story_texts(story)
    for injection in ctx.injections:
        yield f"injection {injection.id}", injection.content


def _card_texts(owner: str, card: Character) -> Iterator[tuple[str, str]]:
    yield from ((f"{owner}.{field}", getattr(card, field)) for field in _CARD_FIELDS)
    yield f"{owner}.extensions.depth_prompt", GroupMember.of(card, "").depth_prompt.text


def _story_texts(story: Story) -> Iterator[tuple[str, str]]:
    settings = story.settings
    yield from _text_fields("story", story)
    yield from _text_fields("settings", settings)
    for name in ("instruct", "context", "sysprompt", "reasoning"):
        yield from _text_fields(name, getattr(settings, name))
    yield "author's note", story.note.text
    if story.character_note is not None:
        yield "author's note of the character", story.character_note.text
    if story.quiet is not None:
        yield "quiet prompt", story.quiet.text
    yield from ((f"injection {prompt.key}", prompt.content) for prompt in story.extension_prompts)


def _text_fields(owner: str, value: object) -> Iterator[tuple[str, str]]:
    for name in type(value).__struct_fields__ if isinstance(value, msgspec.Struct) else ():
        text = getattr(value, name)
        if isinstance(text, str):
            yield f"{owner}.{name}", text
