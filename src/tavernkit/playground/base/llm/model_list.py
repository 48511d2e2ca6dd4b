"""Reading the models that a server says it has."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.playground.base.llm.completion import listed
from tavernkit.reading import LooseObject, ReportBuilder, parse_json

LONGEST_NAME = 200
MOST_MODELS = 5000


def read_models(source: bytes, chosen: Callable[[list[LooseObject]], list[LooseObject]]) -> tuple[str, ...] | None:
    """The names of those that are chosen from the list, however it is wrapped; None for what is no list.

    Raises ParseError for what is not JSON.
    """
    body = parse_json(source, what="The list")
    if isinstance(body, dict):
        wrapped = LooseObject(body, ReportBuilder()).raw("data", "models")
        body = [] if wrapped is None and "object" in body else wrapped
    if not isinstance(body, list):
        return None
    names = [_name(model) for model in chosen(listed(body[:MOST_MODELS]))]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST_NAME and name.isprintable()))


def _name(model: LooseObject) -> str:
    return model.text("id", "name").removeprefix("models/")
