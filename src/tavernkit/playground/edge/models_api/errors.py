"""Errors in the shape that programs for OpenAI's API know: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from tavernkit.playground.base.database.errors import DatabaseBusyError, StorageFullError
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused

PREFIX = "/v1"
UNEXPECTED = _("An internal error occurred. The log of the server has the details.")

_STATUS_OF = {422: 400, 423: 409}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 499: "request_cancelled"}
_NO_ROUTE = {
    404: "There is nothing at this address. A base URL ends in /v1, and behind it there are /models and "
    "/chat/completions.",
    405: "This address does not take requests of this method.",
}


class ErrorShape(BaseModel):
    """Why there is no answer."""

    message: str = Field(description="For people: what was wrong and what to do.")
    type: str
    param: str | None = None
    code: str | None = Field(default=None, description="For programs.")


class ErrorOut(BaseModel):
    error: ErrorShape


class EndpointError(HTTPException):
    """Why there is no answer. With `is_final`, programs are told not to ask again by themselves: it has been tried."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        is_final: bool = False,
        retry_after: int | None = None,
    ) -> None:
        # The first header is what OpenAI's own libraries look for before they send a request again.
        headers = {"x-should-retry": "false"} if is_final else {}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        super().__init__(status, message, headers=headers)
        self.message = message
        self.code = code
        self.param = param

    @property
    def body(self) -> dict[str, Any]:
        status = self.status_code
        kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status_code, headers=self.headers)


def is_below(path: str) -> bool:
    """Whether an address is one of this endpoint's."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def error_answer(error: Exception) -> JSONResponse:
    """The answer to a request that a route, or the framework before it, has refused."""
    return error_of(error).response()


def error_of(error: Exception) -> EndpointError:
    match error:
        case EndpointError():
            return error
        case Refused():
            status = _STATUS_OF.get(error.status, error.status)
            code = "invalid_api_key" if status == 401 else error.code
            return EndpointError(status, error.sentence, code=code, retry_after=error.retry_after)
        case RequestValidationError():
            return _unreadable(error)
        case DatabaseBusyError():
            return EndpointError(503, str(error), code="database_busy", retry_after=error.retry_after_seconds)
        case StorageFullError():
            return EndpointError(507, str(error), code="storage_full", is_final=True)
        case StarletteHTTPException(status_code=400):
            # The framework's, about a body that is not even text.
            return EndpointError(400, "The body of the request cannot be read. It has to be JSON.", code="invalid")
        case StarletteHTTPException():
            status = error.status_code
            code = "not_found" if status == 404 else "refused"
            return EndpointError(status, _NO_ROUTE.get(status, str(error.detail)), code=code)
        case _:
            return EndpointError(500, UNEXPECTED, code="internal_error")


def documented_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says about the errors of a route."""
    return {status: {"model": ErrorOut} for status in statuses}


def _unreadable(error: RequestValidationError) -> EndpointError:
    first: Mapping[str, Any] = next(iter(error.errors()), {})
    where = [str(part) for part in first.get("loc", ())][1:]
    if first.get("type") == "json_invalid":
        return EndpointError(400, "The body of the request is not JSON.", code="invalid")
    if not where:
        return EndpointError(400, "The body of the request has to be a JSON object, sent as JSON.", code="invalid")
    own = first.get("ctx", {}).get("error")
    reason = str(own) if isinstance(own, ValueError) else f"{first.get('msg', 'it cannot be read')}."
    param = ".".join(where)
    return EndpointError(400, f"Look at {param}: {reason}", code="invalid", param=param)
