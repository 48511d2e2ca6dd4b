"""Walking a tree: arguments first, from left to right; what a macro gives is never read again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from tavernkit.prompt.parts import lines_joined
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.nodes import Argument, MacroCall, Shorthand, Template, TemplateParts
from tavernkit.sillytavern.macros.problems import LimitReached, MacroFailure, MacroLimits, ProblemCode
from tavernkit.sillytavern.macros.registry import MacroDefinition, MacroDefinitions
from tavernkit.sillytavern.macros.variables import operate, value_text
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim, utf16_length
from tavernkit.text.seeded import string_hash

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.engine import ParserMacros

GROWTH_COST = 10

ProblemReport: TypeAlias = Callable[[ProblemCode, str, str, int], None]
"""Is told what is wrong, in a word and in a sentence, with which macro, and where."""


class MacroExpansion:
    """One text being expanded: what macros see of it, and the count of what it has cost.

    `call` is the call that is being answered, `scoped` whether its last argument was a block's body.
    """

    def __init__(
        self,
        engine: ParserMacros,
        environment: Environment,
        text: str,
        report: ProblemReport | None,
    ) -> None:
        self.engine: ParserMacros = engine
        self.environment: Environment = environment
        self.text: str = text
        self.call: MacroCall | None = None
        self.original_is_used = False
        self._report = report
        self._limits: MacroLimits = engine.limits
        self._dynamic = engine.dynamic_macros(environment)
        self._post_process = environment.post_process
        self._constants: dict[str, str] = {}
        self._steps = 0
        self._written = 0
        self._reread = 0
        self._nesting = 0
        self._source = ""
        self._base = 0

    @cached_property
    def content_hash(self) -> int:
        """The hash of the text as it was given; part of what decides a pick."""
        return string_hash(self.text)

    @property
    def registry(self) -> MacroDefinitions:
        return self.engine.registry

    @property
    def offset(self) -> int:
        """Where the current call stands, in UTF-16 units."""
        return self._base + utf16_length(self._source[: self._call().start])

    @property
    def scoped(self) -> bool:
        return self._call().body is not None

    @property
    def keeps_white_space(self) -> bool:
        return "#" in self._call().flags

    def run(self, template: Template, base: int = 0) -> str:
        """Evaluate a template of this expansion, which stands at `base`, and tidy up after it."""
        self._nesting += 1
        if self._nesting > self._limits.nesting:
            raise LimitReached(f"calls are nested more than {self._limits.nesting} deep")
        outer = self._source, self._base, self.call
        self._source, self._base = template.source, base
        try:
            return self.engine.finish(self._evaluate(template.parts))
        finally:
            self._source, self._base, self.call = outer
            self._nesting -= 1

    def resolve(self, text: str, base: int) -> str:
        """Expand a text that a delayed macro got unexpanded; `base` is the place it counts from."""
        self._reread += len(text)
        if self._reread > max(self._limits.rereading, 3 * len(self.text)):
            raise LimitReached("too much text was read again and again")
        return self.run(self.engine.template(text), base)

    def card_text(self, text: str) -> str:
        """A text of the card with its own macros expanded; nothing where the card must not be used."""
        if not text or not self.environment.expands_card:
            return ""
        return self.environment.tidied(self.engine.expand(js_trim(text), self.environment.for_card_text()))

    def allow(self, characters: int) -> None:
        """Raise LimitReached before that many characters are made, if they would be too many."""
        self._written += characters
        if self._written > self._limits.output:
            raise LimitReached(f"more than {self._limits.output} characters came together")

    def draw(self) -> float:
        """A number of chance; each one is a step, because dice come by the thousand."""
        self._step(1)
        return self.environment.random()

    def allow_growth(self, value: object) -> None:
        """Count a variable that has grown: a list is read and written anew each time something is added to it."""
        if isinstance(value, str):
            self.allow(GROWTH_COST * len(value))

    def _step(self, count: int) -> None:
        self._steps += count
        if self._steps > self._limits.steps:
            raise LimitReached(f"more than {self._limits.steps} pieces of text and calls")

    def _call(self) -> MacroCall:
        if self.call is None:
            raise MacroFailure("is not inside a call")
        return self.call

    def _evaluate(self, parts: TemplateParts) -> str:
        self._step(len(parts))
        constants = self._constants
        out: list[str] = []
        for part in parts:
            if isinstance(part, str):
                out.append(part)
            elif isinstance(part, MacroCall):
                known = constants.get(part.key) if part.values == () else None
                out.append(self._answer(part) if known is None else known)
            else:
                out.append(self._shorthand(part))
        text = "".join(out)
        self.allow(len(text))
        return text

    def _argument(self, argument: Argument) -> str:
        if argument.plain is not None:
            return argument.plain
        parts = argument.parts
        if len(parts) == 1 and isinstance(parts[0], MacroCall):
            self._steps += 1
            known = self._constants.get(parts[0].key) if parts[0].values == () else None
            return self._answer(parts[0]) if known is None else known
        return self._evaluate(parts)

    def _answer(self, call: MacroCall) -> str:
        definition = call.definition
        if self._dynamic and call.key in self._dynamic:
            return self._dynamic_answer(call, definition)
        if call.values is not None and definition is not None:
            values = call.values
        else:
            values = self._values(call, definition)
            if definition is None:
                return self._as_text(call, values, "unknown_macro", f"There is no macro {call.name!r}.")
            if not call.sound and (complaint := definition.complaint(values)) is not None:
                return self._as_text(call, values, "macro_syntax", f"{{{{{call.name}}}}} {complaint}.")
        self.call = call
        try:
            answer: str = definition.handler(self, *values)
        except MacroFailure as failure:
            return self._as_text(call, values, "macro_syntax", f"{{{{{call.name}}}}} {failure}.")
        if self._post_process is not None:
            answer = self._post_process(answer)
        if definition.constant and not values:
            self._constants[call.key] = answer
        return answer

    def _values(self, call: MacroCall, definition: MacroDefinition | None) -> tuple[str, ...]:
        source = self._source
        body = call.body
        if definition is not None and definition.delayed:
            raw = [source[argument.start : argument.end] for argument in call.arguments]
            if body is not None:
                raw.append(source[body.start : body.end])
            return tuple(raw)
        values = [self._argument(argument) for argument in call.arguments]
        if body is not None:
            text = self._evaluate(body.parts)
            values.append(text if "#" in call.flags else dedent(text))
        return tuple(values)

    def _dynamic_answer(self, call: MacroCall, definition: MacroDefinition | None) -> str:
        value = self._dynamic[call.key]
        values = self._values(call, definition)
        if values:
            return self._as_text(call, values, "macro_syntax", f"{{{{{call.name}}}}} takes no arguments here.")
        answer = value_text(value() if callable(value) else value)
        return answer if self._post_process is None else self._post_process(answer)

    def _as_text(self, call: MacroCall, values: tuple[str, ...], code: ProblemCode, message: str) -> str:
        """The call as it was written, with what its arguments came to in their places."""
        if self._report is not None and self._nesting == 1:
            self._report(code, message, call.name, call.start)
        source = self._source
        pieces = ["{{"]
        place = call.start + 2
        stretches = [(argument.start, argument.end) for argument in call.arguments]
        if call.body is not None and call.body.start < call.body.end:
            stretches.append((call.body.start, call.body.end))
        for (start, end), value in zip(stretches, values, strict=False):
            if start == end:
                continue
            pieces += (source[place:start], value)
            place = end
        if place < call.end - 2:
            pieces.append(source[place : call.end - 2])
        pieces.append("}}")
        return "".join(pieces)

    def _shorthand(self, node: Shorthand) -> str:
        value = node.value

        def resolve() -> str:
            return "" if value is None else str(js_trim(self._argument(value)))

        printed = operate(self.environment.variables, node, resolve)
        if node.operator == "+=":
            self.allow_growth(self.environment.variables.get(node.name, node.scope))
        return printed


def dedent(text: str) -> str:
    """Take the indentation of the first line of a block that is not blank from every line, then trim both ends.

    A line that is indented less loses all white space at its start.
    """
    lines = text.split("\n")
    width = next((_indent(line) for line in lines if js_trim(line)), 0)
    if width == 0:
        return js_trim(text)
    return js_trim(
        lines_joined([line[width:] if _indent(line) >= width else line.lstrip(JS_WHITESPACE) for line in lines], text)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
