"""What the scripted server does with a request: the model's name or the last user message says it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from tavernkit.playground.base.llm.scripted import canned_reply, last_user_message, split_words
from tavernkit.values import Json, JsonObject, Value

LONGEST_REPLY_WORDS = 100_000
_DIRECTIVE = re.compile(r"\[\[(\w+)(?::(.*?))?\]\]", re.DOTALL)
_SPEAKER = re.compile(r"^[^\[\]:]{1,60}: ")
_THOUGHTS = "They would like to know, so I should say what I can see from here."

Ending: TypeAlias = Literal["stop", "length", "hang", "close", "malformed", "complaint", "endless"]


class Act(Value, frozen=True, kw_only=True):
    """How one request is answered.

    `thoughts` come before the words. Behind as many words as each of `holds` says, the reply waits until `gate` is
    opened once more. `error` is an HTTP status instead of a reply, with `retry_after` as its header;
    `first_delay` is seconds before the headers, `page` a web page where a reply was due. `every_other` refuses only
    every other request for the same model. Once `times` requests for the same model have been answered like this, the
    others are answered like `then`, if that is given.
    """

    words: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    gate: str = ""
    holds: tuple[int, ...] = ()
    ending: Ending = "stop"
    error: int | None = None
    retry_after: int | None = None
    first_delay: float = 0
    page: bool = False
    every_other: bool = False
    times: int = 0
    then: Act | None = None


JsonSchema: TypeAlias = Mapping[str, Any]
"""A schema as a client of ours has written it."""

Script: TypeAlias = Callable[[JsonObject], Act]
"""Decides from the body of a request."""

FAULTS = {
    "429": "too many requests, with a `Retry-After` of one second, or of so many: `fault:429:60`",
    "500": "an error of the server; any other status from 400 on goes as well",
    "flaky": "a 503 for every other request",
    "first": "a 500 for the first request, or another fault for so many: `fault:first:2:cut`; then replies",
    "slow": "five seconds before the headers, or so many: `fault:slow:60`",
    "silence": "half of the reply, then nothing",
    "cut": "half of the reply, then the connection drops",
    "malformed": "half of the reply, then an event that is not JSON",
    "complaint": "half of the reply, then an error in the stream",
    "empty": "a reply without text",
    "endless": "a reply that never ends",
    "html": "a web page in place of a reply",
}
"""The names behind `fault:`, and what happens."""

MODELS = ("scripted", "scripted-thinking", *(f"fault:{name}" for name in FAULTS))
_ENDINGS: dict[str, Ending] = {
    "silence": "hang", "cut": "close", "malformed": "malformed", "complaint": "complaint", "endless": "endless"
}  # fmt: skip


def follow_directives(body: JsonObject) -> Act:
    """The script that the model's name steers, or the last user message."""
    message = _last_message(body)
    model = str(body.get("model", ""))
    if model.startswith("fault:"):
        return _fault(message, *model.removeprefix("fault:").split(":", 1))
    found = {name: argument.strip() for name, argument in _DIRECTIVE.findall(message)}
    schema = _schema(body)
    act = _directed(message, found) if schema is None else _held_to(schema, message, found)
    if "hold" in found:
        gate, *holds = found["hold"].split() or [""]
        act = act.with_(gate=gate, holds=tuple(int(words) for words in holds if re.fullmatch(r"\d{1,9}", words)))
    return act.with_(thoughts=_words(_THOUGHTS)) if model == "scripted-thinking" and not act.thoughts else act


def _fault(message: str, name: str, argument: str = "") -> Act:
    words = _words(canned_reply(message))
    half = words[: len(words) // 2]
    if name.isdecimal():
        status = _number(name, default=500, least=400, most=599)
        wait = _number(argument, default=1, least=0, most=86_400) if status == 429 or argument else None
        return Act(error=status, retry_after=wait)
    match name:
        case "first":
            times, _, fault = argument.partition(":")
            act = _fault(message, *(fault or "500").split(":", 1))
            return act.with_(times=_number(times, default=1, least=1, most=1000), then=Act(words=words))
        case "flaky":
            return Act(words=words, error=503, every_other=True)
        case "slow":
            return Act(words=words, first_delay=_number(argument, default=5, least=0, most=86_400))
        case "empty":
            return Act()
        case "html":
            return Act(page=True)
        case _ if name in _ENDINGS:
            return Act(words=half, ending=_ENDINGS[name])
        case _:
            return Act(error=404)


def _directed(message: str, found: dict[str, str]) -> Act:
    thoughts = _words(found.get("think", ""))
    if "error" in found:
        return Act(error=_number(found["error"], default=500, least=400, most=599))
    if "hang" in found:
        return Act(words=_words(found.get("say", "")), thoughts=thoughts, ending="hang")
    if "close" in found:
        words = _words(found.get("say") or canned_reply(""))
        return Act(words=words[: max(1, len(words) // 2)], thoughts=thoughts, ending="close")
    if "empty" in found:
        return Act(thoughts=thoughts)
    if "say" in found:
        return Act(words=_words(found["say"]), thoughts=thoughts)
    if "slow" in found:
        count = _number(found["slow"], default=200, least=1, most=LONGEST_REPLY_WORDS)
        return Act(words=_words(" ".join(f"word{number}" for number in range(1, count + 1))), thoughts=thoughts)
    return Act(words=_words(canned_reply(message)), thoughts=thoughts)


def _schema(body: JsonObject) -> JsonSchema | None:
    """What the answer must fit, where somebody asks for that."""
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
        case {"type": "json_schema"}:
            return {}
        case _:
            return None


def _held_to(schema: JsonSchema, message: str, found: dict[str, str]) -> Act:
    """Faults as they are asked for; else JSON, as `[[json: …]]` says it or as the schema wants it."""
    if "error" in found or "hang" in found:
        return _directed(message, found)
    return Act(words=_words(found.get("json") or json.dumps(json_sample(schema, message), ensure_ascii=False)))


def _last_message(body: JsonObject) -> str:
    """What was said last; of a text that is to be completed, the last line but the one that the reply goes on from."""
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        lines = [line for line in prompt.splitlines() if line.strip()]
        return _SPEAKER.sub("", lines[-2 if len(lines) > 1 else -1]) if lines else ""
    messages = body.get("messages") or body.get("contents")
    return last_user_message(messages if isinstance(messages, list) else ())


def _words(text: str) -> tuple[str, ...]:
    return tuple(split_words(text))


def _number(text: str, *, default: int, least: int, most: int) -> int:
    return min(max(int(text), least), most) if re.fullmatch(r"\d{1,9}", text) else default


def json_sample(schema: JsonSchema, question: str, key: str = "") -> Json:
    """A value that fits a plain schema, small and always the same: a whole number is one more than its key had last in
    the question, so that whoever keeps a record sees it change; texts are named after their keys."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: json_sample(part, question, name) for name, part in properties.items()}
        case "array":
            return [json_sample(schema.get("items", {}), question, key)] * max(schema.get("minItems", 1), 1)
        case "integer" | "number":
            return _counted(schema, question, key)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return (f"some {key or 'words'}").ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def _counted(schema: JsonSchema, question: str, key: str) -> int:
    least, most = int(schema.get("minimum", 1)), schema.get("maximum")
    known = re.findall(rf'"{re.escape(key)}"\s*:\s*(-?\d{{1,9}})', question)
    number = max(int(known[-1]) + 1, least) if known else least
    return number if most is None else min(number, int(most))
