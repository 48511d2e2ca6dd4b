"""Sentences for what can go wrong between us and a model's server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import httpx2

from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.llm.base import ChatRequest, ModelError, ModelErrorCode
from tavernkit.playground.base.llm.completion import Complaint
from tavernkit.playground.base.waiting import plain_wait
from tavernkit.values import Json

_LONGEST_QUOTE = 300
_LONGEST_WAIT = 86_400.0
"""Whatever a server asks for beyond a day is a day or longer to us."""

_TELLTALE = 24
"""So many characters of the prompt in a server's words are no accident."""


class ProviderFailure(Enum):
    """What can go wrong at any server: its code, and the sentence about it."""

    BAD_RESPONSE = "bad_response", "{name} answered with {what}. Check that the address is that of {api}."
    # After an answer that began well: the address is right, and what was read is the reply's beginning.
    GARBLED = "bad_response", "{name} sent something in the middle of the reply that cannot be read. Try again."
    BAD_PROMPT = "unavailable", "The prompt cannot be written for {name}. {why}"
    BAD_ADDRESS = "unavailable", "{name!r} is not the address of a model. Write one such as http://127.0.0.1:11434/v1."
    BAD_KEY = "unavailable", "The API key for {name} holds characters that no key holds. Copy it again."
    UNREACHABLE = (
        "connection_error",
        "{name} cannot be reached ({why}). Check the address and that the server is running.",
    )
    UNCONNECTED = (
        "timeout",
        "{name} did not accept a connection within {seconds:g} seconds. "
        "Check the address and that the server is running.",
    )
    BROKEN_OFF = "connection_error", "The connection to {name} broke off before the reply was complete. Try again."
    SILENT = (
        "timeout",
        "{name} said nothing for {seconds:g} seconds. It may be overloaded or still loading its model; "
        "try again later.",
    )
    ENDLESS = (
        "timeout",
        "{name} did not come to an end within {seconds:g} seconds. Ask for a shorter reply, or try again.",
    )

    def __init__(self, code: ModelErrorCode, sentence: str) -> None:
        self.code = code
        self.sentence = sentence


class Endpoint:
    """One server as its errors name it; neither the key nor the prompt shows, even when the server repeats them.

    `api` is what should be at the address, for the sentence about an address that is not right.
    """

    def __init__(self, base_url: str, api_key: str | None, api: str) -> None:
        self._key = api_key
        self._api = api
        self.name = without_credentials(base_url)

    def refused(
        self,
        status: int,
        complaint: Complaint | None,
        request: ChatRequest | None,
        *,
        location: str | None = None,
        retry_after: float | None = None,
    ) -> ModelError:
        """The error for an HTTP status that is not a success; without a request, the models were asked for."""
        asked = retry_after if complaint is None or complaint.retry_after is None else complaint.retry_after
        wait = None if asked is None else min(asked, _LONGEST_WAIT)
        sentence = self._sentence(status, request, location, wait)
        return ModelError(
            sentence + self._quoted(complaint, request), code="http_error", status=status, retry_after=wait
        )

    def complained(self, complaint: Complaint, request: ChatRequest) -> ModelError:
        """The error for a complaint that came where a reply was due."""
        if complaint.blocked:
            sentence = f"{self.name} does not answer this prompt. Change what was said last, or choose another model."
            return ModelError(sentence + self._quoted(complaint, request), code="blocked")
        if complaint.status is not None:
            return self.refused(complaint.status, complaint, request)
        return ModelError(
            f"{self.name} broke the reply off. Try again." + self._quoted(complaint, request), code="http_error"
        )

    def error(self, failure: ProviderFailure, **details: str | float) -> ModelError:
        """The error for what can go wrong at any server."""
        return ModelError(failure.sentence.format(name=self.name, api=self._api, **details), code=failure.code)

    def failed(self, error: httpx2.TransportError | httpx2.DecodingError) -> ModelError:
        """The error for an exchange that broke below HTTP, or in its framing."""
        match error:
            case httpx2.UnsupportedProtocol():
                return self.error(ProviderFailure.BAD_ADDRESS)
            case httpx2.SSEError():
                return self.error(ProviderFailure.BAD_RESPONSE, what="an event that is too long to be one")
            case httpx2.DecodingError():
                return self.error(ProviderFailure.BAD_RESPONSE, what="bytes that cannot be unpacked")
            case httpx2.ConnectError() | httpx2.ProxyError():
                return self.error(ProviderFailure.UNREACHABLE, why=self._cut(str(error)) or "no connection")
            case _:
                return self.error(ProviderFailure.BROKEN_OFF)

    def _sentence(self, status: int, request: ChatRequest | None, location: str | None, wait: float | None) -> str:
        match status:
            case 401 | 403 if request is not None:
                return f"{self.name} refused the API key. Check the key, and that it may use {_model(request)}."
            case 401 | 403:
                return f"{self.name} refused the API key. Check the key."
            case 402:
                return f"{self.name} asks for payment. Check the credit of your account."
            case 404 if request is not None:
                return f"{self.name} does not know {_model(request)}, or is not the right address. Check both."
            case 404:
                return f"{self.name} has no list of models, or is not the right address."
            case 413:
                return f"{self.name} found the prompt too long. Choose a smaller context."
            case 429:
                then = "Wait a little" if wait is None else f"Wait {plain_wait(wait)}"
                return f"{self.name} has had too many requests, or your limit is used up. {then} and try again."
            case _ if 300 <= status < 400:
                elsewhere = f" to {self._cut(location)}" if location else ""
                return f"{self.name} has moved{elsewhere}. Write the new address in its place."
            case _ if status >= 500:
                return f"{self.name} has a problem of its own (status {status}). Try again later."
            case _:
                return f"{self.name} did not accept the request (status {status})."

    def _quoted(self, complaint: Complaint | None, request: ChatRequest | None) -> str:
        if complaint is None:
            return ""
        words = self._cut(complaint.message)
        return "" if _tells(words, request) else f" It said: {words}"

    def _cut(self, words: str) -> str:
        """A stranger's words on one line, short, and without our key."""
        if self._key:
            words = words.replace(self._key, "…")
        line = " ".join("".join(c if c.isprintable() else " " for c in words[: 4 * _LONGEST_QUOTE]).split())
        return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"


def _model(request: ChatRequest) -> str:
    return f"the model {request.model!r}"


def _tells(words: str, request: ChatRequest | None) -> bool:
    """Whether a part of the prompt can be read in somebody's words."""
    if request is None:
        return False
    prompt = " ".join(" ".join(_texts([request.prompt, request.messages])).split())
    return any(words[at : at + _TELLTALE] in prompt for at in range(len(words) - _TELLTALE + 1))


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
