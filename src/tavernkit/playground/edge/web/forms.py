"""What browsers send in forms, on its way to the services."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Form
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticUndefined

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.schemas import derived
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.streams import stream

M = TypeVar("M", bound=BaseModel)

Text = Annotated[str, Form()]
Flag = Annotated[bool, Form()]
Direction = Annotated[Literal["up", "down"], Form()]
Version = Annotated[int, Form(ge=0, le=2**31 - 1)]
"""The version that a form was filled in from."""


def understood(model: type[M], **fields: Any) -> M:
    """The fields as a service takes them, or a sentence about the first that it would not take."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise Refused("invalid", problem_in(error.errors()[0])) from None


FIELDS = {
    "": _("The form"),
    "content": _("Content"),
    "depth": _("Depth"),
    "description": _("Description"),
    "name": _("Name"),
    "position": _("Position"),
    "role": _("Role"),
    "talkativeness": _("Talkativeness"),
    "title": _("Title"),
}
"""What pages call the fields of forms; others are called by their own names."""


def problem_in(problem: ErrorDetails, labels: Mapping[str, str] = FIELDS) -> str:
    """What is wrong with a field, and what it takes, from what pydantic found."""
    name = str(problem["loc"][0]) if problem["loc"] else ""
    field, limits = labels.get(name, name.replace("_", " ")), problem.get("ctx", {})
    match problem["type"]:
        case "missing" | "string_too_short":
            return _("{field} is required.", field=field)
        case "string_too_long":
            return _("{field} must have at most {limit} characters.", field=field, limit=limits["max_length"])
        case "too_long":
            return _("{field} must have at most {limit} items.", field=field, limit=limits["max_length"])
        case "greater_than_equal":
            return _("{field} must be at least {limit}.", field=field, limit=limits["ge"])
        case "greater_than":
            return _("{field} must be more than {limit}.", field=field, limit=limits["gt"])
        case "less_than_equal":
            return _("{field} must be at most {limit}.", field=field, limit=limits["le"])
        case "int_parsing" | "int_parsing_size" | "int_type" | "int_from_float":
            return _("{field} must be a whole number.", field=field)
        case "float_parsing" | "float_type" | "finite_number":
            return _("{field} must be a number.", field=field)
        case "literal_error" | "enum":
            return _("{field} must be one of: {choices}.", field=field, choices=limits["expected"])
        case _:
            return _("{field} is not valid: {reason}.", field=field, reason=problem["msg"])


def typed(cls: type[M]) -> type[M]:
    """Makes of a class below a model the form that people fill in: each field that it inherits is a text in a box."""
    return derived(cls, lambda field: (str, _text(field.get_default())))


def filled_in(form: type[M], row: object) -> M:
    """The form with what a row says in its boxes."""
    return form(**{name: _text(getattr(row, name)) for name in form.model_fields})


def _text(value: object) -> str:
    """A box that can be ticked says `on`."""
    if isinstance(value, bool):
        return "on" if value else ""
    return "" if value is None or value is PydanticUndefined else one_newline(str(value))


def one_newline(text: str) -> str:
    """The text with one character for each line break, where browsers send two."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_lines(text: str) -> list[str]:
    """The lines that say something."""
    return [line.strip() for line in one_newline(text).split("\n") if line.strip()]


def whole_number(text: str, *, name: str, least: int, most: int) -> int:
    """A number out of a field, or a sentence that says which would do."""
    number = text.strip()
    digits = number.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 10 and least <= int(number) <= most:
        return int(number)
    sentence = _("{field} must be a whole number from {least} to {most}.", field=name, least=least, most=most)
    raise Refused("invalid", sentence)


def page(template: str, refused: Refused | None = None, /, **context: object) -> HTMLResponse:
    """A page, with the status of what was refused on it; the template has the sentence about it as `problem`."""
    problem, status = (refused.sentence, refused.status) if refused else ("", 200)
    return HTMLResponse(str(render(template, **{"problem": problem, **context})), status)


def fresh_page(template: str, refused: Refused | None = None, /, **context: object) -> HTMLResponse:
    """A page that no cache keeps: it says who one is, what is over soon, or where the stream of events goes on."""
    response = page(template, refused, **context)
    response.headers.update({"Cache-Control": "no-store", **(refused.headers if refused else {})})
    return response


async def refusal_of(action: Awaitable[object]) -> Refused | None:
    """Do it, and say why it was refused, if it was; what is not there is no matter of the page."""
    try:
        await action
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return refused
    return None


def saved_streams(field: str, version: int | str, moment: datetime | None = None) -> Markup:
    """What a form learns when it was saved: the version that it is filled in from now, and when that was."""
    streams = stream("replace", "seen_version", render("_seen_version.html", field=field, version=version))
    return streams if moment is None else streams + stream("update", "saved", render("_saved.html", moment=moment))
