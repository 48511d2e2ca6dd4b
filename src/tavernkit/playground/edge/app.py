"""The web application: wiring, and nothing else."""

from __future__ import annotations

from uuid import UUID

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tavernkit import __version__
from tavernkit.playground.base.database.errors import DatabaseBusyError, StorageFullError, is_without_room
from tavernkit.playground.base.languages import Sentence
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.models_api.errors import UNEXPECTED, EndpointError, error_answer, is_below
from tavernkit.playground.edge.routes import ROUTES
from tavernkit.playground.edge.web.address_limits import AddressLimits
from tavernkit.playground.edge.web.assets import STATIC_URL, HashedFiles
from tavernkit.playground.edge.web.language import LanguageMiddleware
from tavernkit.playground.edge.web.requests import (
    API_PREFIX,
    FAILED,
    TITLES,
    SignedOutError,
    problem,
    refusal,
    to_sign_in,
)
from tavernkit.playground.edge.web.security import SecurityMiddleware, add_security_headers, plain_answer
from tavernkit.values import Json

NO_ROUTE = {
    404: _("There is nothing at this address. See the API documentation."),
    405: _("This address does not accept this method. See the API documentation."),
}
NO_PAGE = {
    404: _("This page does not exist. Check the address."),
    405: _("This page does not accept this kind of request."),
}
KEPT_OUT = {421: "wrong_host", 403: "forbidden"}


def create_app(runtime: Runtime, owner_id: UUID) -> FastAPI:
    """The pages of a running application, for the person whose machine this is."""
    app = FastAPI(title="TavernKit Playground", version=__version__, docs_url=None, redoc_url=None)
    app.state.runtime, app.state.owner_id, app.state.reading_limits = runtime, owner_id, AddressLimits()
    settings = runtime.settings
    app.add_middleware(
        SecurityMiddleware, hosts=settings.names, any_address=not settings.is_local, answer=kept_out_answer
    )
    app.add_middleware(LanguageMiddleware)
    app.mount(STATIC_URL, HashedFiles())
    app.routes.extend(ROUTES)
    app.add_exception_handler(HTTPException, error_page)
    app.add_exception_handler(Refused, refused_page)
    app.add_exception_handler(SignedOutError, to_sign_in)
    app.add_exception_handler(StorageFullError, full_page)
    app.add_exception_handler(OSError, unwritten_page)
    app.add_exception_handler(DatabaseBusyError, busy_page)
    app.add_exception_handler(Exception, unexpected_page)
    app.add_exception_handler(RequestValidationError, unreadable_page)
    return app


def kept_out_answer(path: str, status: int, sentence: str) -> Response:
    """What somebody is told who is kept out before any route is asked."""
    code = KEPT_OUT.get(status, "refused")
    if is_below(path):
        return EndpointError(status, sentence, code=code).response()
    if _is_for_programs(path):
        return _json(status, code, sentence)
    return plain_answer(path, status, sentence)


async def error_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = error.detail if isinstance(error, HTTPException) else UNEXPECTED
    if not _is_for_programs(request.url.path):
        # What the framework says itself is a few words of English.
        shown = sentence if isinstance(sentence, Sentence) else NO_PAGE.get(status, sentence)
        return _answer(request, error, status, "refused", shown)
    if status == 400:
        # The framework's, about a body that is not even text.
        return _json(422, "invalid", _("The request cannot be read. Check its body."))
    return _json(status, "not_found" if status == 404 else "refused", NO_ROUTE.get(status, sentence))


async def refused_page(request: Request, error: Exception) -> Response:
    """What a service will not do, said in the form in which it was asked."""
    if is_below(request.url.path) or not isinstance(error, Refused):
        return error_answer(error)
    if _is_for_programs(request.url.path):
        answer: Response = _json(error.status, error.code, error.sentence, error.current)
    else:
        answer = refusal(request, error)
    answer.headers.update(error.headers)
    return answer


async def full_page(request: Request, error: Exception) -> Response:
    return _answer(request, error, 507, "storage_full", str(error))


async def unwritten_page(request: Request, error: Exception) -> Response:
    """For a file, such as one that somebody is sending, for which there is no room."""
    if isinstance(error, OSError) and is_without_room(error):
        return await full_page(request, StorageFullError(error))
    raise error


async def busy_page(request: Request, error: Exception) -> Response:
    answer = _answer(request, error, 503, "database_busy", str(error))
    answer.headers["Retry-After"] = str(DatabaseBusyError.retry_after_seconds)
    return answer


async def unexpected_page(request: Request, error: Exception) -> Response:
    """For what nobody was ready for. The server logs it; this answer is given outside of all that we add to answers."""
    answer = _answer(request, error, 500, "internal_error", UNEXPECTED)
    add_security_headers(answer.headers)
    return answer


async def unreadable_page(request: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    fields = ", ".join(".".join(map(str, item["loc"])) for item in problems)
    sentence = (
        _("The request cannot be read. Check {fields}.", fields=fields)
        if fields
        else _("The request cannot be read. Check its form.")
    )
    return _answer(request, error, 422, "invalid", sentence)


def _answer(request: Request, error: Exception, status: int, code: str, sentence: str) -> Response:
    """The sentence in the form in which somebody asked: as a page, as JSON, or as the models' endpoint says it."""
    if is_below(request.url.path):
        return error_answer(error)
    if _is_for_programs(request.url.path):
        return _json(status, code, sentence)
    return problem(request, status, sentence, title=TITLES.get(status, FAILED))


def _is_for_programs(path: str) -> bool:
    return path.startswith(f"{API_PREFIX}/")


def _json(status: int, code: str, sentence: str, current: Json = None) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "sentence": sentence, "current": current}}, status)
