"""Sentences for what can go wrong between us and a model's server."""

from __future__ import annotations

import re

import httpx2

from tavernkit.playground.llm.base import ModelError
from tavernkit.playground.llm.completion import Complaint

__all__ = ["Endpoint"]

_LONGEST_QUOTE = 300


class Endpoint:
    """One server as its errors name it; the key never shows, even when the server repeats it."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        self._key = api_key
        self.name = re.sub(r"//[^/@]*@", "//", base_url)

    def refused(self, status: int, complaint: Complaint | None, *, model: str, location: str | None) -> ModelError:
        """The error for an HTTP status that is not a success."""
        sentence = self._sentence(status, model, location)
        return ModelError(sentence + self._quoted(complaint), code="http_error", status=status)

    def complained(self, complaint: Complaint, *, model: str) -> ModelError:
        """The error for a complaint that came where a reply was due."""
        if complaint.status is not None:
            return self.refused(complaint.status, complaint, model=model, location=None)
        return ModelError(f"{self.name} broke the reply off. Try again." + self._quoted(complaint), code="http_error")

    def bad_response(self, what: str) -> ModelError:
        return ModelError(
            f"{self.name} answered with {what}. Check that the address is that of an OpenAI-style API; "
            "it usually ends in /v1.",
            code="bad_response",
        )

    def bad_address(self) -> ModelError:
        return ModelError(
            f"{self.name!r} is not the address of a model. Write one such as http://127.0.0.1:11434/v1.",
            code="connection_error",
        )

    def bad_key(self) -> ModelError:
        return ModelError(
            f"The API key for {self.name} holds characters that no key holds. Copy it again.", code="unavailable"
        )

    def broken_off(self) -> ModelError:
        return ModelError(
            f"The connection to {self.name} broke off before the reply was complete. Try again.",
            code="connection_error",
        )

    def silent(self, seconds: float) -> ModelError:
        return ModelError(
            f"{self.name} said nothing for {seconds:g} seconds. It may be overloaded or still loading its model; "
            "try again later.",
            code="timeout",
        )

    def unconnected(self, seconds: float) -> ModelError:
        return ModelError(
            f"{self.name} did not accept a connection within {seconds:g} seconds. "
            "Check the address and that the server is running.",
            code="timeout",
        )

    def failed(self, error: httpx2.TransportError | httpx2.DecodingError) -> ModelError:
        """The error for an exchange that broke below HTTP, or in its framing."""
        match error:
            case httpx2.UnsupportedProtocol():
                return self.bad_address()
            case httpx2.SSEError():
                return self.bad_response("an event that is too long to be one")
            case httpx2.DecodingError():
                return self.bad_response("bytes that cannot be unpacked")
            case httpx2.ConnectError() | httpx2.ProxyError():
                return ModelError(
                    f"{self.name} cannot be reached ({self._cut(str(error)) or 'no connection'}). "
                    "Check the address and that the server is running.",
                    code="connection_error",
                )
            case _:
                return self.broken_off()

    def _sentence(self, status: int, model: str, location: str | None) -> str:
        match status:
            case 401 | 403:
                return f"{self.name} refused the API key. Check the key, and that it may use the model {model!r}."
            case 402:
                return f"{self.name} asks for payment. Check the credit of your account."
            case 404:
                return f"{self.name} knows no model {model!r}, or is not the right address. Check both."
            case 413:
                return f"{self.name} found the prompt too long. Choose a smaller context."
            case 429:
                return f"{self.name} has had too many requests, or your limit is used up. Wait a little and try again."
            case _ if 300 <= status < 400:
                elsewhere = f" to {self._cut(location)}" if location else ""
                return f"{self.name} has moved{elsewhere}. Write the new address in its place."
            case _ if status >= 500:
                return f"{self.name} has a problem of its own (status {status}). Try again later."
            case _:
                return f"{self.name} did not accept the request (status {status})."

    def _quoted(self, complaint: Complaint | None) -> str:
        return f" It said: {self._cut(complaint.message)}" if complaint else ""

    def _cut(self, words: str) -> str:
        """A stranger's words on one line, short, and without our key."""
        if self._key:
            words = words.replace(self._key, "…")
        line = " ".join("".join(c if c.isprintable() else " " for c in words[: 4 * _LONGEST_QUOTE]).split())
        return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"
