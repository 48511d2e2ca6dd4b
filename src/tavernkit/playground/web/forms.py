"""What browsers send in forms, on its way to the services."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ValidationError

from tavernkit.playground.outcome import Refused
from tavernkit.playground.web.rendering import render

__all__ = ["as_lines", "one_newline", "page", "refused_page", "understood", "whole_number"]

M = TypeVar("M", bound=BaseModel)


def understood(model: type[M], **fields: Any) -> M | Refused:
    """The fields as a service takes them, or a sentence about the first that it would not take."""
    try:
        return model(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        message = first["msg"][:1].lower() + first["msg"][1:]
        return Refused(code="invalid", sentence=f"Look at the {field} again: {message}.")


def one_newline(text: str) -> str:
    """The text with one character for each line break, where browsers send two."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_lines(text: str) -> list[str]:
    """The lines that say something."""
    return [line.strip() for line in one_newline(text).split("\n") if line.strip()]


def whole_number(text: str, *, name: str, least: int, most: int) -> int | Refused:
    """A number out of a field, or a sentence that says which would do."""
    number = text.strip()
    digits = number.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 10 and least <= int(number) <= most:
        return int(number)
    return Refused(code="invalid", sentence=f"{name} is a whole number from {least:,} to {most:,}.")


def page(template: str, refused: Refused | None = None, **context: object) -> HTMLResponse:
    """A page, with the status of what was refused on it."""
    return HTMLResponse(str(render(template, **context)), refused.status if refused else 200)


def refused_page(refused: Refused) -> HTMLResponse:
    """A page with nothing but the sentence, for what has no page of its own; Turbo shows it as well."""
    return page("error.html", refused, status=refused.status, title="That did not work", sentence=refused.sentence)
