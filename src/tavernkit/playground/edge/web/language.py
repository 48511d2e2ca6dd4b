"""The language of an answer, and how it looks: as for anybody, until it is known who asks and what they have chosen."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tavernkit.playground.base.languages import accepted_language, use_language
from tavernkit.playground.edge.web.preferences import use_preferences


class LanguageMiddleware:
    """Takes the language from the header `Accept-Language`; `viewer_of` takes what the account has in its place."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            use_language(accepted_language(Headers(scope=scope).get("accept-language", "")))
            use_preferences(None)
        await self.app(scope, receive, send)
