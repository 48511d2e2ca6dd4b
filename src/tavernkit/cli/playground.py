"""`tavernkit serve`, `worker` and `db`: the application. It is imported only when one of them is called."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tavernkit.cli.errors import CHECK_FAILED, UsageError
from tavernkit.cli.groups import command_group
from tavernkit.cli.output import JsonOption, emit

if TYPE_CHECKING:
    from tavernkit.playground.config import Settings

__all__ = ["database", "serve", "worker"]

database = command_group("db", "Look after the application's database.")


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 unless set otherwise.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on; 8420 unless set otherwise.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the application, with a worker, until it is stopped.

    The database is brought up to date first, and an empty one gets an example. Settings come from the environment.
    """
    with _application():
        from tavernkit.playground import server

        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        server.serve(_settings(**given), lambda address: _ready("TavernKit is at", address, as_json=as_json))


def worker(as_json: JsonOption = False) -> None:
    """Generate replies for an application that runs elsewhere on the same database."""
    with _application():
        from tavernkit.playground import server

        asyncio.run(server.work(_settings(), lambda name: _ready("Working as", name, as_json=as_json)))


@database.command("upgrade")
def upgrade(as_json: JsonOption = False) -> None:
    """Bring the database up to date; nothing happens to one that is."""
    with _application():
        from tavernkit.playground.database import migrate

        url = _settings().resolved_database_url
        asyncio.run(migrate.upgrade(url))
        _show(asyncio.run(migrate.check(url)), as_json=as_json)


@database.command("check")
def check(as_json: JsonOption = False) -> None:
    """Say whether the database is up to date; exit code 1 when it is not."""
    with _application():
        from tavernkit.playground.database import migrate

        state = asyncio.run(migrate.check(_settings().resolved_database_url))
        _show(state, as_json=as_json)
        if not state.is_current:
            raise typer.Exit(CHECK_FAILED)


@contextmanager
def _application() -> Iterator[None]:
    """Say what to install when the application's packages are not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The application is not installed ({error.name} is missing): pip install 'tavernkit[playground]'."
        ) from error


def _settings(**given: Any) -> Settings:
    from pydantic import ValidationError

    from tavernkit.playground.config import Settings

    try:
        return Settings(**given)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise UsageError(f"A setting is wrong: {problems}. Settings come from TAVERNKIT_… variables.") from None


def _ready(what: str, where: str, *, as_json: bool) -> None:
    if as_json:
        emit({"ready": where})
    else:
        typer.echo(f"{what} {where}")


def _show(state: Any, *, as_json: bool) -> None:
    if as_json:
        emit({"current": state.current, "newest": state.newest, "is_current": state.is_current})
    else:
        word = "up to date" if state.is_current else f"at {state.current or 'nothing'}; run tavernkit db upgrade"
        typer.echo(f"The database is {word} (revision {state.newest}).")
