"""The parser engines of SillyTavern 1.15 and 1.19, which differ in grammar and macros, and the choice of an engine."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Literal, TypeAlias

from tavernkit.load_hooks import LoadScope
from tavernkit.macros.engine import MacroEnvironment
from tavernkit.prompt.parts import TracedText, joined
from tavernkit.prompt.tracing import substituted
from tavernkit.sillytavern.macros.environment import DynamicMacro, Environment, as_environment
from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.following import TracedExpansion, traced_source
from tavernkit.sillytavern.macros.legacy.engine import LegacyMacros
from tavernkit.sillytavern.macros.legacy.scanning import find_trims
from tavernkit.sillytavern.macros.lexer import Grammar
from tavernkit.sillytavern.macros.nodes import MacroCall, Remarks, Template
from tavernkit.sillytavern.macros.packs import built_in_macros
from tavernkit.sillytavern.macros.packs.condition import ELSE_MARKER
from tavernkit.sillytavern.macros.parser import Parser
from tavernkit.sillytavern.macros.problems import (
    DEFAULT_LIMITS,
    LimitReached,
    MacroLimits,
    MacroProblem,
    ProblemCode,
    ProblemHandler,
)
from tavernkit.sillytavern.macros.registry import MacroDefinition, MacroDefinitions
from tavernkit.values import check_choice

_MAX_TEMPLATES = 1_000
_MAX_CHARACTERS = 8_000_000

_Shift = tuple[int, int]
"""From this place of the rewritten text on, it runs so many characters ahead of the text that was given."""
_MARKER = re.compile(r"<(user|bot|char|group|charifnotgroup)>|\{\{time_(utc[+-][0-9]+)\}\}", re.IGNORECASE | re.ASCII)
_MACROS = {
    "user": "{{user}}",
    "bot": "{{char}}",
    "char": "{{char}}",
    "group": "{{group}}",
    "charifnotgroup": "{{charIfNotGroup}}",
}

Version: TypeAlias = Literal["1.15", "1.19"]
EngineName: TypeAlias = Literal["legacy", "1.15", "1.19"]

MAX_PROBLEMS = 100
MAX_LINKS = 10_000
_Link: TypeAlias = tuple[str, MacroDefinition | None, bool]

_GRAMMARS: dict[Version, Grammar] = {"1.15": Grammar.V1_15, "1.19": Grammar.V1_19}
_ESCAPED_BRACE = re.compile(r"\\([{}])")
_PLACEHOLDER = re.compile(r"\{\{(?!\{)[\s!?~#/>]*(//|[A-Za-z][A-Za-z0-9_-]*)[^{}]*\}\}")


def _registries() -> dict[Version, MacroDefinitions]:
    return {version: MacroDefinitions(built_in_macros(version)) for version in _GRAMMARS}


shared_registries = LoadScope("sillytavern.macros", _registries)
"""By version, the macros that every engine knows; load hooks of this scope may add to each."""


def shared_registry(version: Version) -> MacroDefinitions:
    """The macros that every engine of this version knows: the built-in ones and those of the load hooks."""
    return shared_registries()[version]


def macro_engine(
    name: EngineName = "1.19", *, limits: MacroLimits = DEFAULT_LIMITS, on_problem: ProblemHandler | None = None
) -> ParserMacros | LegacyMacros:
    """The legacy engine, which 1.15 shipped with, or one of the parser engines; the later one is today's default."""
    check_choice("The name of a macro engine", name, EngineName)
    if name == "legacy":
        return LegacyMacros(limits=limits, on_problem=on_problem)
    return ParserMacros(name, limits=limits, on_problem=on_problem)


class ParserMacros:
    """Expands texts as one version of SillyTavern's parser engine does.

    Templates are parsed once and kept by their text. `registry` is the engine's own, in front of the shared one.
    """

    def __init__(
        self,
        version: Version = "1.19",
        *,
        registry: MacroDefinitions | None = None,
        limits: MacroLimits = DEFAULT_LIMITS,
        on_problem: ProblemHandler | None = None,
    ) -> None:
        self.version = version
        self.registry = MacroDefinitions(shared_registry(version)) if registry is None else registry
        self.limits = limits
        self._grammar = _GRAMMARS[version]
        self._on_problem = on_problem
        self._templates = _TemplateCache()
        self._links: dict[tuple[str, int], _Link] = {}
        self._revision = -1

    def expand(self, text: str, environment: MacroEnvironment, *, on_problem: ProblemHandler | None = None) -> str:
        """The text with its macros replaced; the text itself when that would cost too much."""
        if "{{" not in text and "<" not in text:
            return self.finish(text) if "\\" in text else text
        on_problem = on_problem or self._on_problem
        template = self.template(text)
        if not template.parts:
            return ""
        reporter = None if on_problem is None else _Reporter(template, on_problem)
        report = None if reporter is None else reporter.report
        seen = as_environment(environment)
        expansion = (
            TracedExpansion(self, seen, text, report)
            if isinstance(text, TracedText)
            else MacroExpansion(self, seen, text, report)
        )
        try:
            result = expansion.run(template)
        except LimitReached as reached:
            if reporter is not None:
                reporter.report("macro_limit", f"The text was left as it is: {reached}.", "", 0)
            return text
        if reporter is not None:
            reporter.report_template()
            reporter.report_unconsumed(result, self.registry)
        return result

    def template(self, text: str) -> Template:
        """The parsed text, from the cache where it has been seen."""
        revision = self.registry.revision
        if revision != self._revision:
            self._templates.clear()
            self._links.clear()
            self._revision = revision
        template = self._templates.get(text)
        if template is None:
            template = self._parse(str(text))
            self._templates.put(template)
        return template

    def traced_source(self, text: str) -> str:
        """What stands in the place of a text that knows where it comes from when its macros are expanded."""
        return traced_source(self.template(text), text)

    def finish(self, text: str) -> str:
        """What is done to a text after its macros: braces unescaped, `{{trim}}` carried out, stray marks removed."""
        if "\\" in text:
            escaped = text
            text = substituted(_ESCAPED_BRACE, lambda brace: escaped[brace.start(1) : brace.end(1)], text)
        if "{{" in text and "{{trim}}" in text.lower():
            text = _trimmed(text)
        return text.replace(ELSE_MARKER, "") if ELSE_MARKER in text else text

    def dynamic_macros(self, environment: Environment) -> Mapping[str, DynamicMacro]:
        """The environment's own macros by the name that calls compare with."""
        dynamic = environment.dynamic_macros
        if not dynamic or self.registry.case_sensitive:
            return dynamic
        return {
            self.registry.key(name): value
            for name, value in dynamic.items()
            if isinstance(value, str | int | float) or callable(value)
        }

    def link(self, call: MacroCall) -> None:
        """Give a call its macro, and its values where they are known and right already."""
        count = len(call.arguments) + (call.body is not None)
        known = self._links.get((call.name, count)) or self._look_up(call.name, count)
        call.key, definition, call.sound = known
        call.definition = definition
        call.values = None
        if definition is None or definition.delayed or call.body is not None:
            return
        values: list[str] = []
        for argument in call.arguments:
            if argument.plain is None:
                return
            values.append(argument.plain)
        if call.sound or definition.complaint(tuple(values)) is None:
            call.values = tuple(values)

    def _look_up(self, name: str, count: int) -> _Link:
        """The macro of that name, and whether that many arguments are right for it whatever they say."""
        definition = self.registry.get(name)
        sound = definition is not None and (not definition.strict or definition.never_complains_about(count))
        if len(self._links) >= MAX_LINKS:
            self._links.clear()  # names in hostile texts are without end
        link = self._links[name, count] = (self.registry.key(name), definition, sound)
        return link

    def accepts_body(self, call: MacroCall) -> bool:
        return call.definition is None or call.definition.accepts_body(len(call.arguments))

    def _parse(self, text: str) -> Template:
        source, shifts = _rewrite_markers(text)
        if "{{" not in source:
            return Template(text, source, (source,) if source else (), shifts, Remarks())
        parser = Parser(self._grammar, self, self.limits.nesting)
        return Template(text, source, parser.parse(source), shifts, parser.remarks)


def _trimmed(text: str) -> str:
    """Take out each `{{trim}}` with the line breaks around it, in one walk however many there are."""
    kept: list[str] = []
    start = 0
    for call in find_trims(text):
        kept.append(text[start : call.start])
        start = call.end
    return joined("", (*kept, text[start:]))


class _Reporter:
    """Turns what was found into problems, with places counted in the text that was given."""

    def __init__(self, template: Template, on_problem: ProblemHandler) -> None:
        self._template = template
        self._on_problem = on_problem
        self._names: set[str] = set()
        self._left = MAX_PROBLEMS

    def report(self, code: ProblemCode, message: str, name: str, place: int) -> None:
        self._names.add(name.lower())
        self._tell(code, message, name, self._given(place))

    def report_template(self) -> None:
        """What parsing alone has shown."""
        remarks = self._template.remarks
        for place in remarks.broken[:MAX_PROBLEMS]:
            self.report("macro_syntax", "A call opens here that is malformed or has no end.", "", place)
        for place in remarks.deep[:MAX_PROBLEMS]:
            self.report("macro_limit", "Calls are nested too deeply here; they stay as text.", "", place)
        for name, place in remarks.loose[:MAX_PROBLEMS]:
            self.report("unconsumed_macro", f"The tag {name!r} has no partner it could form a block with.", name, place)

    def report_unconsumed(self, result: str, registry: MacroDefinitions) -> None:
        """Placeholders in the finished text that came out of values: they are never read again."""
        if "{{" not in result:
            return
        for match in _PLACEHOLDER.finditer(result):
            name = match[1]
            if name.lower() not in self._names and registry.has(name):
                message = f"The placeholder {name!r} came out of a value and stays as text."
                self._tell("unconsumed_macro", message, name, match.start())

    def _tell(self, code: ProblemCode, message: str, name: str, position: int) -> None:
        if self._left > 0:
            self._left -= 1
            self._on_problem(MacroProblem(code=code, message=message, name=name, position=position))

    def _given(self, place: int) -> int:
        shifts = self._template.shifts
        number = bisect_right(shifts, place, key=lambda shift: shift[0])
        return place - (shifts[number - 1][1] if number else 0)


def _rewrite_markers(text: str) -> tuple[str, tuple[_Shift, ...]]:
    """The text with the old spellings as today's macros, and how far its places have moved."""
    if "<" not in text and "{{time_" not in text.lower():
        return text, ()
    shifts: list[_Shift] = []
    ahead = 0

    def rewrite(match: re.Match[str]) -> str:
        nonlocal ahead
        macro = _MACROS[match[1].lower()] if match[1] else f"{{{{time::{match[2]}}}}}"
        ahead += len(macro) - len(match[0])
        shifts.append((match.end() + ahead, ahead))
        return macro

    return _MARKER.sub(rewrite, text), tuple(shifts)


class _TemplateCache:
    """Keeps templates until there are too many of them or too much text."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._templates: OrderedDict[str, Template] = OrderedDict()
        self._characters = 0

    def get(self, text: str) -> Template | None:
        with self._lock:
            template = self._templates.get(text)
            if template is not None:
                self._templates.move_to_end(text)
            return template

    def put(self, template: Template) -> None:
        if len(template.text) > _MAX_CHARACTERS:
            return
        with self._lock:
            if template.text in self._templates:
                return
            self._templates[template.text] = template
            self._characters += len(template.text)
            while len(self._templates) > _MAX_TEMPLATES or self._characters > _MAX_CHARACTERS:
                oldest, _ = self._templates.popitem(last=False)
                self._characters -= len(oldest)

    def clear(self) -> None:
        with self._lock:
            self._templates.clear()
            self._characters = 0
