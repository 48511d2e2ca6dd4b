"""The inputs of a build before any stage sees them: each is of its kind, or gets a sentence that names it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tavernkit.characters.character import Bundle, Character, CharacterCard, User
from tavernkit.history import wrap
from tavernkit.lore.book import Book
from tavernkit.prompt.message import Attachment
from tavernkit.reading import Imported, ImportReport
from tavernkit.values import check_fields


class _Wanted(NamedTuple):
    """What an input must be: of a type, or something that has these attributes."""

    words: str
    kind: type | tuple[type, ...] = object
    attributes: tuple[str, ...] = ()

    def fits(self, value: object) -> bool:
        return isinstance(value, self.kind) and all(hasattr(value, name) for name in self.attributes)


_REQUIRED = ("message", "attachments", "books", "keep_user_message", "generation_type", "strict", "reports")
"""The inputs that cannot be None: leave one out instead."""

_BOOK = _Wanted("a Book, or what read_book gives", Book)
_ATTACHMENT = _Wanted("an Attachment", Attachment)
_REPORT = _Wanted("an ImportReport", ImportReport)
_WANTED: Mapping[str, _Wanted] = {
    "character": _Wanted("a Character, a card, or what load gives", Character),
    "user": _Wanted("a User, such as User(name='Robin')", User),
    "history": _Wanted("a ChatHistory or a list of messages", Iterable),
    "message": _Wanted("text", str),
    "attachments": _Wanted("a list of attachments", Iterable),
    "preset": _Wanted(
        "a preset, such as BudgetPreset() or what read_preset gives",
        attributes=("context_window_tokens", "reserved_response_tokens", "max_prompt_tokens"),
    ),
    "books": _Wanted("a list of books", Iterable),
    "lore_engine": _Wanted("a LoreEngine, such as PlainLore()", attributes=("scan",)),
    "trim_strategy": _Wanted("text", str),
    "keep_user_message": _Wanted("True or False", bool),
    "generation_type": _Wanted("text", str),
    "model": _Wanted("the name of a model", str),
    "variables": _Wanted(
        "a VariablesStore, such as Variables()",
        attributes=("version", "get", "set", "has", "delete", "add", "snapshot"),
    ),
    "estimator": _Wanted("a TokenEstimator", attributes=("estimate",)),
    "hooks": _Wanted(
        "a HookRegistry, such as BuildHooks()",
        attributes=("run_before_build", "run_before_trimming", "run_after_build"),
    ),
    "injections": _Wanted(
        "an InjectionRegistry, such as Injections()", attributes=("register", "remove", "__iter__", "ephemeral_ids")
    ),
    "clock": _Wanted("a function that gives a datetime", attributes=("__call__",)),
    "rng": _Wanted("a random.Random", random.Random),
    "ids": _Wanted("a function that gives a new id", attributes=("__call__",)),
    "strict": _Wanted("True or False", bool),
    "instrumenter": _Wanted("a function of an event", attributes=("__call__",)),
    "warning_handler": _Wanted("a function of a BuildWarning", attributes=("__call__",)),
    "metadata": _Wanted("a mapping", Mapping),
    "reports": _Wanted("a list of import reports", Iterable),
}

_CHECKED = (Character, User)
"""The values whose fields are looked at, too."""

_FITTING: set[tuple[str, type]] = set()
"""The inputs with the types of values that have been found to fit: what fits once always does."""


def taken(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[ImportReport, ...]]:
    """The inputs as stages want them, and the reports of those that were read from files.

    Raises TypeError or ValueError that names the input where one is none of a build, or not what it must be.
    """
    reports: list[ImportReport] = []
    settled = {name: unpacked(value, reports) for name, value in inputs.items()}
    for name, value in settled.items():
        kind = type(value)
        if (name, kind) not in _FITTING and name in _WANTED and (value is not None or name in _REQUIRED):
            check_input(name, value, _WANTED[name])
            _FITTING.add((name, kind))
        if isinstance(value, _CHECKED):
            check_fields(value, name)
    if "history" in settled:
        settled["history"] = _history(settled["history"])
    if "books" in settled:
        settled["books"] = tuple(_items("books", settled["books"], _BOOK, reports))
    if "attachments" in settled:
        settled["attachments"] = tuple(_items("attachments", settled["attachments"], _ATTACHMENT, reports))
    return settled, (*reports, *_items("reports", settled.get("reports", ()), _REPORT, []))


def check_input(name: str, value: object, wanted: _Wanted) -> None:
    """Raise TypeError unless the value is what is wanted of the input with that name."""
    if not wanted.fits(value):
        found = "None" if value is None else f"a {type(value).__name__}"
        raise TypeError(f"{name} must be {wanted.words}, not {found}.")


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise TypeError unless the value of an input is nothing, or of that type."""
    if value is not None and not isinstance(value, kind):
        words = "True or False" if kind is bool else f"a {kind.__name__} of {kind.__module__}"
        check_input(name, value, _Wanted(words, kind))


def unpacked(value: Any, reports: list[ImportReport]) -> Any:
    """The value that a reader has made, whose report joins the others; anything else as it is."""
    match value:
        case Imported():
            reports.append(value.report)
            return unpacked(value.value, reports)
        case Bundle():
            reports.append(value.report)
            return value.card.character
        case CharacterCard():
            return value.character
        case _:
            return value


def _items(name: str, values: Iterable[Any], wanted: _Wanted, reports: list[ImportReport]) -> Iterator[Any]:
    if isinstance(values, str | bytes | Mapping):
        check_input(name, values, _Wanted(f"a list; each of it must be {wanted.words}", ()))
    for place, value in enumerate(values):
        item = unpacked(value, reports)
        check_input(f"{name}[{place}]", item, wanted)
        yield item


def _history(source: Any) -> Any:
    try:
        return wrap(source)
    except TypeError as error:
        raise TypeError(f"history: {error}") from None
    except ValueError as error:
        raise ValueError(f"history: {error}") from None
