"""The catalogues: which languages there are, and what a sentence is in each.

English is the language of the source. `messages.pot` lists all its sentences; a `.po` file has them in another
language. `scripts/translations.py` writes both from the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from gettext import c2py
from importlib.resources import files
from typing import IO

from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from tavernkit.values import Value

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "ru": "Русский", "zh-Hans": "简体中文"}
"""By the code that pages declare in `lang`, what each language is called in itself."""

# The spaces are allowed, and some programs write them.
_WISH = re.compile(r"\s*([a-zA-Z]+)(?:-[\w-]*)?\s*(?:;\s*[qQ]\s*=\s*([01](?:\.\d{0,3})?)\s*)?", re.ASCII)


class Catalogue(Value, frozen=True, kw_only=True):
    """The sentences of one language: by the English one (its singular), all forms of it.

    `plural` says which form a number takes. `scripts` are the sentences that the scripts of the pages show.
    """

    forms: Mapping[str, tuple[str, ...]]
    plural: Callable[[int], int]
    scripts: frozenset[str] = frozenset()

    def form(self, sentence: str, count: int | None) -> str | None:
        """The sentence in this language, in the form for a number; None, where nobody has translated it."""
        forms = self.forms.get(sentence)
        if forms is None:
            return None
        # One of too few forms reads oddly; a page that cannot be drawn reads worse.
        return forms[0 if count is None else min(self.plural(abs(count)), len(forms) - 1)]


def forms_of(message: Message) -> tuple[str, ...]:
    """What a catalogue has for a sentence: one form, or one for each kind of number."""
    text = message.string or ""
    return (text,) if isinstance(text, str) else tuple(text)


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language other than English. The first reader of a language waits for some 30 ms."""
    with files(__package__).joinpath(f"{language.replace('-', '_')}.po").open("rb") as file:
        return read_catalogue(file, language)


def read_catalogue(file: IO[bytes], language: str) -> Catalogue:
    """A `.po` file without what is not translated, or not for certain."""
    read = read_po(file, locale=language.replace("-", "_"))
    forms: dict[str, tuple[str, ...]] = {}
    scripts: set[str] = set()
    for message in read:
        if not message.id or message.fuzzy:
            continue
        key = message.id if isinstance(message.id, str) else message.id[0]
        found = forms_of(message)
        if all(found):
            forms[key] = found
        if any(name.startswith("frontend/") for name, _ in message.locations):
            scripts.add(key)
    return Catalogue(forms=forms, plural=c2py(read.plural_expr), scripts=frozenset(scripts))


@cache
def messages_of_scripts(language: str) -> Mapping[str, Sequence[str]]:
    """What the scripts of the pages need to speak a language."""
    if language == ENGLISH:
        return {}
    known = catalogue(language)
    return {key: known.forms[key] for key in sorted(known.scripts) if key in known.forms}


def accepted_language(header: str) -> str:
    """The first language of an `Accept-Language` header that we speak; English, if there is none."""
    spoken = {language.partition("-")[0]: language for language in LANGUAGES}
    found = (_WISH.fullmatch(wish) for wish in header[:1000].split(","))
    wishes = [(float(wish[2] or 1), wish[1].lower()) for wish in found if wish is not None]
    known = [(weight, spoken[name]) for weight, name in wishes if weight > 0 and name in spoken]
    # Of two that are wanted equally, the first one.
    return max(known, key=lambda wish: wish[0], default=(0, ENGLISH))[1]
