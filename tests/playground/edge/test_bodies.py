"""How much of a body is read, from whom, and what it costs everybody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from tavernkit.playground.edge.routes import ROUTES
from tavernkit.playground.edge.web.bodies import GuardedRoute
from tests.playground.edge.serving import (
    FORM,
    FULL,
    JSON,
    Bystander,
    GuardedServer,
    answer,
    connect,
    head,
    send_until_closed,
)
from tests.playground.support.databases import shared_story_url
from tests.playground.support.server import running
from tests.support.hanging import wait_until

MEBIBYTE = 1024 * 1024
SENT_BYTES = (200 if FULL else 40) * MEBIBYTE
MOST_MEMORY_BYTES = SENT_BYTES // 2

TURBO = "text/vnd.turbo-stream.html"
LARGE = [
    ("/api/v1/spaces", JSON, b"[", 401),
    ("/api/v1/sessions", JSON, b"[", 413),
    ("/v1/chat/completions", JSON, b"[[],", 401),
    ("/sign-in", FORM, b"a=1&", 413),
    ("/nowhere", FORM, b"a", 404),
]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedServer]:
    folder = tmp_path_factory.mktemp("guarded")
    with running(GuardedServer(folder, database_url=shared_story_url(request, "sqlite", folder))) as server:
        yield server


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
def test_large_bodies_of_strangers_take_no_memory_and_others_are_answered(server: GuardedServer, chunked: bool) -> None:
    server.forget_peak()
    before = server.memory()
    with Bystander(server) as bystander:
        for target, kind, piece, status in LARGE:
            length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {SENT_BYTES}"
            with connect(server, head(server, target, f"Content-Type: {kind}", length)) as stranger:
                whole = piece * (MEBIBYTE // len(piece))
                for _ in range(SENT_BYTES // MEBIBYTE):
                    stranger.sendall(b"%x\r\n%b\r\n" % (MEBIBYTE, whole) if chunked else whole)
                assert answer(stranger)[0] == status, target
        asked = bystander.asked
        wait_until(lambda: bystander.asked > asked)
    assert server.memory("VmHWM") - before < MOST_MEMORY_BYTES


def test_nothing_of_a_body_is_asked_for_before_it_is_known_who_sends_it(server: GuardedServer) -> None:
    lines = (f"Content-Type: {JSON}", "Content-Length: 16", "Expect: 100-continue")
    with connect(server, head(server, "/api/v1/spaces", *lines)) as stranger:
        status, body = answer(stranger)
        assert (status, json.loads(body)["error"]["code"]) == (401, "signed_out")
    with connect(server, head(server, "/api/v1/spaces", f"Authorization: Bearer {server.key}", *lines)) as known:
        assert known.recv(100).startswith(b"HTTP/1.1 100")
        known.sendall(b'{"name": "Inn"} ')
        assert answer(known)[0] == 201


@pytest.mark.parametrize("target", ["/sign-in", "/sign-up", "/api/v1/sessions", "/api/v1/users"])
def test_strangers_may_send_little(server: GuardedServer, target: str) -> None:
    kind = JSON if target.startswith("/api") else FORM
    body = b"1" * 70_000
    for length, sent in (
        ("Content-Length: 70000", body),
        ("Transfer-Encoding: chunked", b"11170\r\n%b\r\n0\r\n\r\n" % body),
    ):
        with connect(server, head(server, target, f"Content-Type: {kind}", length) + sent) as stranger:
            status, body = answer(stranger)
            assert status == 413
            assert b"65,536 bytes" in body


def test_a_body_over_the_limit_is_refused_in_the_form_of_its_route(server: GuardedServer) -> None:
    with server.api_client() as program:
        large = {"content": b" " * (17 * MEBIBYTE), "headers": {"Content-Type": JSON}}
        refused = program.post("/api/v1/spaces", **large)  # type: ignore[arg-type] # of two kinds
        assert refused.status_code == 413
        assert refused.json()["error"]["code"] == "too_large"
        refused = program.post("/v1/chat/completions", **large)  # type: ignore[arg-type] # of two kinds
        assert (refused.status_code, refused.json()["error"]["type"]) == (413, "invalid_request_error")
        refused = program.post("/personas", data={"name": "x" * (5 * MEBIBYTE)})
        assert refused.status_code == 413
        assert "The request is too large." in refused.text
        streamed = program.post("/personas", data={"name": "x" * (5 * MEBIBYTE)}, headers={"Accept": TURBO})
        assert (streamed.status_code, streamed.headers["content-type"].split(";")[0]) == (413, TURBO)
        assert program.get("/api/v1/spaces").status_code == 200


def test_large_bodies_of_known_people_are_taken(server: GuardedServer) -> None:
    with server.api_client() as program:
        content = "the quick brown fox, [jumps] over {{user}}. " * 80_000
        made = program.post("/api/v1/presets", json={"kind": "chat", "name": "Long", "data": {"note": content}})
        assert made.status_code == 201, made.text[:300]
        assert made.json()["data"]["note"] == content


@pytest.mark.parametrize("target", ["/api/v1/lorebooks", "/v1/chat/completions"])
@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"name": ' + b"[" * 900 + b"]" * 900 + b"}", b"[" + b"0," * 1_000_000 + b"0]"],
    ids=["unclosed", "nested 900 levels", "a million values"],
)
def test_json_that_is_nested_deeply_or_holds_too_much_is_refused(
    server: GuardedServer, target: str, body: bytes
) -> None:
    with server.api_client() as program:
        refused = program.post(target, content=body, headers={"Content-Type": JSON})
    assert refused.status_code == (422 if target.startswith("/api") else 400)
    error = refused.json()["error"]
    assert error["code"] == "invalid"
    assert "body" in error.get("sentence", error.get("message"))


def test_a_connection_lasts_after_a_body_that_was_refused(server: GuardedServer) -> None:
    with connect(server, head(server, "/sign-in", f"Content-Type: {FORM}", "Content-Length: 100000")) as stranger:
        assert answer(stranger)[0] == 413
        stranger.sendall(b"a" * 100_000 + head(server, "/sign-in", method="GET"))
        assert answer(stranger)[0] == 200


def test_a_body_that_was_refused_cannot_be_sent_for_ever(tmp_path: Path, sqlite_url: str) -> None:
    with (
        running(GuardedServer(tmp_path, database_url=sqlite_url, silent_seconds="0.5")) as server,
        connect(server, head(server, "/sign-in", f"Content-Type: {FORM}", "Content-Length: 1000000000000")) as stranger,
    ):
        assert answer(stranger)[0] == 413
        send_until_closed(stranger, b"a" * 1000)


def test_every_route_is_guarded() -> None:
    routes = [context.original_route for context in iter_route_contexts(ROUTES)]
    assert len(routes) > 300
    assert [route for route in routes if isinstance(route, APIRoute) and not isinstance(route, GuardedRoute)] == []
