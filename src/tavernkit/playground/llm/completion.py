"""Reading what an OpenAI-style server answers: one chunk of a stream, or one whole completion."""

from __future__ import annotations

from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, Value

__all__ = ["Complaint", "Completion", "read_complaint", "read_completion"]

_REASONS = {"eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}

_MOST_TOKENS = 2**31 - 1


class Complaint(Value, frozen=True, kw_only=True):
    """What a provider says went wrong, in its own words."""

    message: str
    status: int | None = None


class Completion(Value, frozen=True, kw_only=True):
    """What one answer or one chunk of it carries; all of it is optional."""

    has_choice: bool = False
    text: str = ""
    reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    complaint: Complaint | None = None


def read_completion(source: str | bytes) -> Completion | None:
    """Read a chunk or a whole completion; None for JSON that is no object. Raises ParseError for what is not JSON."""
    body = _object(source)
    if body is None:
        return None
    complaint = _complaint(body)
    if complaint is not None:
        return Completion(complaint=complaint)
    usage = body.nested("usage")
    counted = Completion(
        prompt_tokens=_count(usage, "prompt_tokens"), completion_tokens=_count(usage, "completion_tokens")
    )
    # Only the first of several alternatives is read: nobody asks for more than one.
    for choice in body.objects("choices"):
        if choice.integer("index") != 0:
            continue
        content = choice.nested("delta" if choice.has("delta") else "message").raw("content")
        reason = choice.text("finish_reason").lower()
        return counted.with_(text=_text(content), reason=_REASONS.get(reason, reason) or None, has_choice=True)
    return counted


def read_complaint(source: bytes) -> Complaint | None:
    """Find the provider's own words in the body of a refusal. Raises ParseError for what is not JSON."""
    body = _object(source)
    return None if body is None else _complaint(body)


def _object(source: str | bytes) -> LooseObject | None:
    value = parse_json(source, what="The answer")
    return LooseObject(value, ReportBuilder()) if isinstance(value, dict) else None


def _complaint(body: LooseObject) -> Complaint | None:
    error = body.raw("error")
    if isinstance(error, dict):
        inner = LooseObject(error, body.report)
        code = inner.raw("code")
        status = code if isinstance(code, int) and 400 <= code <= 599 else None
        return Complaint(message=inner.text("message", default="no reason given"), status=status)
    if isinstance(error, str) and error:
        return Complaint(message=error)
    if not body.has("choices"):
        # FastAPI-made servers say `detail`, a few others a bare `message`.
        words = body.raw("message", "detail")
        return Complaint(message=words) if isinstance(words, str) and words else None
    return None


def _count(usage: LooseObject, key: str) -> int | None:
    count = usage.optional_integer(key)
    return count if count is not None and 0 <= count <= _MOST_TOKENS else None


def _text(content: Json) -> str:
    """Content is text or nothing, or a list of typed parts of which only the text ones are for the reader."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = LooseObject({"content": content}, ReportBuilder()).objects("content")
        return "".join(part.text("text") for part in parts if part.text("type") == "text")
    return ""
