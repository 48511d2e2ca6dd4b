"""Warnings about macros that say where the macro stands: in a field of the character, the preset, a lore entry."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tavernkit.prompt.context import Context
from tavernkit.risuai.problems import CBSProblem, ProblemHandler
from tavernkit.risuai.workbench import Workbench

_MOST_SEARCHES = 200
"""How many macros of a build are looked for in its texts; hostile texts have no end of them."""


def warn_in(ctx: Context) -> ProblemHandler:
    """A handler that tells the build of every problem, with each place where the macro stands."""
    found: dict[tuple[str, bool], tuple[str, ...]] = {}

    def warn(problem: CBSProblem) -> None:
        # Once lore is awake, there are more texts to look at.
        key = problem.snippet, ctx.platform(Workbench).lore is None
        if key not in found and len(found) < _MOST_SEARCHES:
            found[key] = tuple(place for place, text in _texts(ctx) if problem.snippet in text)
        for place in found.get(key) or (ctx.current_stage or "",):
            sentence = f"{place}: {problem.message}" if place else problem.message
            ctx.warn(problem.code, sentence, error=problem.error(sentence), place=place, macro=problem.snippet)

    return warn


def _texts(ctx: Context) -> Iterator[tuple[str, str]]:
    """Every text that the build was given and may expand, with its name."""
    bench = ctx.platform(Workbench)
    character, settings = bench.scene.character, bench.settings
    if character is not None:
        yield from _text_fields("character", character)
        for number, greeting in enumerate(character.alternate_greetings):
            yield f"character.alternate_greetings[{number}]", greeting
        if character.depth_prompt is not None:
            yield "character.depth_prompt", character.depth_prompt.prompt
    yield "user.persona", bench.scene.persona
    yield "author's note", bench.scene.chat.note
    yield from _text_fields("preset", settings)
    for number, card in enumerate(settings.template or ()):
        yield from _text_fields(f"preset.template[{number}]", card)
    for lore in () if bench.lore is None else (*bench.lore.active, *bench.lore.left_out):
        yield f"lore entry {lore.entry.comment or lore.index}", lore.prompt
    for injection in ctx.injections:
        yield f"injection {injection.id}", injection.content


def _text_fields(owner: str, value: msgspec.Struct) -> Iterator[tuple[str, str]]:
    for name in value.__struct_fields__:
        text = getattr(value, name)
        if isinstance(text, str):
            yield f"{owner}.{name}", text
