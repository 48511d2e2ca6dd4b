"""Who may ask, and what every answer carries."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tavernkit.playground.edge.web.security import SecurityMiddleware
from tests.playground.spaces.panel import side_panel


async def _done(request: Request) -> PlainTextResponse:
    return PlainTextResponse("done")


@pytest.fixture
def client() -> TestClient:
    app = Starlette(
        routes=[Route("/", _done, methods=["GET", "POST", "DELETE"])],
        middleware=[Middleware(SecurityMiddleware, hosts=["Tavern.home"])],
    )
    return TestClient(app, base_url="http://127.0.0.1:8420")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8420", "127.1.2.3", "localhost:8420", "a.localhost", "[::1]:8420", "tavern.HOME:80"],
)
def test_our_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.7", "[::]", "", "[::1", "a@b"],
)
def test_a_foreign_name_is_refused(client: TestClient, host: str) -> None:
    response = client.get("/", headers={"Host": host})
    assert response.status_code == 421
    assert "TAVERNKIT_HOST" in response.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:8420"},
        # Behind a proxy that speaks TLS.
        {"Origin": "https://127.0.0.1:8420"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_our_own_pages_may_change_things(client: TestClient, method: str, headers: dict[str, str]) -> None:
    assert client.request(method, "/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8420"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ],
)
def test_nobody_else_may(client: TestClient, headers: dict[str, str]) -> None:
    response = client.post("/", headers=headers)
    assert response.status_code == 403
    assert "nothing was changed" in response.text


def test_a_program_with_a_key_may_too_and_no_other_credentials_count(client: TestClient) -> None:
    assert client.post("/", headers={"Authorization": "Bearer tk_x"}).status_code == 200
    assert client.post("/", headers={"Authorization": "Basic dGs6eA=="}).status_code == 403
    assert client.post("/", headers={"Cookie": "tavernkit_session=x"}).status_code == 403


def test_where_others_may_come_addresses_are_answered_and_names_still_not() -> None:
    app = Starlette(routes=[Route("/", _done)], middleware=[Middleware(SecurityMiddleware, hosts=[], any_address=True)])
    client = TestClient(app, base_url="http://127.0.0.1:8420")
    assert client.get("/", headers={"Host": "192.168.1.7:8420"}).status_code == 200
    assert client.get("/", headers={"Host": "[2001:db8::7]:8420"}).status_code == 200
    assert client.get("/", headers={"Host": "192.168.1.7.evil.example"}).status_code == 421


def test_every_answer_carries_the_rules_refusals_too(client: TestClient) -> None:
    for response in (client.get("/"), client.get("/nowhere"), client.post("/")):
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert "unsafe" not in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"


@pytest.mark.anyio
async def test_programs_are_kept_out_in_the_shape_of_their_api(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path) as at:
        for headers, status, code, kind, words in (
            ({"Host": "evil.example"}, 421, "wrong_host", "invalid_request_error", "TAVERNKIT_HOSTNAMES"),
            ({"Origin": "http://evil.example"}, 403, "forbidden", "permission_error", "nothing was changed"),
        ):
            ours = await at.client.post("/api/v1/spaces", json={}, headers=headers)
            assert ours.status_code == status
            assert ours.json()["error"].keys() == {"code", "sentence", "current"}
            assert (ours.json()["error"]["code"], words in ours.json()["error"]["sentence"]) == (code, True)
            theirs = await at.client.post("/v1/chat/completions", json={}, headers=headers)
            assert theirs.status_code == status
            error = theirs.json()["error"]
            assert (error["code"], error["type"], error["param"], words in error["message"]) == (code, kind, None, True)
            page = await at.client.post("/spaces", headers=headers)
            assert page.status_code == status
            assert page.headers["content-type"].startswith("text/plain")
            for answer in (ours, theirs, page):
                assert "default-src 'self'" in answer.headers["content-security-policy"]
