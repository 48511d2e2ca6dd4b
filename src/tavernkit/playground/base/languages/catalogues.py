"""The catalogues: which languages there are, and what a sentence is in each.

English is the language of the source. `messages.pot` lists all its sentences; a `.po` file has them in another
language. `scripts/translations.py` writes both from the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from gettext import c2py
from importlib.resources import files

from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from tavernkit.values import Value

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "ru": "Русский", "zh-Hans": "简体中文"}
"""By the code that pages declare in `lang`, what each language is called in itself."""


class Catalogue(Value, frozen=True, kw_only=True):
    """The sentences of one language: by the English one (its singular), all forms of it.

    `plural` says which form a number takes. `scripts` are the sentences that the scripts of the pages show.
    """

    forms: dict[str, tuple[str, ...]]
    plural: Callable[[int], int]
    scripts: frozenset[str] = frozenset()


def forms_of(message: Message) -> tuple[str, ...]:
    """What a catalogue has for a sentence: one form, or one for each kind of number."""
    text = message.string or ""
    return (text,) if isinstance(text, str) else tuple(text)


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language other than English."""
    source = files(__package__).joinpath(f"{language.replace('-', '_')}.po")
    with source.open("rb") as file:
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
def messages_of_scripts(language: str) -> dict[str, Sequence[str]]:
    """What the scripts of the pages need to speak a language."""
    if language == ENGLISH:
        return {}
    known = catalogue(language)
    return {key: known.forms[key] for key in sorted(known.scripts) if key in known.forms}


def accepted_language(header: str) -> str:
    """The first language of an `Accept-Language` header that we speak; English, if there is none."""
    wishes: list[tuple[float, str]] = []
    for wish in header[:1000].split(","):
        name, _, weight = wish.partition(";q=")
        try:
            wishes.append((float(weight or 1), name.strip().lower()))
        except ValueError:
            continue
    spoken = {language.partition("-")[0]: language for language in LANGUAGES}
    names = [name.partition("-")[0] for wanted, name in sorted(wishes, key=lambda wish: -wish[0]) if wanted > 0]
    return next((spoken[name] for name in names if name in spoken), ENGLISH)
