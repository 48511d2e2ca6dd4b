"""Story strings are Handlebars templates: rendered by Handlebars itself inside QuickJS, with limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from tavernkit.prompt.parts import Span, joined, sourced, spans_of
from tavernkit.prompt.sources import AnySource
from tavernkit.prompt.tracing import answered, first_source, traced, trail_of
from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.text.js_engine import EngineError, JsEngine, ThreadEngine, TimeUpError
from tavernkit.values import Json

MAX_TEMPLATE = 100_000
MAX_OUTPUT = 16_000_000
"""Characters of the template, and of the rendered text."""
MEMORY_LIMIT = 128 * 1024 * 1024
SECONDS = 2.0
MOST_MACROS = 1000

_PARSE_ERROR = re.compile(r"Parse error on line (\d+):\n(.*)\n(-*)\^\nExpecting .*, got '(\w+)'", re.DOTALL)
_PLACE = re.compile(r" - (\d+):\d+$")
_REASONS = {
    "EOF": "it ends while a block is open",
    "OPEN_ENDBLOCK": "a block is closed here that was never opened",
    "INVERSE": "a block is divided here that was never opened, or a second time",
    "OPEN_INVERSE_CHAIN": "a block is divided here that was never opened, or a second time",
    "CLOSE": "a tag is empty or ends too early",
}


def render_story(template: str, values: Mapping[str, str], expand: Callable[[str], str]) -> str:
    """Render a template without escaping anything.

    A name that is no value and no helper is expanded as a macro. `{{trim}}` is left for whoever expands the macros of
    the result. Raises InvalidContextTemplateError.
    """
    if len(template) > MAX_TEMPLATE:
        raise InvalidContextTemplateError(f"The story string is longer than {MAX_TEMPLATE:,} characters. Shorten it.")
    filled = frozenset(name for name, text in values.items() if text)
    parts = parts_of_story(str(template), frozenset(values), filled)
    source = first_source(template)
    if parts is None:
        text = _rendered(template, values, expand)
    elif source is None:
        text = joined(
            "", (part if is_text else values.get(part) or expand(f"{{{{{part}}}}}") for is_text, part in parts)
        )
    else:
        text = joined(
            "",
            (
                traced(part, source)
                if is_text
                else answered(values[part], part, (), source)
                if values.get(part)
                else expand(traced(f"{{{{{part}}}}}", source))
                for is_text, part in parts
            ),
        )
    if len(text) > MAX_OUTPUT:
        raise InvalidContextTemplateError(
            f"The story string would become longer than {MAX_OUTPUT:,} characters. Name its values less often."
        )
    return text


@lru_cache(maxsize=64)
def parts_of_story(template: str, names: frozenset[str], filled: frozenset[str]) -> Sequence[tuple[bool, str]] | None:
    """The texts of a template, and between them the names whose values or macros stand there; None for one that reads
    more of its values than whether they are empty."""
    mark = _mark((template,))
    marked = {name: f"{mark}{name}{mark}" if name in filled else "" for name in names}
    text = _call("renderMarked", template, marked, mark)
    if not isinstance(text, str):
        return None
    return [(place % 2 == 0, part) for place, part in enumerate(text.split(mark)) if part]


def _rendered(template: str, values: Mapping[str, str], expand: Callable[[str], str]) -> str:
    answers: list[str] = []
    plain = {name: str(value) for name, value in values.items()}
    for _ in range(MOST_MACROS + 1):
        outcome = _call("render", str(template), plain, answers)
        match outcome:
            case {"text": str(text)}:
                source = first_source(template)
                found = text if source is None else traced(text, source)
                return _with_parts(found, str(template), values, answers)
            case {"wanted": str(name)}:
                answers.append(str(expand(f"{{{{{name}}}}}")))
    raise InvalidContextTemplateError(f"The story string has more than {MOST_MACROS} macros. Use fewer.")


def _with_parts(text: str, template: str, values: Mapping[str, str], answers: Sequence[str]) -> str:
    """The rendered text with the parts of its values.

    It is rendered once more with marks around them. Where a template has looked at them so that something else came of
    it, what stands in the text only once is known.
    """
    known = {name: value for name, value in values.items() if spans_of(value) or trail_of(value)}
    if not known:
        return text
    mark = _mark((template, *values.values(), *answers))
    marked = {name: f"{mark}{value}{mark}" if name in known else str(value) for name, value in values.items()}
    # Of two values that say the same, the one with lore counts.
    by_text = {str(value): value for value in sorted(known.values(), key=lambda value: bool(spans_of(value)))}
    source = first_source(text)
    match _call("render", template, marked, answers):
        case {"text": str(found)} if found.replace(mark, "") == text:
            pieces = found.split(mark)
            written = pieces if source is None else [traced(piece, source) for piece in pieces]
            return joined("", (by_text.get(piece, piece) for piece in written))
    spans: list[Span] = []
    for value in by_text.values():
        for start, end, origin in spans_of(value):
            said = str(value)[start:end]
            if text.count(said) == 1:
                at = text.index(said)
                spans.append((at, at + len(said), origin))
    spans.sort(key=lambda span: span[0])
    if source is not None:
        text = _with_values(text, by_text, source)
    return sourced(text, [span for place, span in enumerate(spans) if not place or span[0] >= spans[place - 1][1]])


def _with_values(text: str, by_text: Mapping[str, str], source: AnySource) -> str:
    """The text, in which the values that stand in it only once keep their sources, and the rest is the template's."""
    places = sorted((text.index(value), value) for value in by_text if text.count(value) == 1)
    pieces: list[str] = []
    at = 0
    for start, value in places:
        if start >= at:
            pieces += (traced(str(text)[at:start], source), by_text[value])
            at = start + len(value)
    return joined("", (*pieces, traced(str(text)[at:], source)))


def _mark(texts: Sequence[str]) -> str:
    """A text that is in none of the others."""
    mark = "\ue000"
    while any(mark in text for text in texts):
        mark += "\ue000"
    return mark


def _handlebars_engine() -> JsEngine:
    folder = files(__package__)
    handlebars = folder.joinpath("handlebarsjs", "handlebars.min.js").read_text(encoding="utf-8")
    ours = folder.joinpath("story_template.js").read_text(encoding="utf-8")
    return JsEngine(handlebars, ours, memory=MEMORY_LIMIT)


_engines = ThreadEngine(_handlebars_engine)


def _call(verb: str, *arguments: Json) -> Json:
    try:
        answer = _engines.get().call(object, verb, *arguments, limit=SECONDS)
    except EngineError as error:
        _engines.discard()
        used_up = "time" if isinstance(error, TimeUpError) else "memory"
        raise InvalidContextTemplateError(f"The story string takes too much {used_up}. Make it simpler.") from None
    match answer:
        case {"error": str(message)}:
            raise _problem(message)
    return answer


def _problem(message: str) -> InvalidContextTemplateError:
    if parse_error := _PARSE_ERROR.match(message):
        line, excerpt, before, token = parse_error.groups()
        near = excerpt[len(before) :][:20]
        place = f" in line {line} at {near!r}" if near else f" in line {line}"
        reason = _REASONS.get(token, "this is not expected here")
    else:
        first = message.split("\n", 1)[0].rstrip(".")
        found = _PLACE.search(first)
        place = f" in line {found[1]}" if found else ""
        reason = _PLACE.sub("", first) or "a value takes no arguments"
    return InvalidContextTemplateError(f"The story string cannot be read{place}: {reason}.")
