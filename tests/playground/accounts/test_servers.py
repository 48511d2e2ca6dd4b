"""Signing in where several servers share one database, and where a proxy stands in front of one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import ValidationError

from tavernkit.playground.base.accounts.sign_in_limits import PER_ADDRESS
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.edge.live.streaming import access_check
from tavernkit.playground.edge.web.authentication import Proof
from tests.playground.accounts.installation import PASSWORD, Installation, open_installation
from tests.playground.realtime.listening import Page
from tests.playground.support.server import ServerProcess, running

HOUR = 3_600


@asynccontextmanager
async def two_servers(url: str, folder: Path) -> AsyncIterator[tuple[Installation, Installation]]:
    """Two applications on one database, each with connections of its own, whose owner has a password."""
    async with open_installation(url, folder) as first, open_installation(url, folder) as second:
        await first.owner_with_password()
        yield first, second


@pytest.mark.anyio
async def test_parallel_tries_are_counted_together_by_all_servers(database_url: str, tmp_path: Path) -> None:
    async with two_servers(database_url, tmp_path) as servers:

        async def status(number: int, password: str) -> int:
            body = {"login": "olga", "password": password}
            return (await servers[number % 2].browser().post("/api/v1/sessions", json=body)).status_code

        tries = 2 * PER_ADDRESS.amount
        answers = await asyncio.gather(*(status(number, "wrong") for number in range(tries)))
        assert Counter(answers) == {401: PER_ADDRESS.amount, 429: tries - PER_ADDRESS.amount}
        assert [await status(number, PASSWORD) for number in range(2)] == [429] * 2


@pytest.mark.anyio
async def test_signing_out_at_one_server_ends_the_stream_at_another(postgres_story_url: str, tmp_path: Path) -> None:
    async with two_servers(postgres_story_url, tmp_path) as (reading, signing_out):
        viewer = reading.play.viewer
        token = await reading.token(viewer)
        play = reading.play
        may_read = access_check(play.runtime, viewer, Proof(session=token), play.user_id, play.conversation_id)
        # Only news from the other server make it look again whether it may go on.
        page = Page(play, may_read=may_read, keep_alive=HOUR)
        assert [event["event"] for event in await page.take(1)] == ["hello"]
        assert (await signing_out.browser(token).post("/sign-out")).status_code == 303
        assert await page.rest() == []


@contextmanager
def server_process(url: str, folder: Path, **settings: str) -> Iterator[str]:
    """The address of a server in a process of its own, whose owner has a password."""

    async def give_password() -> None:
        async with open_installation(url, folder / "data") as installation:
            await installation.owner_with_password()

    asyncio.run(give_password())
    server = ServerProcess(folder, model_url="http://127.0.0.1:9/v1", worker="none", database_url=url, **settings)
    with running(server):
        yield server.url


def sign_in(url: str, password: str = "wrong", **headers: str) -> httpx2.Response:
    """Try to sign in with a browser that has never been here."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with httpx2.Client(base_url=url, headers={"Origin": url, **named}, timeout=60, trust_env=False) as client:
        return client.post("/api/v1/sessions", json={"login": "olga", "password": password})


def test_forwarded_headers_are_ignored_unless_a_proxy_is_trusted(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Uvicorn itself would read this one.
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with server_process(sqlite_url, tmp_path) as url:
        signed_in = sign_in(url, PASSWORD, x_forwarded_for="192.0.2.1", x_forwarded_proto="https")
        assert signed_in.json()["address"] == "127.0.0.1"
        assert "Secure" not in signed_in.headers["set-cookie"]
        answers = [
            sign_in(url, x_forwarded_for=f"192.0.2.{number}").status_code for number in range(PER_ADDRESS.amount)
        ]
        assert answers == [401] * (PER_ADDRESS.amount - 1) + [429]


def test_a_trusted_proxy_says_who_asks_and_what_the_client_wrote_before_it_counts_for_nothing(
    sqlite_url: str, tmp_path: Path
) -> None:
    with server_process(sqlite_url, tmp_path, trusted_proxies="127.0.0.1, 10.1.2.3/8") as url:
        signed_in = sign_in(
            url, PASSWORD, x_forwarded_for="192.0.2.9, 198.51.100.1, 10.7.7.7", x_forwarded_proto="https"
        )
        assert signed_in.json()["address"] == "198.51.100.1"
        assert all("Secure" in cookie for cookie in signed_in.headers.get_list("set-cookie"))
        answers = [
            sign_in(url, x_forwarded_for=f"192.0.2.{number}, 198.51.100.1").status_code
            for number in range(PER_ADDRESS.amount)
        ]
        assert answers == [401] * (PER_ADDRESS.amount - 1) + [429]
        assert sign_in(url, x_forwarded_for="198.51.100.2").status_code == 401


@pytest.mark.parametrize("wrong", ["*", "proxy.example", "10.0.0.0/33", "127.0.0.1 10.0.0.1"])
def test_a_proxy_is_trusted_by_its_address_and_nothing_else(wrong: str) -> None:
    with pytest.raises(ValidationError, match="trusted_proxies"):
        AppConfig(trusted_proxies=wrong)
