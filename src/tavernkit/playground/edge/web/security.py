"""What every request must prove and every answer must carry.

A page from elsewhere may send requests to this machine too. Three things keep it out. The name in the `Host` header
must be one of ours, or a foreign name that was pointed at this machine would count as the same origin. A request that
changes something must come from one of our own pages, unless it carries an API key, which no browser adds by itself and
beside which nothing else counts. And no page of ours can be put into a frame or run a foreign script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.edge.web.authentication import api_key_in

# The one style element in our pages: Turbo brings it for its progress bar. A new version may need a new hash, and
# browsers say on their console which.
_TURBO_PROGRESS_BAR = "sha256-WAyOw4V+FqDc35lQPyRADLBWbuNK8ahvYEaQIYF1+Ps="

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        f"style-src 'self' '{_TURBO_PROGRESS_BAR}'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: browsers would then hide the origin of our own forms as well.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Answering: TypeAlias = Callable[[str, int, str], Response]
"""What is answered at a path, with a status, to tell a sentence."""


def plain_answer(_path: str, status: int, sentence: str) -> Response:
    """Nothing but the sentence: a page could not fetch its styles either."""
    return PlainTextResponse(f"{translated(sentence)}\n", status)


def add_security_headers(headers: MutableHeaders) -> None:
    """What every answer carries, unless it says otherwise itself."""
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)


class SecurityMiddleware:
    """Guards an application; `hosts` are the names it may be called by, besides those of this machine itself.

    With `any_address` it also answers to every address in numbers: nobody can point one of those at another machine.
    `answer` gives a refusal the form that who asks can read.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str] = (), any_address: bool = False, answer: Answering = plain_answer
    ) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.any_address = any_address
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_security_headers(MutableHeaders(scope=message))
            await send(message)

        refused = self._refusal(scope["method"], Headers(scope=scope))
        app = self.app if refused is None else self.answer(scope["path"], *refused)
        await app(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        name = _host_name(host)
        if name not in self.hosts and not _is_this_machine(name) and not (self.any_address and _is_address(name)):
            return 421, _("TavernKit does not answer to the name “{name}”. Add it to TAVERNKIT_HOSTNAMES.", name=name)
        if method not in _SAFE_METHODS and api_key_in(headers) is None and not _is_from_our_pages(headers, host):
            return 403, _(
                "This request comes from a page of another site, so nothing was changed. "
                "Programs must send an API key, or an Origin header that names this server."
            )
        return None


def _is_from_our_pages(headers: Headers, host: str) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    return urlsplit(headers.get("origin", "")).netloc.lower() == host.lower()


def _is_this_machine(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and ip_address(name).is_loopback


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _host_name(host: str) -> str:
    """The name in a Host header, without the port and the brackets of an IPv6 address."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
