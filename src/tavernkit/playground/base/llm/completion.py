"""What one answer of a server says, whichever protocol it speaks; and reading what an OpenAI-style server answers."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.playground.base.llm.base import Counts
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, Value

_REASONS = {"eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}

LONGEST_NAME = 200
MOST_MODELS = 5000
_MOST_TOKENS = 2**31 - 1
_HIGHEST_COST = 1e9


class Complaint(Value, frozen=True, kw_only=True):
    """What a provider says went wrong, in its own words; `blocked` when it does not want to answer this prompt."""

    message: str
    status: int | None = None
    retry_after: float | None = None
    blocked: bool = False


class Completion(Value, frozen=True, kw_only=True):
    """What one answer or one chunk of it carries; all of it is optional. `is_end`: nothing of interest follows."""

    has_choice: bool = False
    text: str = ""
    thought: str = ""
    reason: str | None = None
    counts: Counts = Counts()
    complaint: Complaint | None = None
    is_end: bool = False


def read_completion(source: str | bytes) -> Completion | None:
    """Read a chunk or a whole completion; None for JSON that is no object. Raises ParseError for what is not JSON."""
    body = read_object(source)
    if body is None:
        return None
    complaint = _complaint(body)
    if complaint is not None:
        return Completion(complaint=complaint)
    counted = Completion(counts=_counts(body))
    # Only the first of several alternatives is read: nobody asks for more than one.
    for choice in body.objects("choices"):
        if choice.integer("index") != 0:
            continue
        message = choice.nested("delta" if choice.has("delta") else "message")
        content = message.raw("content")
        reason = choice.text("finish_reason").lower()
        return counted.with_(
            # A completion of a text has it beside the reason, without a message around it.
            text=_text(content, "text") or _text(choice.raw("text"), "text"),
            thought=_thought(message) or _text(content, "thinking"),
            reason=_REASONS.get(reason, reason) or None,
            has_choice=True,
        )
    return counted


def read_complaint(source: bytes) -> Complaint | None:
    """Find the provider's own words in the body of a refusal. Raises ParseError for what is not JSON."""
    body = read_object(source)
    return None if body is None else _complaint(body)


def read_models(source: bytes, chosen: Callable[[list[LooseObject]], list[LooseObject]]) -> tuple[str, ...] | None:
    """The names of those that are chosen from the list, however it is wrapped; None for what is no list.

    Raises ParseError for what is not JSON.
    """
    body = parse_json(source, what="The list")
    if isinstance(body, dict):
        wrapped = LooseObject(body, ReportBuilder()).raw("data", "models")
        body = [] if wrapped is None and "object" in body else wrapped
    if not isinstance(body, list):
        return None
    names = [_name(model) for model in chosen(listed(body[:MOST_MODELS]))]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST_NAME and name.isprintable()))


def _name(model: LooseObject) -> str:
    return model.text("id", "name").removeprefix("models/")


def read_object(source: str | bytes) -> LooseObject | None:
    """The object that an answer is; of a list, its first one, as a server may write an error."""
    value = parse_json(source, what="The answer")
    if isinstance(value, list) and value:
        value = value[0]
    return LooseObject(value, ReportBuilder()) if isinstance(value, dict) else None


def listed(values: Json) -> list[LooseObject]:
    """The objects in what should be a list."""
    return list(LooseObject({"list": values}, ReportBuilder()).objects("list"))


def count(usage: LooseObject, key: str) -> int | None:
    """A number of tokens that can be one."""
    number = usage.optional_integer(key)
    return number if number is not None and 0 <= number <= _MOST_TOKENS else None


def tokens_in_all(*counts: int | None) -> int | None:
    """The sum of the counts that are known; None when none is."""
    known = [number for number in counts if number is not None]
    return sum(known) if known else None


def _counts(body: LooseObject) -> Counts:
    usage = body.nested("usage")
    cost = usage.optional_number("cost")
    return Counts(
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        thought_tokens=count(usage.nested("completion_tokens_details"), "reasoning_tokens"),
        cached_tokens=_cached(body, usage),
        cost=float(cost) if cost is not None and 0 <= cost <= _HIGHEST_COST else None,
    )


def _cached(body: LooseObject, usage: LooseObject) -> int | None:
    """OpenAI's name for it, DeepSeek's, or that of llama.cpp's server, which counts it among its times."""
    known = count(usage.nested("prompt_tokens_details"), "cached_tokens")
    if known is None:
        known = count(usage, "prompt_cache_hit_tokens")
    return count(body.nested("timings"), "cache_n") if known is None else known


def _complaint(body: LooseObject) -> Complaint | None:
    error = body.raw("error")
    if isinstance(error, dict):
        inner = LooseObject(error, body.report)
        code = inner.raw("code")
        status = code if isinstance(code, int) and 400 <= code <= 599 else None
        return Complaint(message=inner.text("message"), status=status, retry_after=_delay(inner))
    if isinstance(error, str) and error:
        return Complaint(message=error)
    if not body.has("choices"):
        # FastAPI-made servers say `detail`, a few others a bare `message`.
        words = body.raw("message", "detail")
        return Complaint(message=words) if isinstance(words, str) and words else None
    return None


def _delay(error: LooseObject) -> float | None:
    """The wait that Google's errors ask for, such as `"retryDelay": "34s"` among the details."""
    for detail in listed(error.raw("details")):
        delay = detail.text("retryDelay").removesuffix("s")
        if delay.replace(".", "", 1).isdecimal():
            return float(delay)
    return None


def _thought(message: LooseObject) -> str:
    """The names that servers have for it; some send the same words under both."""
    for key in ("reasoning_content", "reasoning"):
        value = message.raw(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _text(content: Json, kind: str) -> str:
    """Content is text or nothing, or a list of typed parts, of which thoughts may be lists again."""
    if isinstance(content, str):
        return content if kind == "text" else ""
    return "".join(_part(part, kind) for part in listed(content) if part.text("type") == kind)


def _part(part: LooseObject, kind: str) -> str:
    value = part.raw(kind, "text")
    return value if isinstance(value, str) else _text(value, "text")
