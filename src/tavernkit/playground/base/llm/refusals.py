"""Sentences for what can go wrong between us and a model's server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import httpx2

from tavernkit.playground.base.languages import Sentence
from tavernkit.playground.base.languages import gettext as _
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

    BAD_RESPONSE = "bad_response", _("{name} sent an unexpected answer: {what}. {address_hint}")
    # After an answer that began well: the address is right, and what was read is the reply's beginning.
    GARBLED = "bad_response", _("{name} sent unreadable data in the middle of the reply. Try again.")
    BAD_PROMPT = "unavailable", _("The prompt cannot be converted for {name}. {reason}")
    BAD_ADDRESS = "unavailable", _("“{name}” is not a valid address. Enter one such as http://127.0.0.1:11434/v1.")
    BAD_KEY = "unavailable", _("The API key for {name} contains invalid characters. Copy it again.")
    UNREACHABLE = (
        "connection_error",
        _("{name} cannot be reached ({reason}). Check the address and that the server is running."),
    )
    UNCONNECTED = (
        "timeout",
        _(
            "{name} did not accept a connection within {seconds} seconds. "
            "Check the address and that the server is running."
        ),
    )
    BROKEN_OFF = "connection_error", _("The connection to {name} ended before the reply was complete. Try again.")
    SILENT = (
        "timeout",
        _(
            "{name} sent nothing for {seconds} seconds. It may be overloaded or still loading its model. "
            "Try again later."
        ),
    )
    ENDLESS = (
        "timeout",
        _("{name} did not finish the reply within {seconds} seconds. Request a shorter reply, or try again."),
    )

    def __init__(self, code: ModelErrorCode, sentence: Sentence) -> None:
        self.code = code
        self.sentence = sentence


class Endpoint:
    """One server as its errors name it; neither the key nor the prompt shows, even when the server repeats them.

    `address_hint` says what the address should be, for the sentence about one that is not right.
    """

    def __init__(self, base_url: str, api_key: str | None, address_hint: str) -> None:
        self._key = api_key
        self._address_hint = address_hint
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
            self._quoting(sentence, complaint, request), code="http_error", status=status, retry_after=wait
        )

    def complained(self, complaint: Complaint, request: ChatRequest) -> ModelError:
        """The error for a complaint that came where a reply was due."""
        if complaint.blocked:
            sentence = _("{name} refused this prompt. Edit the last message, or choose another model.", name=self.name)
            return ModelError(self._quoting(sentence, complaint, request), code="blocked")
        if complaint.status is not None:
            return self.refused(complaint.status, complaint, request)
        sentence = _("{name} interrupted the reply. Try again.", name=self.name)
        return ModelError(self._quoting(sentence, complaint, request), code="http_error")

    def error(self, failure: ProviderFailure, **details: str | float) -> ModelError:
        """The error for what can go wrong at any server."""
        values = {"name": self.name, "address_hint": self._address_hint, **details}
        return ModelError(_(failure.sentence.template, **values), code=failure.code)

    def failed(self, error: httpx2.TransportError | httpx2.DecodingError) -> ModelError:
        """The error for an exchange that broke below HTTP, or in its framing."""
        match error:
            case httpx2.UnsupportedProtocol():
                return self.error(ProviderFailure.BAD_ADDRESS)
            case httpx2.SSEError():
                return self.error(ProviderFailure.BAD_RESPONSE, what=_("an event that is too long"))
            case httpx2.DecodingError():
                return self.error(ProviderFailure.BAD_RESPONSE, what=_("data that cannot be decompressed"))
            case httpx2.ConnectError() | httpx2.ProxyError():
                return self.error(ProviderFailure.UNREACHABLE, reason=self._cut(str(error)) or _("no connection"))
            case _:
                return self.error(ProviderFailure.BROKEN_OFF)

    def _sentence(self, status: int, request: ChatRequest | None, location: str | None, wait: float | None) -> Sentence:
        name, code = self.name, str(status)
        match status:
            case 401 | 403 if request is not None:
                return _(
                    "{name} refused the API key. Check the key, and that it allows the model “{model}”.",
                    name=name,
                    model=request.model,
                )
            case 401 | 403:
                return _("{name} refused the API key. Check the key.", name=name)
            case 402:
                return _("{name} requires payment. Check the credit of your account.", name=name)
            case 404 if request is not None:
                return _(
                    "{name} does not have the model “{model}”, or the address is wrong. Check both.",
                    name=name,
                    model=request.model,
                )
            case 404:
                return _("{name} has no list of models, or the address is wrong.", name=name)
            case 413:
                return _("The prompt is too long for {name}. Reduce the context size.", name=name)
            case 429:
                time = _("a moment") if wait is None else plain_wait(wait)
                return _(
                    "{name} received too many requests, or your quota is used up. Wait {time} and try again.",
                    name=name,
                    time=time,
                )
            case _ if 300 <= status < 400 and location:
                return _(
                    "{name} has moved to {address}. Enter the new address.", name=name, address=self._cut(location)
                )
            case _ if 300 <= status < 400:
                return _("{name} has moved. Enter the new address.", name=name)
            case _ if status >= 500:
                return _("{name} has an internal error (status {status}). Try again later.", name=name, status=code)
            case _:
                return _("{name} refused the request (status {status}).", name=name, status=code)

    def _quoting(self, sentence: Sentence, complaint: Complaint | None, request: ChatRequest | None) -> Sentence:
        """The sentence with the provider's own words behind it, where it gave some that can be shown."""
        words = "" if complaint is None else self._cut(complaint.message)
        if not words or _tells(words, request):
            return sentence
        return _("{problem} The provider's message: {message}", problem=sentence, message=words)

    def _cut(self, words: str) -> str:
        """A stranger's words on one line, short, and without our key."""
        if self._key:
            words = words.replace(self._key, "…")
        line = " ".join("".join(c if c.isprintable() else " " for c in words[: 4 * _LONGEST_QUOTE]).split())
        return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"


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
