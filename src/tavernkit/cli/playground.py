"""`tavernkit serve`, `worker`, `scripted-provider`, `db` and `account`: the application, imported only by these."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from tavernkit.cli.application import application, settings, with_runtime
from tavernkit.cli.errors import CHECK_FAILED, UsageError, about
from tavernkit.cli.files import ForceOption, InputFile, check_free, is_standard, refuse_two_documents
from tavernkit.cli.groups import command_group
from tavernkit.cli.output import JsonOption, emit, plain, present, progress, write_bytes
from tavernkit.values import Json

if TYPE_CHECKING:
    from tavernkit.playground.base.database.migrate import SchemaState
    from tavernkit.playground.base.database.models import User
    from tavernkit.playground.base.runtime import Runtime

database = command_group("db", "Upgrade, check, back up, restore, sweep and index the application's database.")
accounts = command_group("account", "Create administrators, reset passwords and list accounts.")

KEY_NOTE = (
    "It does not contain secret.key of the data folder, which decrypts the providers' API keys. Copy that file too."
)


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on. Default: 8420.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the application, with a worker, until it is stopped.

    The database is upgraded first, and an empty one is filled with an example. Settings are environment variables.
    """
    with application():
        from tavernkit.playground.edge import server

        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        server.serve(settings(**given), lambda address, code: _serving(address, code, as_json=as_json))


def worker(as_json: JsonOption = False) -> None:
    """Generate replies for an application that runs elsewhere on the same database."""
    with application():
        from tavernkit.playground.edge import server

        asyncio.run(server.work(settings(), lambda name: _ready("Worker started:", name, as_json=as_json)))


def serve_scripted_provider(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 selects a free one.")] = 8421,
    delay: Annotated[float, typer.Option(min=0, max=60, help="Seconds before each word.")] = 0.02,
    as_json: JsonOption = False,
) -> None:
    """Serve a scripted model, for tests and demonstrations.

    It implements the protocols of OpenAI, Anthropic and Gemini on this machine until it is stopped. The last user
    message or the name of the model selects its reply or its failure.
    """
    with application():
        from tavernkit.playground.base.llm.scripted_server import serve_scripted

    def ready(address: str) -> None:
        addresses = dict.fromkeys(("openai", "openai_text", "anthropic"), f"{address}/v1")
        document = {"ready": address, "base_urls": {**addresses, "google": f"{address}/v1beta"}}
        sentence = f"The scripted provider is running at {address}/v1 (Gemini: {address}/v1beta)"
        _say(document, sentence, as_json=as_json)

    try:
        serve_scripted(port, delay, ready)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise UsageError(f"The port {port} cannot be used ({reason}). Choose another with --port.") from error


@database.command("upgrade")
def upgrade(as_json: JsonOption = False) -> None:
    """Upgrade the database to the newest version."""
    with application():
        from tavernkit.playground.base.database import migrate

        url = settings().resolved_database_url
        asyncio.run(migrate.upgrade(url))
        _show(asyncio.run(migrate.check(url)), as_json=as_json)


@database.command("check")
def check(as_json: JsonOption = False) -> None:
    """Check whether the database is up to date; exit code 1 if it is not."""
    with application():
        from tavernkit.playground.base.database import migrate

        state = asyncio.run(migrate.check(settings().resolved_database_url))
        _show(state, as_json=as_json)
        if not state.is_current:
            raise typer.Exit(CHECK_FAILED)


@database.command("backup")
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; - writes standard output.")],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a backup of the database to one file, also while the application is running.

    It can be restored to SQLite and to PostgreSQL.
    """
    refuse_two_documents(target, as_json=as_json)
    check_free([target], force=force)
    with application(), _written_beside(target) as place, about(target):
        from tavernkit.playground.base.database.backup import back_up

        url = settings().resolved_database_url
        manifest = asyncio.run(back_up(url, place, datetime.now(UTC), progress=partial(progress, "Backing up")))
    if as_json:
        emit({"file": str(target), "revision": manifest.revision, "rows": manifest.rows})
    elif not is_standard(target):
        typer.echo(f"Wrote {manifest.rows:,} rows to {target}. {KEY_NOTE}")


@database.command("restore")
def restore(
    source: InputFile,
    force: Annotated[bool, typer.Option("--force", help="Replace everything in the database.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup to an empty database and upgrade it. Stop the application first."""
    with application(), about(source), _seekable(source) as file:
        from tavernkit.playground.base.database import backup, migrate

        url = settings().resolved_database_url
        manifest = asyncio.run(backup.restore(url, file, force=force, progress=partial(progress, "Restoring")))
        state = asyncio.run(migrate.check(url))
    document = {"rows": manifest.rows, "from_revision": manifest.revision, "revision": state.current}
    _say(document, f"Restored {manifest.rows:,} rows of {manifest.created_at}. {KEY_NOTE}", as_json=as_json)


@database.command("sweep")
def sweep(as_json: JsonOption = False) -> None:
    """Remove what is not kept any longer, also while the application is running.

    The application does this by itself every hour. It removes what has been in the trash for long enough, what the
    settings for retention do not keep, and what nothing refers to any more.
    """
    with application():
        from tavernkit.playground.story.sweeping.service import sweep as sweep_up

        removed = with_runtime(lambda runtime: sweep_up(runtime, asyncio.Event()))
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in removed.items() if count]
    if as_json or rows:
        present(dict(removed), lambda printer: printer.table(("removed", "count"), rows), as_json=as_json)
    else:
        typer.echo("There was nothing to remove.")


@database.command("reindex")
def reindex(as_json: JsonOption = False) -> None:
    """Build the search index anew, also while the application is running.

    One that was interrupted goes on where it was.
    """
    with application():
        from tavernkit.playground.base.database.fulltext.rebuilding import rebuild, start_rebuild

        async def build(runtime: Runtime) -> int:
            total, done = await start_rebuild(runtime.database, runtime.clock())
            with progress("Indexing", total) as step:
                for _ in range(done):
                    step()
                async for rows in rebuild(runtime.database, runtime.clock):
                    for _ in range(rows):
                        step()
            return total

        rows = with_runtime(build)
    _say({"rows": rows}, f"Indexed {rows:,} rows.", as_json=as_json)


@accounts.command("create-admin")
def create_admin(
    name: Annotated[str, typer.Option("--name", prompt="Name", help="The administrator's name.")],
    email: Annotated[str, typer.Option("--email", help="An e-mail address to sign in with.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Create an administrator. The first one owns everything that exists already.

    The password is asked for, or read from the first line of standard input if that is not a terminal.
    """
    with application():
        from tavernkit.playground.base.accounts.signing_up import create_administrator

        password = _read_password()
        user = with_runtime(lambda runtime: create_administrator(runtime, name=name, email=email, password=password))
    _say(_document(user), f"{user.name} is an administrator and can sign in.", as_json=as_json)


@accounts.command("set-password")
def set_password(
    login: Annotated[str, typer.Argument(metavar="NAME", help="The name or the e-mail address of the account.")],
    as_json: JsonOption = False,
) -> None:
    """Set a new password for an account and end its sessions."""
    with application():
        from tavernkit.playground.base.accounts.queries import find_user
        from tavernkit.playground.base.accounts.signing_up import reset_password
        from tavernkit.playground.base.refused import existing

        async def reset(runtime: Runtime) -> User:
            async with runtime.database.read() as session:
                user = await find_user(session, login)
            return await reset_password(runtime, existing(user, "account").id, _read_password())

        user = with_runtime(reset)
    _say(_document(user), f"{user.name} has a new password.", as_json=as_json)


@accounts.command("list")
def list_accounts(as_json: JsonOption = False) -> None:
    """List the accounts."""
    with application():
        from tavernkit.playground.base.accounts.queries import all_users

        async def read(runtime: Runtime) -> list[User]:
            async with runtime.database.read() as session:
                return await all_users(session)

        users = with_runtime(read)
    columns = ("name", "e-mail", "role", "status", "password")
    rows = [
        (user.name, user.email or "", user.role, user.status, "yes" if user.password_hash else "none") for user in users
    ]
    present(list(map(_document, users)), lambda printer: printer.table(columns, rows), as_json=as_json)


def _read_password() -> str:
    """A password that is on no command line, where others could read it."""
    if sys.stdin.isatty():
        password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        return password
    return sys.stdin.readline().rstrip("\r\n")


def _say(document: Json, sentence: str, *, as_json: bool) -> None:
    if as_json:
        emit(document)
    else:
        typer.echo(plain(sentence))


def _document(user: User) -> dict[str, Any]:
    return {"id": str(user.id), "name": user.name, "email": user.email, "role": user.role, "status": user.status}


@contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """The place to write to: the target itself, or for standard output a file that is copied there."""
    if not is_standard(target):
        yield target
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "backup.zip"
        yield place
        with place.open("rb") as file:
            while piece := file.read(1 << 20):
                write_bytes(piece)


@contextmanager
def _seekable(source: Path) -> Iterator[IO[bytes]]:
    """The file; standard input is kept in one first, for it can be read only once."""
    if not is_standard(source):
        with source.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        yield kept


def _ready(what: str, where: str, *, as_json: bool) -> None:
    _say({"ready": where}, f"{what} {where}", as_json=as_json)


def _serving(address: str, setup_code: str, *, as_json: bool) -> None:
    if not setup_code:
        _ready("TavernKit is running at", address, as_json=as_json)
        return
    sentence = (
        f"TavernKit is running at {address}\n"
        f"Nobody has an account yet. Open it in a browser and create yours with this setup code: {setup_code}"
    )
    _say({"ready": address, "setup_code": setup_code}, sentence, as_json=as_json)


def _show(state: SchemaState, *, as_json: bool) -> None:
    is_at = f"at revision {state.current}" if state.current else "empty"
    word = "up to date" if state.is_current else f"{is_at} and must be upgraded: run tavernkit db upgrade"
    document = {"current": state.current, "newest": state.newest, "is_current": state.is_current}
    _say(document, f"The database is {word} (newest revision: {state.newest}).", as_json=as_json)
