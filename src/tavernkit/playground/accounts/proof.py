"""What a request brings along to say who asks."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from tavernkit.values import Value

__all__ = ["BROWSER_COOKIE", "COOKIE", "Proof", "Visit", "api_key_in", "proof_of", "visit_of"]

COOKIE = "tavernkit_session"
BROWSER_COOKIE = "tavernkit_browser"


class Proof(Value, frozen=True, kw_only=True):
    """A key excludes the rest: who shows one asks as its owner, or as nobody."""

    api_key: str | None = None
    session: str | None = None


class Visit(Value, frozen=True, kw_only=True):
    """Where somebody signs in from, so that they recognise the session later.

    `browser_tokens` prove at which accounts the browser has signed in before.
    """

    address: str = ""
    agent: str = ""
    browser_tokens: tuple[str, ...] = ()


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
