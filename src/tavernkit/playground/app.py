"""The web application: wiring, and nothing else."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from tavernkit import __version__
from tavernkit.playground.config import Settings
from tavernkit.playground.conversations.routes import router as conversations
from tavernkit.playground.runs.routes import router as runs
from tavernkit.playground.runs.worker import Worker
from tavernkit.playground.runtime import Models, open_runtime
from tavernkit.playground.seeding import seed
from tavernkit.playground.web.assets import STATIC_URL, HashedFiles
from tavernkit.playground.web.rendering import render
from tavernkit.playground.web.security import SecurityMiddleware

__all__ = ["create_app", "worker_name"]

TITLES = {404: "Not here", 403: "Not allowed", 405: "Not like this", 422: "That cannot be read"}


def create_app(settings: Settings, *, models: Models | None = None) -> FastAPI:
    """The application; `models` stands in for the real model clients in tests."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_runtime(settings, models=models) as runtime:
            owner = await seed(runtime)
            app.state.runtime, app.state.owner_id = runtime, owner.id
            worker = Worker(runtime, worker_name())
            working = [asyncio.create_task(worker.run())] if settings.worker == "embedded" else []
            try:
                yield
            finally:
                runtime.stopping.set()
                worker.stop()
                await asyncio.gather(*working)

    app = FastAPI(title="TavernKit Playground", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(SecurityMiddleware, hosts=(settings.host,))
    app.mount(STATIC_URL, HashedFiles())
    app.include_router(conversations)
    app.include_router(runs)
    app.add_api_route("/health", health)
    app.add_exception_handler(HTTPException, error_page)
    app.add_exception_handler(RequestValidationError, unreadable_page)
    return app


async def health() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


async def error_page(_: Request, error: Exception) -> HTMLResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = error.detail if isinstance(error, HTTPException) else "Something went wrong."
    return _page(status, sentence)


async def unreadable_page(_: Request, error: Exception) -> HTMLResponse:
    fields = (
        [".".join(map(str, item["loc"])) for item in error.errors()]
        if isinstance(error, RequestValidationError)
        else []
    )
    return _page(422, f"The request cannot be read: look at {', '.join(fields) or 'its form'}.")


def _page(status: int, sentence: str) -> HTMLResponse:
    html = render("error.html", status=status, title=TITLES.get(status, "That did not work"), sentence=sentence)
    return HTMLResponse(str(html), status_code=status)


def worker_name() -> str:
    """Where a run is being carried out, for whoever looks at it later."""
    return f"{socket.gethostname()}:{os.getpid()}"[:100]
