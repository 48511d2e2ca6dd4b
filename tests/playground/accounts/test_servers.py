"""Signing in to real servers: several count together, and only trusted proxies say who asks."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import httpx2
import pytest
from pydantic import ValidationError

from tavernkit.playground.base.accounts.sign_in_limits import PER_ADDRESS
from tavernkit.playground.base.config import AppConfig
from tests.playground.accounts.house import PASSWORD
from tests.playground.support.server import ServerProcess, running


@contextmanager
def servers(folder: Path, count: int, **settings: str) -> Iterator[list[str]]:
    """The addresses of servers on one database, whose owner has a password."""
    with ExitStack() as stack:
        urls = []
        for number in range(count):
            own = folder / str(number)
            own.mkdir()
            server = ServerProcess(own, model_url="http://127.0.0.1:9/v1", worker="none", **settings)
            urls.append(stack.enter_context(running(server)).url)
        with browser(urls[0]) as owner:
            assert owner.patch("/api/v1/me", json={"name": "Olga"}).status_code == 200
            body = {"current_password": "", "new_password": PASSWORD}
            assert owner.post("/api/v1/me/password", json=body).status_code == 204
        yield urls


def browser(url: str, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, headers={"Origin": url, **headers}, timeout=60, trust_env=False)


def sign_in(url: str, password: str = "wrong", **headers: str) -> httpx2.Response:
    """Try to sign in with a browser that has never been here."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with browser(url, **named) as client:
        return client.post("/api/v1/sessions", json={"login": "olga", "password": password})


@pytest.mark.parametrize(("kind", "count"), [("migrated_sqlite_url", 1), ("migrated_postgres_url", 2)])
def test_parallel_tries_are_counted_together_by_all_servers(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, count: int
) -> None:
    tries = 2 * PER_ADDRESS.amount
    with (
        servers(tmp_path, count, database_url=request.getfixturevalue(kind)) as urls,
        ThreadPoolExecutor(tries) as threads,
    ):
        answers = threads.map(lambda number: sign_in(urls[number % count]).status_code, range(tries))
        assert Counter(answers) == {401: PER_ADDRESS.amount, 429: tries - PER_ADDRESS.amount}
        assert [sign_in(url, PASSWORD).status_code for url in urls] == [429] * count


def test_forwarded_headers_are_ignored_unless_a_proxy_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Uvicorn itself would read this one.
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with servers(tmp_path, 1) as (url,):
        signed_in = sign_in(url, PASSWORD, x_forwarded_for="192.0.2.1", x_forwarded_proto="https")
        assert signed_in.json()["address"] == "127.0.0.1"
        assert "Secure" not in signed_in.headers["set-cookie"]
        answers = [
            sign_in(url, x_forwarded_for=f"192.0.2.{number}").status_code for number in range(PER_ADDRESS.amount)
        ]
        assert answers == [401] * (PER_ADDRESS.amount - 1) + [429]


def test_a_trusted_proxy_says_who_asks_and_what_the_client_wrote_before_it_counts_for_nothing(tmp_path: Path) -> None:
    with servers(tmp_path, 1, trusted_proxies="127.0.0.1, 10.1.2.3/8") as (url,):
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


def seconds_until_the_stream_ends(reading: str, signing_out: str) -> float:
    """Follow a conversation at one server, sign out at another, and measure how long the stream goes on."""
    with browser(reading) as client, browser(signing_out) as elsewhere:
        signed_in = client.post("/api/v1/sessions", json={"login": "olga", "password": PASSWORD})
        assert signed_in.status_code == 201
        elsewhere.cookies.update(client.cookies)
        (space, *_) = client.get("/api/v1/spaces").json()["items"]
        (conversation, *_) = client.get(f"/api/v1/spaces/{space['id']}/conversations").json()["items"]
        with client.stream("GET", f"/events?watch={conversation['id']}") as events:
            lines = events.iter_lines()
            assert next(lines) == "event: hello"
            assert elsewhere.post("/sign-out").status_code == 303
            began = monotonic()
            assert [line for line in lines if line.startswith("event:")] == []
            return monotonic() - began


def test_signing_out_at_one_server_ends_the_stream_at_another_at_once(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    with servers(tmp_path, 2, database_url=migrated_postgres_url) as (reading, signing_out):
        # Without news from the other server it takes 15 seconds, each time. A busy machine may be that slow once.
        assert any(seconds_until_the_stream_ends(reading, signing_out) < 10 for _ in range(3))
