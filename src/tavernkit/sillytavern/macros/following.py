"""Expanding a text that knows where it comes from: what macros answer, and what they let through, is known as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tavernkit.prompt.parts import TracedText, joined
from tavernkit.prompt.tracing import answered, first_source, source_at, traced
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.evaluator import MacroExpansion, ProblemReport, dedent
from tavernkit.sillytavern.macros.nodes import Argument, MacroCall, Shorthand, Template, TemplateParts
from tavernkit.sillytavern.macros.problems import ProblemCode
from tavernkit.sillytavern.macros.registry import MacroDefinition

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.engine import ParserMacros


class TracedExpansion(MacroExpansion):
    """Handlers are given plain arguments, save `{{if}}`, which expands its own: none of them may keep a traced one."""

    def __init__(
        self, engine: ParserMacros, environment: Environment, text: TracedText, report: ProblemReport | None
    ) -> None:
        super().__init__(engine, environment, str(text), report)
        self._traced: str = engine.traced_source(text)
        self._arguments: dict[int, tuple[str, ...]] = {}
        self._answers: dict[str, str] = {}
        self._as_written: str | None = None

    def resolve(self, text: str, base: int) -> str:
        outer = self._traced
        here = source_at(outer, self._call().start)
        given = text if isinstance(text, TracedText) or here is None else traced(text, here)
        self._traced = self.engine.traced_source(given)
        try:
            return super().resolve(str(text), base)
        finally:
            self._traced = outer

    def _evaluate(self, parts: TemplateParts) -> str:
        return self._walk(parts, 0)

    def _walk(self, parts: TemplateParts, place: int) -> str:
        self._step(len(parts))
        pieces: list[str] = []
        for part in parts:
            if isinstance(part, str):
                if self._source.startswith(part, place):
                    pieces.append(self._traced[place : place + len(part)])
                    place += len(part)
                else:
                    pieces.append(part)
            elif isinstance(part, MacroCall):
                pieces.append(self._answer(part))
                place = part.end if part.body is None else part.body.closing_end
            else:
                pieces.append(self._shorthand(part))
                place = part.end
        text = joined("", pieces)
        self.allow(len(text))
        return text

    def _argument(self, argument: Argument) -> str:
        if argument.plain is not None:
            taken = self._traced[argument.start : argument.end]
            return taken if taken == argument.plain else argument.plain
        if len(argument.parts) == 1 and isinstance(argument.parts[0], MacroCall):
            self._steps += 1
            return self._answer(argument.parts[0])
        return self._walk(argument.parts, argument.start)

    def _answer(self, call: MacroCall) -> str:
        is_constant = call.values == ()
        answer = self._answers.get(call.key) if is_constant else None
        if answer is None:
            answer = super()._answer(call)
            if answer is self._as_written:
                return answer
            if is_constant and call.key in self._constants:
                self._answers[call.key] = answer
        arguments = self._arguments.pop(id(call), call.values or ())
        return answered(answer, call.name, arguments, source_at(self._traced, call.start))

    def _values(self, call: MacroCall, definition: MacroDefinition | None) -> tuple[str, ...]:
        known, body = self._traced, call.body
        if definition is not None and definition.delayed:
            raw = [known[argument.start : argument.end] for argument in call.arguments]
            if body is not None:
                raw.append(known[body.start : body.end])
            self._arguments[id(call)] = tuple(raw[:1])
            return tuple(raw)
        values = [self._argument(argument) for argument in call.arguments]
        if body is not None:
            text = self._walk(body.parts, body.start)
            values.append(text if "#" in call.flags else dedent(text))
        self._arguments[id(call)] = tuple(values)
        return tuple(map(str, values))

    def _as_text(self, call: MacroCall, values: tuple[str, ...], code: ProblemCode, message: str) -> str:
        written = super()._as_text(call, values, code, message)
        arguments = self._arguments.pop(id(call), values)
        known = self._traced
        pieces: list[str] = []
        place = call.start
        stretches = [(argument.start, argument.end) for argument in call.arguments]
        if call.body is not None:
            stretches.append((call.body.start, call.body.end))
        for (start, end), value in zip(stretches, arguments, strict=False):
            if start < end:
                pieces += (known[place:start], value)
                place = end
        text = joined("", (*pieces, known[place : call.end]))
        here = source_at(known, call.start)
        self._as_written = text if text == written or here is None else traced(written, here)
        return self._as_written

    def _shorthand(self, node: Shorthand) -> str:
        return answered(super()._shorthand(node), f".{node.name}", (), source_at(self._traced, node.start))


def traced_source(template: Template, text: str) -> str:
    """The source of a template, which is its text with the old markers rewritten, with what the text knows."""
    if not template.shifts:
        return text
    source, pieces = template.source, list[str]()
    given = place = ahead = 0
    for until, distance in template.shifts:
        # A marker ends where the text, and its macro where the source, is so many characters further.
        end, grown = until - distance, distance - ahead
        start = source.rindex("{{", place, until)
        known = text[given : start - ahead]
        here = source_at(text, start - ahead) or first_source(text)
        macro = source[start:until]
        pieces += (known, macro if here is None else traced(macro, here))
        given, place, ahead = end, until, ahead + grown
    return joined("", (*pieces, text[given:]))
