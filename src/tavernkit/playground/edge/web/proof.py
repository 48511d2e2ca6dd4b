"""What a request brings along to say who asks."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from tavernkit.playground.base.accounts.visit import Visit
from tavernkit.values import Value

COOKIE = "tavernkit_session"
BROWSER_COOKIE = "tavernkit_browser"


class Proof(Value, frozen=True, kw_only=True):
    """A key excludes the rest: who shows one asks as its owner, or as nobody."""

    api_key: str | None = None
    session: str | None = None


def proof_of(request: HTTPConnection) -> Proof:
    key = api_key_in(request.headers)
    return Proof(api_key=key) if key is not None else Proof(session=request.cookies.get(COOKIE))


def api_key_in(headers: Headers) -> str | None:
    """The key in the `Authorization` header; every bearer token counts as one, right or wrong.

    No browser sends those by itself, as it does with cookies and with passwords that a proxy asked for.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def visit_of(request: HTTPConnection) -> Visit:
    address = request.client.host if request.client else ""
    return Visit(
        address=address[:100],
        agent=request.headers.get("user-agent", "")[:500],
        browser_tokens=tuple(token for token in request.cookies.get(BROWSER_COOKIE, "").split(".") if token),
    )
