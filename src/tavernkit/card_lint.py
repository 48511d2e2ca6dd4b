"""What a card says that its author probably did not mean: a macro that no application knows, a lorebook key that never
matches, an empty greeting, a name where `{{char}}` belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from tavernkit.characters import Character
from tavernkit.errors import RegexError
from tavernkit.lore import Entry
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.problems import CBSProblem
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings
from tavernkit.sillytavern.groups import GroupMember
from tavernkit.sillytavern.macros import Environment, ParserMacros
from tavernkit.sillytavern.macros.problems import MacroProblem
from tavernkit.text.js_regex import compile_regex
from tavernkit.values import Value

LintCode: TypeAlias = Literal[
    "unknown_macro", "macro_syntax", "never_matches", "bad_pattern", "empty_greeting", "name_spelt_out"
]


class CardHint(Value, frozen=True, kw_only=True):
    """Something to look at. `path` is where it stands, such as `alternate_greetings[0]`; `value` is what it is about: a
    macro, a key, a name."""

    path: str
    code: LintCode
    message: str
    value: str = ""


_TEXTS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "system_prompt"),
    "post_history_instructions",
)
_GREETINGS = ("alternate_greetings", "group_only_greetings")
_SITUATIONAL = ("unconsumed_macro",)
_ENGINE = ParserMacros("1.19")
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)
_DELIMITED = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)


def lint_card(character: Character) -> tuple[CardHint, ...]:
    """Everything worth a look, in the order of the card's fields. The card works with all of it."""
    return (
        *macro_hints(character),
        *_greeting_hints(character),
        *_name_hints(character),
        *_key_hints(character),
    )


def macro_hints(character: Character) -> Iterator[CardHint]:
    """A hint for each macro that neither SillyTavern nor RisuAI expands."""
    for path, text in (*_texts(character), *_contents(character)):
        told: set[str] = set()
        for problem in _unknown_to_both(text, character.name):
            message = problem.message.rstrip(".")
            is_unknown = problem.code == "unknown_macro"
            message = message if is_unknown else f"{message}: {problem.snippet}"
            if message not in told:
                told.add(message)
                code: LintCode = "unknown_macro" if is_unknown else "macro_syntax"
                yield CardHint(path=path, code=code, message=message, value=problem.snippet)


def _greeting_hints(character: Character) -> Iterator[CardHint]:
    if not character.first_mes.strip():
        message = "The first message is empty, so a story begins without one."
        yield CardHint(path="first_mes", code="empty_greeting", message=message)
    for field in _GREETINGS:
        for place, text in enumerate(getattr(character, field)):
            if not text.strip():
                message = "The greeting is empty, so nothing begins with it."
                yield CardHint(path=f"{field}[{place}]", code="empty_greeting", message=message)


def _name_hints(character: Character) -> Iterator[CardHint]:
    name = character.name.strip()
    if len(name) < 2:
        return
    # Where words have no spaces between them, a name has no edges.
    edge = "" if any(ord(letter) > 0x2E80 for letter in name) else r"\b"
    start, end = (edge if name[0].isalnum() else ""), (edge if name[-1].isalnum() else "")
    pattern = re.compile(f"{start}{re.escape(name)}{end}")
    for path, text in _texts(character):
        if pattern.search(text):
            message = f"The name {name!r} is written out; {{{{char}}}} follows a change of the name."
            yield CardHint(path=path, code="name_spelt_out", message=message, value=name)


def _key_hints(character: Character) -> Iterator[CardHint]:
    for path, entry in _entries(character):
        if not entry.enabled or entry.constant:
            continue
        keys = [key for key in entry.keys if key.strip()]
        if not keys and not _is_activated_otherwise(entry):
            yield CardHint(path=path, code="never_matches", message="The entry has no keys, so it is never activated.")
        for key in keys:
            match = _DELIMITED.fullmatch(key.strip())
            source, flags = (match[1], match[2]) if match else (key, "")
            if (match or entry.use_regex) and not _compiles(source, flags):
                message = f"The key {key!r} is no valid regular expression, so it never matches."
                yield CardHint(path=path, code="bad_pattern", message=message, value=key)


def _is_activated_otherwise(entry: Entry) -> bool:
    """By a decorator, or because it is looked up by its meaning."""
    return entry.content.lstrip().startswith("@@") or entry.extensions.get("vectorized") is True


def _compiles(source: str, flags: str) -> bool:
    try:
        compile_regex(source, flags)
    except RegexError:
        return False
    return True


def _texts(character: Character) -> Iterator[tuple[str, str]]:
    yield from ((name, getattr(character, name)) for name in _TEXTS)
    for name in _GREETINGS:
        yield from ((f"{name}[{place}]", text) for place, text in enumerate(getattr(character, name)))
    yield "extensions.depth_prompt.prompt", GroupMember.of(character, "").depth_prompt.text


def _contents(character: Character) -> Iterator[tuple[str, str]]:
    yield from ((f"{path}.content", entry.content) for path, entry in _entries(character))


def _entries(character: Character) -> Iterator[tuple[str, Entry]]:
    book = character.character_book
    for place, entry in enumerate(() if book is None else book.entries):
        yield f"character_book.entries[{place}]", entry


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
        now=lambda: _NEVER,
        random=lambda: 0.5,
        on_problem=ours.append,
    )
    expand(text, scene)
    for problem in ours:
        opening = problem.snippet.rstrip("}")
        if problem.code != "macro_limit" and any(rest.startswith(opening) for rest in opened):
            yield problem
