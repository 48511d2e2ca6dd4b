"""Sentences that are written in English and shown in the reader's language.

`_("{name} is not here.", name=name)` is the English sentence, a string, which still knows its template and values.
Programs and logs get it as it is; pages show `translated(sentence)`, which templates do by themselves. A value may be a
sentence too. Numbers are written as the language groups them; what is no amount, such as a port, is passed as a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from typing import Any

from babel.dates import format_datetime
from babel.numbers import get_decimal_symbol, get_group_symbol

from tavernkit.playground.base.languages.catalogues import ENGLISH, LANGUAGES, catalogue
from tavernkit.values import Json

# `{name}` is a place for a value; `{{char}}` is a macro that somebody reads about.
_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def current_language() -> str:
    """The language of whoever is answered."""
    return _language.get()


def use_language(language: str) -> None:
    """Answer in this language, as far as the request or the task goes; one that we do not speak changes nothing."""
    if language in LANGUAGES:
        _language.set(language)


class Sentence(str):
    """A sentence of the interface: in English as a string, and in any language by `translated`."""

    template: str
    plural: str | None
    values: Mapping[str, object]

    __slots__ = ("plural", "template", "values")

    def __new__(cls, template: str, plural: str | None, values: Mapping[str, object]) -> Sentence:
        english = plural if plural is not None and values.get("count") != 1 else template
        sentence = super().__new__(cls, filled_in(english, values, ENGLISH))
        sentence.template, sentence.plural, sentence.values = template, plural, values
        return sentence

    def __reduce__(self) -> tuple[type[Sentence], tuple[str, str | None, Mapping[str, object]]]:
        return Sentence, (self.template, self.plural, self.values)


def gettext(template: str, /, **values: object) -> Sentence:
    """A sentence with its values. Import it as `_`: that is how sentences are found for the catalogues."""
    return Sentence(template, None, values)


def ngettext(one: str, many: str, /, count: int, **values: object) -> Sentence:
    """A sentence about `{count}` things, whose form follows from the number."""
    return Sentence(one, many, {"count": count, **values})


def translated(text: str, language: str | None = None) -> str:
    """A sentence in the language of whoever is answered, or in another one; any other text is left as it is."""
    if not isinstance(text, Sentence):
        return text
    language = language or current_language()
    if language == ENGLISH:
        return str(text)
    return filled_in(template_in(language, text), text.values, language)


def template_in(language: str, sentence: Sentence) -> str:
    """The template of a sentence in a language, in the form for its number; English, where nobody has translated it."""
    count = sentence.values.get("count") if sentence.plural is not None else None
    if language != ENGLISH:
        form = catalogue(language).form(sentence.template, count if isinstance(count, int) else None)
        if form is not None:
            return form
    return sentence.template if sentence.plural is None or count == 1 else sentence.plural


def filled_in(template: str, values: Mapping[str, object], language: str) -> str:
    """The template with its values in their places; a place that nobody has given a value for stays as it is."""
    if "{" not in template:
        return template
    return _PLACE.sub(lambda place: written(values[place[1]], language) if place[1] in values else place[0], template)


def written(value: object, language: str) -> str:
    """A value as a language writes it."""
    match value:
        case bool():
            return str(value)
        case int() | float():
            # Babel would round, and cannot write every number.
            return f"{value:,}".removesuffix(".0").translate(_separators(language))
        case datetime():
            return format_datetime(value, "medium", locale=language.replace("-", "_"))
        case str():
            return translated(value, language)
        case _:
            return str(value)


def sentence_of(error: BaseException) -> str:
    """What an error says: the sentence that it was raised with, if it was one, since `str(error)` is only English."""
    said = error.args[0] if error.args else None
    return said if isinstance(said, Sentence) else str(error)


def listed(items: Sequence[str]) -> str:
    """One sentence that lists these, each of which may be one."""
    if len(items) < 2:
        return items[0] if items else ""
    # By halves, so that a long list is not deep.
    middle = len(items) // 2
    return gettext("{before}, {item}", before=listed(items[:middle]), item=listed(items[middle:]))


@cache
def _separators(language: str) -> Mapping[int, str]:
    locale = language.replace("-", "_")
    return {ord(","): get_group_symbol(locale), ord("."): get_decimal_symbol(locale)}


def stored(code: str, text: str) -> dict[str, Any]:
    """What went wrong, as it is kept in a row: in English for programs, and so that it can be translated when shown."""
    error: dict[str, Any] = {"code": code, "message": str(text)}
    if isinstance(text, Sentence):
        error["sentence"] = _as_json(text)
    return error


def stored_sentence(error: Mapping[str, Any]) -> str:
    """The sentence of what `stored` has made."""
    kept = error.get("sentence")
    return _from_json(kept) if isinstance(kept, dict) else str(error["message"])


def _as_json(value: object) -> Json:
    match value:
        case Sentence():
            values = {name: _as_json(inner) for name, inner in value.values.items()}
            return {"template": value.template, "plural": value.plural, "values": values}
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _from_json(kept: Mapping[str, Any]) -> Sentence:
    values = {name: _from_json(value) if isinstance(value, dict) else value for name, value in kept["values"].items()}
    return Sentence(kept["template"], kept["plural"], values)
