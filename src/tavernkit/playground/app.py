"""The web application: wiring, and nothing else."""

from __future__ import annotations

from collections import deque
from uuid import UUID

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from tavernkit import __version__
from tavernkit.playground.accounts.routes import router as accounts
from tavernkit.playground.api.router import PREFIX, api_router
from tavernkit.playground.artifacts.routes import router as artifacts
from tavernkit.playground.characters.routes import router as characters
from tavernkit.playground.conversations.routes import router as conversations
from tavernkit.playground.conversations.tree_routes import router as tree
from tavernkit.playground.database.errors import DatabaseBusyError, StorageFullError, is_without_room
from tavernkit.playground.health import health
from tavernkit.playground.home.routes import router as home
from tavernkit.playground.lorebooks.panel_routes import router as lore_tab
from tavernkit.playground.lorebooks.routes import router as lorebooks
from tavernkit.playground.members.routes import router as members_tab
from tavernkit.playground.messages.routes import router as messages
from tavernkit.playground.models_api.api import router as models
from tavernkit.playground.models_api.errors import UNEXPECTED, EndpointError, error_answer, is_below
from tavernkit.playground.outcome import Refused
from tavernkit.playground.personas.routes import router as personas
from tavernkit.playground.pipelines.dry_run_routes import router as dry_runs
from tavernkit.playground.pipelines.panel_routes import router as pipelines_tab
from tavernkit.playground.pipelines.routes import router as pipelines
from tavernkit.playground.presets.routes import router as presets
from tavernkit.playground.providers.routes import router as providers
from tavernkit.playground.runs.page_routes import router as turns
from tavernkit.playground.runs.record_routes import router as records
from tavernkit.playground.runs.routes import router as runs
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.settings.routes import router as settings_tab
from tavernkit.playground.spaces.routes import router as spaces
from tavernkit.playground.web.assets import STATIC_URL, HashedFiles
from tavernkit.playground.web.bodies import GuardedRoute, guarded
from tavernkit.playground.web.requests import FAILED, TITLES, SignedOutError, problem, refusal, to_sign_in
from tavernkit.playground.web.security import SecurityMiddleware, add_security_headers, plain_answer
from tavernkit.values import Json

NO_ROUTE = {
    404: "There is nothing at this address. The documentation of the API names those that there are.",
    405: "This address does not take requests of this method. The documentation of the API names those it takes.",
}
KEPT_OUT = {421: "wrong_host", 403: "forbidden"}


def _routes() -> list[BaseRoute]:
    """All routes. They take longer to make than all the rest of an application, and say the same in each."""
    router = APIRouter(route_class=GuardedRoute)
    pages = (accounts, home, conversations, characters, providers, messages, runs, turns, lorebooks, presets, personas)
    tabs = (members_tab, settings_tab, lore_tab, pipelines_tab, records, tree, spaces)
    for part in (*pages, dry_runs, pipelines, artifacts, *tabs, api_router(), models):
        router.include_router(guarded(part))
    router.add_api_route("/health", health)
    # Otherwise the framework makes handlers when the first request looks for one, and everybody waits.
    deque(iter_route_contexts(router.routes), maxlen=0)
    return router.routes


ROUTES = _routes()


def create_app(runtime: Runtime, owner_id: UUID) -> FastAPI:
    """The pages of a running application, for the person whose machine this is."""
    app = FastAPI(title="TavernKit Playground", version=__version__, docs_url=None, redoc_url=None)
    app.state.runtime, app.state.owner_id = runtime, owner_id
    settings = runtime.settings
    app.add_middleware(
        SecurityMiddleware, hosts=settings.names, any_address=not settings.is_local, answer=kept_out_answer
    )
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
    if is_below(request.url.path):
        return error_answer(error)
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = error.detail if isinstance(error, HTTPException) else UNEXPECTED
    if not _is_for_programs(request.url.path):
        return _page(request, status, sentence)
    if status == 400:
        # The framework's, about a body that is not even text.
        return _json(422, "invalid", "The request cannot be read: look at its body.")
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
    if is_below(request.url.path):
        return error_answer(error)
    if _is_for_programs(request.url.path):
        return _json(507, "storage_full", str(error))
    return _page(request, 507, str(error))


async def unwritten_page(request: Request, error: Exception) -> Response:
    """For a file, such as one that somebody is sending, for which there is no room."""
    if isinstance(error, OSError) and is_without_room(error):
        return await full_page(request, StorageFullError(error))
    raise error


async def busy_page(request: Request, error: Exception) -> Response:
    if is_below(request.url.path):
        return error_answer(error)
    if _is_for_programs(request.url.path):
        answer: Response = _json(503, "database_busy", str(error))
    else:
        answer = _page(request, 503, str(error))
    answer.headers["Retry-After"] = str(DatabaseBusyError.retry_after_seconds)
    return answer


async def unexpected_page(request: Request, error: Exception) -> Response:
    """For what nobody was ready for. The server logs it; this answer is given outside of all that we add to answers."""
    if is_below(request.url.path):
        answer: Response = error_answer(error)
    elif _is_for_programs(request.url.path):
        answer = _json(500, "internal_error", UNEXPECTED)
    else:
        answer = _page(request, 500, UNEXPECTED)
    add_security_headers(answer.headers)
    return answer


async def unreadable_page(request: Request, error: Exception) -> Response:
    if is_below(request.url.path):
        return error_answer(error)
    fields = (
        [".".join(map(str, item["loc"])) for item in error.errors()]
        if isinstance(error, RequestValidationError)
        else []
    )
    sentence = f"The request cannot be read: look at {', '.join(fields) or 'its form'}."
    return _json(422, "invalid", sentence) if _is_for_programs(request.url.path) else _page(request, 422, sentence)


def _is_for_programs(path: str) -> bool:
    return path.startswith(f"{PREFIX}/")


def _json(status: int, code: str, sentence: str, current: Json = None) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "sentence": sentence, "current": current}}, status)


def _page(request: Request, status: int, sentence: str) -> Response:
    return problem(request, status, sentence, title=TITLES.get(status, FAILED))
