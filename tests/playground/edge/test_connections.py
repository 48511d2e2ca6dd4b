"""Connections on which nothing happens, and those on which something does, slowly."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.playground.edge.serving import (
    FORM,
    FULL,
    Bystander,
    GuardedServer,
    answer,
    connect,
    head,
    is_open,
    send_until_closed,
)
from tests.playground.support.databases import shared_story_url
from tests.playground.support.server import running
from tests.support.hanging import wait_until

SILENT_SECONDS = 20.0 if FULL else 1.0
DESCRIPTORS, OPENED = (1024, 1200) if FULL else (256, 400)
MOST_LOG_BYTES = 10_000


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedServer]:
    folder = tmp_path_factory.mktemp("silent")
    server = GuardedServer(
        folder,
        database_url=shared_story_url(request, "sqlite", folder),
        descriptors=DESCRIPTORS,
        silent_seconds=str(SILENT_SECONDS),
    )
    with running(server):
        yield server


def silent_starts(server: GuardedServer) -> list[bytes]:
    """What strangers send before they say no more: nothing, half a line, half a head, half a body, half a chunk."""
    form = f"Content-Type: {FORM}"
    return [
        b"",
        b"GET /sign",
        b"GET /sign-in HTTP/1.1\r\nHost:",
        head(server, "/sign-in", form, "Content-Length: 1000") + b"login=",
        head(server, "/sign-in", form, "Transfer-Encoding: chunked") + b"40\r\nlogin=",
        head(server, "/api/v1/spaces", "Content-Type: application/json", "Content-Length: 1000") + b"{",
        head(server, "/sign-in", method="GET") + b"GET /sign",
    ]


def wait_until_closed(connections: list[socket.socket]) -> None:
    wait_until(lambda: not any(is_open(connection) for connection in connections))


def test_silent_connections_are_closed(server: GuardedServer) -> None:
    with ExitStack() as opened:
        wait_until_closed([opened.enter_context(connect(server, start)) for start in silent_starts(server)])
    assert server.log.stat().st_size < MOST_LOG_BYTES


def test_a_head_that_comes_byte_by_byte_is_not_awaited_for_ever(server: GuardedServer) -> None:
    with connect(server, b"GET /sign-in HTTP/1.1\r\nX-Slow: ") as slow:
        send_until_closed(slow, b"a")


def test_slow_uploads_and_quiet_readers_are_not_cut(server: GuardedServer) -> None:
    key = f"Authorization: Bearer {server.key}"
    with server.api_client() as program:
        space = program.get("/api/v1/spaces").json()["items"][0]["id"]
        conversation = program.get(f"/api/v1/spaces/{space}/conversations").json()["items"][0]["id"]
    body = json.dumps({"name": "Slow", "description": "x" * 19_000}).encode()
    lines = (key, "Content-Type: application/json", f"Content-Length: {len(body)}")
    with (
        connect(server, head(server, f"/events?watch={conversation}", key, method="GET")) as events,
        connect(server, head(server, "/api/v1/lorebooks", *lines)) as upload,
    ):
        # Longer than a body may take that comes more slowly than the least speed.
        began, pieces = time.monotonic(), 40
        for number in range(pieces):
            upload.sendall(body[number * 500 : (number + 1) * 500])
            due = began + SILENT_SECONDS * 4 * number / pieces
            wait_until(lambda due=due: time.monotonic() >= due)  # type: ignore[misc] # of a default
        assert answer(upload)[0] == 201
        assert is_open(events)
        with server.api_client() as program:
            message = {"content": "Is anybody there?", "role": "system"}
            program.post(f"/api/v1/conversations/{conversation}/messages", json=message).raise_for_status()
        events.settimeout(60)
        heard = b""
        while b"Is anybody there?" not in heard:
            piece = events.recv(65536)
            assert piece, heard
            heard += piece


def test_more_silent_connections_than_descriptors_keep_nobody_out(server: GuardedServer) -> None:
    starts = silent_starts(server)
    with Bystander(server) as bystander, ExitStack() as opened:
        silent = [opened.enter_context(connect(server, starts[n % len(starts)])) for n in range(OPENED)]
        asked = bystander.asked
        wait_until(lambda: bystander.asked >= asked + 20)
        with server.api_client() as program:
            assert program.get("/api/v1/spaces").status_code == 200
        wait_until_closed(silent)
    assert server.log.stat().st_size < MOST_LOG_BYTES


def test_a_server_without_a_descriptor_to_spare_neither_fills_its_log_nor_stops(
    tmp_path: Path, sqlite_url: str
) -> None:
    with running(GuardedServer(tmp_path, database_url=sqlite_url, descriptors=40)) as server:
        with ExitStack() as opened:
            for _ in range(100):
                opened.enter_context(connect(server, b"GET /sign"))
        with server.api_client() as program:
            assert program.get("/api/v1/spaces").status_code == 200
        assert server.log.stat().st_size < MOST_LOG_BYTES
