"""Reading the models that a server says it has."""

from __future__ import annotations

from tavernkit.playground.base.llm.completion import listed
from tavernkit.reading import LooseObject, ReportBuilder, parse_json

LONGEST_NAME = 200
MOST_MODELS = 5000


def read_models(source: bytes) -> tuple[str, ...] | None:
    """The names in the list, however it is wrapped; None for what is no list. Raises ParseError for what is not JSON.

    Of Google's, only those that write.
    """
    body = parse_json(source, what="The list")
    if isinstance(body, dict):
        wrapped = LooseObject(body, ReportBuilder()).raw("data", "models")
        body = [] if wrapped is None and "object" in body else wrapped
    if not isinstance(body, list):
        return None
    names = [_name(model) for model in listed(body[:MOST_MODELS]) if _writes(model)]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST_NAME and name.isprintable()))


def _name(model: LooseObject) -> str:
    return model.text("id", "name").removeprefix("models/")


def _writes(model: LooseObject) -> bool:
    methods = model.texts("supportedGenerationMethods")
    return not methods or "generateContent" in methods
