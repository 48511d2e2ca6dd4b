"""The cookie that keeps a browser signed in."""

from __future__ import annotations

from fastapi import Request, Response

from tavernkit.playground.accounts.proof import COOKIE
from tavernkit.playground.accounts.sessions import LONGEST_LIFETIME, SignedIn

__all__ = ["drop_cookie", "give_cookie"]


def give_cookie(request: Request, response: Response, signed_in: SignedIn) -> None:
    """Scripts cannot read it, other sites cannot use it to change anything, and over https it stays there."""
    response.set_cookie(
        COOKIE,
        signed_in.token,
        # The server knows when a session ends; the browser keeps the cookie as long as that could be.
        max_age=int(LONGEST_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def drop_cookie(response: Response) -> None:
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
