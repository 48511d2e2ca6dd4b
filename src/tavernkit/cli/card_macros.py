"""The macros of a card that neither SillyTavern nor RisuAI knows, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tavernkit.characters import Character
from tavernkit.reading import Note
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.problems import CBSProblem
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings
from tavernkit.sillytavern.groups import GroupMember
from tavernkit.sillytavern.macros import Environment, ParserMacros
from tavernkit.sillytavern.macros.problems import MacroProblem

_TEXTS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "system_prompt"),
    "post_history_instructions",
)
_LISTS = ("alternate_greetings", "group_only_greetings")
_SITUATIONAL = ("unconsumed_macro",)
_ENGINE = ParserMacros("1.19")


def macro_notes(character: Character, *, prefix: str) -> Iterator[Note]:
    """A note for each macro that no application expands; `prefix` is where the card's fields stand."""
    for path, text in _texts(character):
        told: set[str] = set()
        for problem in _unknown_to_both(text, character.name):
            message = problem.message.rstrip(".")
            message = message if problem.code == "unknown_macro" else f"{message}: {problem.snippet}"
            if message not in told:
                told.add(message)
                yield Note(path=f"{prefix}{path}", outcome="exact", message=message, is_broken=True)


def _texts(character: Character) -> Iterator[tuple[str, str]]:
    yield from ((name, getattr(character, name)) for name in _TEXTS)
    for name in _LISTS:
        yield from ((f"{name}[{place}]", text) for place, text in enumerate(getattr(character, name)))
    yield "extensions.depth_prompt.prompt", GroupMember.of(character, "").depth_prompt.text
    book = character.character_book
    for place, entry in enumerate(() if book is None else book.entries):
        yield f"character_book.entries[{place}].content", entry.content


def _unknown_to_both(text: str, name: str) -> Iterator[CBSProblem]:
    """What RisuAI would leave in the text, where SillyTavern would as well."""
    if "{{" not in text:
        return
    theirs: list[MacroProblem] = []
    _ENGINE.expand(text, Environment(character_name=name, user_name="User"), on_problem=theirs.append)
    opened = {text[problem.position :] for problem in theirs if problem.code not in _SITUATIONAL}
    if not opened:
        return
    ours: list[CBSProblem] = []
    scene = RisuScene(
        character=RisuCharacter(name=name),
        chat=RisuChat(),
        settings=RisuSettings(),
        now=lambda: datetime.now(UTC),
        random=lambda: 0.5,
        on_problem=ours.append,
    )
    expand(text, scene)
    for problem in ours:
        opening = problem.snippet.rstrip("}")
        if problem.code != "macro_limit" and any(rest.startswith(opening) for rest in opened):
            yield problem
