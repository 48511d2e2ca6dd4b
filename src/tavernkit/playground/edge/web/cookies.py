"""The cookies: one keeps a browser signed in, the other proves that it has been signed in before."""

from __future__ import annotations

from fastapi import Request, Response

from tavernkit.playground.base.accounts import browsers
from tavernkit.playground.base.accounts.sessions import LONGEST_LIFETIME, SignedIn
from tavernkit.playground.edge.web.proof import BROWSER_COOKIE, COOKIE

TIME_ZONE_COOKIE = "time_zone"
"""Where a page notes which time zone it has sent."""


def give_cookies(request: Request, response: Response, signed_in: SignedIn) -> None:
    """Scripts cannot read them, other sites cannot use them to change anything, and over https they stay there."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE,
        signed_in.token,
        # The server knows when a session ends; the browser keeps the cookie as long as that could be.
        max_age=int(LONGEST_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=secure,
    )
    # Whoever signs in now may never have sent their time zone: the page does so as long as this is not there.
    response.delete_cookie(TIME_ZONE_COOKIE, samesite="lax", secure=secure)
    response.set_cookie(
        BROWSER_COOKIE,
        ".".join(signed_in.browser_tokens),
        max_age=int(browsers.LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=secure,
    )


def drop_cookie(response: Response) -> None:
    """Who signs out stays known: the other cookie is kept."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
