"""Reading the inside of tags and outputs: names, values, operators, filters.

Lenient where LiquidJS is: what follows a value without an operator is read and then ignored, and a comma or a closing
parenthesis ends it all.
"""

from __future__ import annotations

import re
from typing import NoReturn

from liquid.token import Token

from tavernkit.artifacts.liquid.data import BLANK, EMPTY, NIL
from tavernkit.artifacts.liquid.expressions import (
    Argument,
    Expression,
    FilterCall,
    Filtered,
    Literal,
    Named,
    Operator,
    Path,
    Range,
    Term,
)
from tavernkit.artifacts.liquid.problems import syntax_error
from tavernkit.artifacts.liquid.quoting import unquote

__all__ = ["WHITESPACE", "Scanner", "is_word"]

WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000"
)
"""What separates words in a template, and what `-` trims."""

_NOT_IN_WORDS = WHITESPACE + "“”‘’"
_LITERALS = {"true": True, "false": False, "nil": NIL, "null": NIL, "empty": EMPTY, "blank": BLANK}
_OPERATORS = re.compile(r"==|!=|>=|<=|>|<|contains|and|not|or")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.(?!\.)[0-9]*)?")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*(?:\"|\\?\Z)|'(?:\\.|[^'\\])*(?:'|\\?\Z)", re.DOTALL)
_LONGEST_QUOTE = 32
_ENDS_VALUE = ",)"


def is_word(character: str) -> bool:
    """Whether the character may stand in a name."""
    if character >= "\x80":
        return character not in _NOT_IN_WORDS
    return character.isalnum() or character in ("_", "-", "?")


class Scanner:
    """A place in the text of a tag or output."""

    def __init__(self, text: str, *, source: str | None = None, offset: int = 0) -> None:
        self.text = text
        self.place = 0
        self.source = text if source is None else source
        self._offset = offset

    @classmethod
    def of(cls, token: Token) -> Scanner:
        return cls(token.value, source=token.source, offset=token.start_index)

    def fail(self, problem: str) -> NoReturn:
        raise syntax_error(problem, self.source, self._offset + self.place)

    def at_end(self) -> bool:
        return self.place >= len(self.text)

    def peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def skip_blank(self) -> None:
        while self.place < len(self.text) and self.text[self.place] in WHITESPACE:
            self.place += 1

    def skip_past(self, mark: str) -> bool:
        """Go behind the next mark, or to the end when there is none."""
        found = self.text.find(mark, self.place)
        self.place = len(self.text) if found < 0 else found + len(mark)
        return found >= 0

    def take(self, mark: str) -> bool:
        """Go behind the mark if it stands here."""
        self.skip_blank()
        if not self.text.startswith(mark, self.place):
            return False
        self.place += len(mark)
        return True

    def rest(self) -> str:
        return self.text[self.place :]

    def name(self) -> str:
        """The word that comes next; empty when there is none."""
        self.skip_blank()
        start = self.place
        while self.place < len(self.text) and is_word(self.text[self.place]):
            self.place += 1
        return self.text[start : self.place]

    def filtered(self) -> Filtered:
        """An expression with the filters behind it."""
        expression = self.expression()
        if not expression.terms:
            self.fail(f"a value is missing before {self._here()}")
        filters: list[FilterCall] = []
        while (call := self._filter()) is not None:
            filters.append(call)
        return Filtered(expression, tuple(filters))

    def expression(self) -> Expression:
        """Values and operators, in whatever order they come."""
        terms: list[Term | Operator] = []
        while not self.at_end():
            found = self._operator() or self.value()
            if found is None:
                break
            terms.append(found)
        return Expression.of(terms)

    def value(self) -> Term | None:
        """A literal, a range or a path."""
        self.skip_blank()
        start = self.place
        root = self._literal() or self._quoted() or self._range() or self._number()
        members = self._members(is_root=root is None)
        if not members:
            return root
        return Path(root, tuple(members), self.text[start : self.place])

    def wanted_value(self) -> Term:
        value = self.value()
        if value is None:
            self.fail(f"a value is missing before {self._here()}")
        return value

    def scope_value(self) -> Path | None:
        """A path whose first member is never a literal, as `where` reads it."""
        self.skip_blank()
        start = self.place
        members = self._members(is_root=True)
        return Path(None, tuple(members), self.text[start : self.place]) if members else None

    def quoted_text(self) -> str | None:
        quoted = self._quoted()
        return None if quoted is None else str(quoted.value)

    def hash(self) -> dict[str, Term | None]:
        """`name: value` pairs with or without commas; a name alone has no value."""
        pairs: dict[str, Term | None] = {}
        while True:
            self.take(",")
            name = self.name()
            if not name:
                return pairs
            pairs[name] = self.value() if self.take(":") else None

    def _here(self) -> str:
        rest = self.rest().strip()
        if not rest:
            return "the end"
        return f"“{rest if len(rest) <= _LONGEST_QUOTE else rest[:_LONGEST_QUOTE] + '…'}”"

    def _operator(self) -> Operator | None:
        self.skip_blank()
        match = _OPERATORS.match(self.text, self.place)
        if match is None:
            return None
        if match[0].isalpha() and self._is_word_at(match.end()):
            return None
        self.place = match.end()
        return Operator(match[0])

    def _is_word_at(self, place: int) -> bool:
        return place < len(self.text) and is_word(self.text[place])

    def _literal(self) -> Literal | None:
        for word, value in _LITERALS.items():
            if self.text.startswith(word, self.place) and not self._is_word_at(self.place + len(word)):
                self.place += len(word)
                return Literal(value, word)
        return None

    def _quoted(self) -> Literal | None:
        self.skip_blank()
        match = _QUOTED.match(self.text, self.place)
        if match is None:
            return None
        self.place = match.end()
        return Literal(unquote(match[0]), match[0])

    def _range(self) -> Range | None:
        start = self.place
        if self.peek() != "(":
            return None
        self.place += 1
        first = self.wanted_value()
        if not self.take(".."):
            self.fail(f"a range needs two dots before {self._here()}")
        last = self.wanted_value()
        if not self.take(")"):
            self.fail(f"a range is not closed before {self._here()}")
        return Range(first, last, self.text[start : self.place])

    def _number(self) -> Literal | None:
        match = _NUMBER.match(self.text, self.place)
        if match is None or self._is_word_at(match.end()):
            return None
        behind = self.text[match.end() : match.end() + 2]
        if "." in match[0] and behind.startswith(".") and behind != "..":
            return None
        self.place = match.end()
        return Literal(float(match[0]), match[0])

    def _members(self, *, is_root: bool) -> list[Term]:
        members: list[Term] = []
        while True:
            if self.peek() == "[":
                self.place += 1
                members.append(self.value() or Literal("", ""))
                if not self.skip_past("]"):
                    self.fail("a bracket is not closed")
                continue
            if is_root and not members and (name := self.name()):
                members.append(Literal(name, name))
                continue
            if self.peek() == "." and not self.text.startswith("..", self.place):
                self.place += 1
                name = self.name()
                if not name:
                    return members
                members.append(Literal(name, name))
                continue
            return members

    def _filter(self) -> FilterCall | None:
        self.skip_blank()
        if self.at_end() or self.peek() in _ENDS_VALUE:
            return None
        if not self.take("|"):
            self.fail(f"a filter begins with |, but here is {self._here()}")
        start = self.place
        name = self.name()
        if not name:
            if not self.at_end():
                self.fail(f"a filter's name is missing before {self._here()}")
            return None
        position = self._offset + self.text.index(name, start)
        arguments: list[Argument] = []
        self.skip_blank()
        if self.peek() == ":":
            arguments = self._arguments()
        elif not self.at_end() and self.peek() not in "|" + _ENDS_VALUE:
            self.fail(f"the filter {name} needs a colon before {self._here()}")
        return FilterCall(name, tuple(arguments), position)

    def _arguments(self) -> list[Argument]:
        arguments: list[Argument] = []
        while self.peek() in (":", ",") and not self.at_end():
            self.place += 1
            argument = self._argument()
            if argument is not None:
                arguments.append(argument)
            self.skip_blank()
            if not self.at_end() and self.peek() not in "|" + _ENDS_VALUE:
                self.fail(f"there is something in the way after a filter's argument: {self._here()}")
        return arguments

    def _argument(self) -> Argument | None:
        value = self.value()
        if value is None:
            return None
        self.skip_blank()
        if self.peek() != ":":
            return value
        self.place += 1
        return Named(value.text, self.value())
