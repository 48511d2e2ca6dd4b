"""Talking to Anthropic's Messages API, and to servers that speak it."""

from __future__ import annotations

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, Counts
from tavernkit.playground.base.llm.completion import (
    Complaint,
    Completion,
    count,
    listed,
    read_completion,
    read_object,
    tokens_in_all,
)
from tavernkit.playground.base.llm.http_model import OPENAI_FIELDS, HttpModel, wanted_fields, wanted_stops
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.reading import LooseObject
from tavernkit.values import JsonObject

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 1024
"""The API demands a limit."""

_STRANGE = OPENAI_FIELDS | {"frequency_penalty", "presence_penalty", "seed"}
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicClient(HttpModel):
    """A ModelClient with a base URL such as `https://api.anthropic.com/v1`."""

    address_hint = _("Enter the base URL of an Anthropic-compatible API; it usually ends in /v1.")
    dialect = "anthropic"
    models_path = "/models?limit=1000"
    endings = ("/messages",)
    usual_path = "/v1"
    key_header = ("x-api-key", "")
    headers = {"anthropic-version": VERSION}

    def _question(self, request: ChatRequest) -> tuple[str, JsonObject]:
        fields = {key: value for key, value in wanted_fields(request).items() if key not in _STRANGE}
        if fields.get("top_p") == 1 and fields.get("temperature") is not None:
            # It changes nothing, and newer models take only one of the two.
            del fields["top_p"]
        written = self._written_fields(request)
        # Texts of white space alone are refused, and so is an empty list.
        stops = [text for text in wanted_stops(request) if text.strip()]
        return "/messages", {
            **fields,
            **written,
            "system": written.get("system") or None,
            "model": request.model,
            "max_tokens": fields.get("max_tokens") or DEFAULT_MAX_TOKENS,
            "stop_sequences": stops or None,
            "stream": self._streams,
        }

    def _read(self, source: str | bytes) -> Completion | None:
        body = read_object(source)
        return None if body is None else _read_event(body, source)


def _read_event(body: LooseObject, source: str | bytes) -> Completion | None:
    match body.text("type"):
        case "message_start":
            return Completion(counts=_counts(body.nested("message").nested("usage")))
        case "content_block_start":
            return _block(body.nested("content_block"))
        case "content_block_delta":
            return _block(body.nested("delta"))
        case "message_delta":
            reason = _reason(body.nested("delta"))
            return Completion(reason=reason, counts=_counts(body.nested("usage")))
        case "message_stop":
            return Completion(is_end=True)
        case "message":
            blocks = [_block(block) for block in listed(body.raw("content"))]
            return Completion(
                has_choice=True,
                text="".join(block.text for block in blocks),
                thought="".join(block.thought for block in blocks),
                reason=_reason(body),
                counts=_counts(body.nested("usage")),
            )
        case "error":
            error = body.nested("error")
            words = error.text("message")
            return Completion(complaint=Complaint(message=words, status=_STATUSES.get(error.text("type"))))
        case "":
            # Proxies complain in OpenAI's words, and send nothing else without a type.
            return read_completion(source)
        case _:
            return Completion()


def _block(block: LooseObject) -> Completion:
    match block.text("type"):
        case "text" | "text_delta":
            return Completion(text=block.text("text"))
        case "thinking" | "thinking_delta":
            return Completion(thought=block.text("thinking"))
        case _:
            return Completion()


def _reason(message: LooseObject) -> str | None:
    reason = message.text("stop_reason")
    return _REASONS.get(reason, reason) or None


def _counts(usage: LooseObject) -> Counts:
    cached = count(usage, "cache_read_input_tokens")
    written = count(usage, "cache_creation_input_tokens")
    fresh = count(usage, "input_tokens")
    # A later event may repeat a part of the figures; the sum is right only where the first of them is there.
    prompt = None if fresh is None else tokens_in_all(fresh, cached, written)
    return Counts(
        prompt_tokens=prompt,
        completion_tokens=count(usage, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
    )


ANTHROPIC = ProviderKind(
    id="anthropic",
    label="Anthropic",
    client=AnthropicClient,
    dialect=AnthropicClient.dialect,
    home="https://api.anthropic.com/v1",
    settings=frozenset({"effort"}),
    samplers=("top_p", "top_k"),
    ranges={"temperature": (0, 1), "top_p": (0, 1), "top_k": (0, 500)},
    risu_model="claude",
)
