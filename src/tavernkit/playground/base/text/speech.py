"""What is said: words in quotation marks, within one paragraph."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from tavernkit.values import Value

_CLOSING = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_QUOTES = re.compile("[" + "".join(sorted({*_CLOSING, *"".join(_CLOSING.values())})) + "]")
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)", re.IGNORECASE)
_EMPTY_TAGS = frozenset({"br", "hr", "img", "wbr"})
# The first character of the scripts that put no space before a quotation.
_WITHOUT_SPACES = "\u2e80"


class _Quote(Value, frozen=True, kw_only=True):
    """A quotation mark: which of the inline tokens it is in, and where."""

    mark: str
    index: int
    position: int


def mark_speech(state: StateCore) -> None:
    """Put `<q class="said">` around what is said."""
    for token in state.tokens:
        if token.type == "inline" and token.children and _QUOTES.search(token.content):
            token.children = list(_with_speech(token.children))


def _with_speech(children: Sequence[Token]) -> Iterator[Token]:
    cuts: defaultdict[int, list[tuple[int, Token]]] = defaultdict(list)
    for opening, closing in _speech(children):
        cuts[opening.index].append((opening.position, Token("said_open", "q", 1, attrs={"class": "said"})))
        cuts[closing.index].append((closing.position + 1, Token("said_close", "q", -1)))
    for index, child in enumerate(children):
        if index not in cuts:
            yield child
            continue
        done = 0
        # Pairs come in order and never overlap, but one may open in this token and another close in it.
        for position, tag in sorted(cuts[index], key=lambda cut: cut[0]):
            yield _text(child.content[done:position])
            yield tag
            done = position
        yield _text(child.content[done:])


def _speech(children: Sequence[Token]) -> Iterator[tuple[_Quote, _Quote]]:
    """Pairs of quotation marks that stand in the same element, the outermost ones only."""
    # For each element that is open, the mark in it that waits for its partner; only one waits at a time.
    waiting: list[_Quote | None] = [None]
    is_waiting = False
    before = ""
    for index, child in enumerate(children):
        step = _step(child)
        if step == 1:
            waiting.append(None)
        elif step == -1 and len(waiting) > 1:
            is_waiting = is_waiting and waiting[-1] is None
            waiting.pop()
        elif child.type == "text":
            text = child.content
            for match in _QUOTES.finditer(text):
                here = _Quote(mark=match[0], index=index, position=match.start())
                opening = waiting[-1]
                if opening is not None and here.mark in _CLOSING[opening.mark]:
                    yield opening, here
                    waiting[-1], is_waiting = None, False
                elif not is_waiting and here.mark in _CLOSING and _can_open(here, text, before):
                    waiting[-1], is_waiting = here, True
        before = child.content[-1:] if child.type == "text" else "" if child.type.endswith("break") else before


def _step(token: Token) -> int:
    """Whether an element begins (1) or ends (-1) here."""
    if token.type != "html_inline":
        return token.nesting
    tag = _TAG.match(token.content)
    if tag is None or tag[2].lower() in _EMPTY_TAGS or token.content.endswith("/>"):
        return 0
    return -1 if tag[1] else 1


def _can_open(quote: _Quote, text: str, before: str) -> bool:
    """Whether a mark stands at the start of words. Only the straight one can be something else, as in 6'2"."""
    if quote.mark != '"':
        return True
    position = quote.position
    previous = text[position - 1] if position else before
    following = text[position + 1 : position + 2]
    return (not previous.isalnum() or previous >= _WITHOUT_SPACES) and not following.isspace()


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
