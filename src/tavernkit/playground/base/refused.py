"""What a service raises when it will not do what was asked."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from tavernkit.playground.base.languages import gettext as _
from tavernkit.values import Json

T = TypeVar("T")

STATUS_OF = {
    "blank": 422,
    "too_long": 422,
    "too_large": 413,
    "invalid": 422,
    "not_found": 404,
    "forbidden": 403,
    "copilot_blocked": 403,
    "signed_out": 401,
    "wrong_password": 401,
    "too_many_tries": 429,
    "taken": 409,
    "stale": 409,
    "conflict": 409,
    "nothing_to_keep": 409,
    "nothing_to_retry": 409,
    "generation_locked": 423,
}
"""What the codes mean to HTTP; a code that is not here is a 404."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a defect
    """Nothing was changed: the transaction that it is raised in rolls back.

    `code` is for programs, `sentence` for the person who asked, in whose language pages show it; `current` is how
    things are now, as JSON or as a model of it, where somebody has changed them since they were read; `retry_after`
    says in how many seconds it is worth asking again.
    """

    def __init__(self, code: str, sentence: str, *, current: Json = None, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.retry_after = code, sentence, retry_after
        self.current = current.model_dump(mode="json") if isinstance(current, BaseModel) else current

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def status(self) -> int:
        return STATUS_OF.get(self.code, 404)


def not_found(what: str) -> Refused:
    """It is not there, or it is somebody else's, which is the same to who asks."""
    return Refused("not_found", _("This {what} does not exist, or it belongs to somebody else.", what=what))


def existing(value: T | None, what: str) -> T:
    """What was looked for; where there is nothing, a refusal."""
    if value is None:
        raise not_found(what)
    return value


def stale(what: str, current: Json) -> Refused:
    """Somebody has changed it since it was read."""
    return Refused(
        "stale",
        _("The {what} was changed in the meantime. Check the current version, then change it again.", what=what),
        current=current,
    )
