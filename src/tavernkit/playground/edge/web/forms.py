"""What browsers send in forms, on its way to the services."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Form
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

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
        first = error.errors()[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        message = first["msg"][:1].lower() + first["msg"][1:]
        raise Refused(code="invalid", sentence=f"Look at the {field} again: {message}.") from None


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
    raise Refused(code="invalid", sentence=f"{name} is a whole number from {least:,} to {most:,}.")


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


def saved_streams(field: str, version: int, moment: datetime | None = None) -> Markup:
    """What a form learns when it was saved: the version that it is filled in from now, and when that was."""
    streams = stream("replace", "seen_version", render("_seen_version.html", field=field, version=version))
    return streams if moment is None else streams + stream("update", "saved", render("_saved.html", moment=moment))
