"""A text cut at its braces, once; what the pieces mean is settled while they are evaluated.

RisuAI reads from left to right and lets the result of an inner macro become text of the outer one, so whether a `}}`
closes anything, and what it closes, depends on what was said before it. Where the braces are does not.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import Final, TypeAlias

from tavernkit.risuai.cbs.blocks import read_head
from tavernkit.risuai.cbs.registry import plain_name

LONGEST_KEPT: Final = 200
MAX_SCRIPTS: Final = 1_000
MAX_CHARACTERS: Final = 8_000_000

MARKER: Final = re.compile(r"<(user|char|bot)>", re.IGNORECASE | re.ASCII)
# A macro without braces inside it is one piece: it is read here, and not each time it is evaluated.
_PIECES: Final = re.compile(r"(\{\{[^{}#]*+(?:#(?!\})[^{}#]*+)*+\}\}|\{[{#]|#\}|\}\})")


class Brace:
    """One that opens (`{{`, `{#`) or closes (`}}`, `#}`)."""

    __slots__ = ("is_opening", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.is_opening = source[0] == "{"


class CBSTag:
    """What stands between `{{` and `}}`, and the whole as it was written."""

    __slots__ = ("source", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = f"{{{{{text}}}}}"


class Macro(CBSTag):
    """A call of a function of the table."""

    __slots__ = ("arguments", "name")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # What stands behind the first colon decides how all arguments are parted.
        name, *arguments = text.split("::" if text.startswith("::", text.find(":")) else ":")
        self.name = plain_name(name)
        self.arguments = arguments


class FunctionCall(Macro):
    """`{{call::name::…}}`: a function that the text defines itself, with its name as the argument 0."""

    __slots__ = ()


class Calculation(CBSTag):
    """`{{? 1+2}}`."""

    __slots__ = ()

    @property
    def expression(self) -> str:
        return self.text[2:]


class BlockStart(CBSTag):
    """`{{#…}}` or `{{:…}}`."""

    __slots__ = ("opens",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.opens = read_head(text)


class BlockEnd(CBSTag):
    """`{{/…}}`, which closes a block whatever its name."""

    __slots__ = ()


CBSStep: TypeAlias = str | Brace | CBSTag
CBSScript: TypeAlias = list[CBSStep]

_BRACES: Final = {source: Brace(source) for source in ("{{", "{#", "}}", "#}")}
LEGACY_CLOSING: Final = _BRACES["#}"]


def read_tag(text: str) -> CBSTag:
    """What the text between two braces is; results of macros make the same ones again and again."""
    return _recently_read(text) if len(text) <= LONGEST_KEPT else _read(text)


def _read(text: str) -> CBSTag:
    match text[:1]:
        case "#" | ":":
            return BlockStart(text)
        case "/" if not text.startswith("//"):
            return BlockEnd(text)
        case "c" if text.startswith("call::"):
            return FunctionCall(text)
        case "?" if text.startswith("? "):
            return Calculation(text)
        case _:
            return Macro(text)


_recently_read = lru_cache(maxsize=4096)(_read)


def scan(text: str) -> CBSScript:
    """The text in pieces: plain texts, braces, and macros that have no braces inside them."""
    read: dict[str, CBSStep] = dict(_BRACES)
    script: CBSScript = []
    is_plain = False
    for piece in _PIECES.split(text):
        is_plain = not is_plain
        if is_plain:
            if piece:
                script.append(piece)
            continue
        step = read.get(piece)
        if step is None:
            step = read[piece] = _read(piece[2:-2])
        script.append(step)
    return script


def source_of(step: CBSStep) -> str:
    """How the piece was written."""
    return step if isinstance(step, str) else step.source


class ScriptCache:
    """Keeps scripts until there are too many of them or too much text."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._scripts: OrderedDict[str, CBSScript] = OrderedDict()
        self._characters = 0

    def script_of(self, text: str) -> CBSScript:
        """The text in pieces, with `<user>`, `<char>` and `<bot>` as the macros that they stand for."""
        with self._lock:
            script = self._scripts.get(text)
            if script is not None:
                self._scripts.move_to_end(text)
                return script
        script = scan(MARKER.sub(r"{{\1}}", text) if "<" in text else text)
        if len(text) <= MAX_CHARACTERS:
            self._put(text, script)
        return script

    def _put(self, text: str, script: CBSScript) -> None:
        with self._lock:
            if text in self._scripts:
                return
            self._scripts[text] = script
            self._characters += len(text)
            while len(self._scripts) > MAX_SCRIPTS or self._characters > MAX_CHARACTERS:
                oldest, _ = self._scripts.popitem(last=False)
                self._characters -= len(oldest)
