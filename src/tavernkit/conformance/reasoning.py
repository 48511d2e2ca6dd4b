"""Thoughts in replies: parsed whole and as they arrive, received, formatted, and sent back with the chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tavernkit.conformance.macro_cases import case_environment
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.sillytavern.reasoning import (
    ChatThought,
    PromptReasoning,
    ReasoningPrefix,
    ReasoningStream,
    StreamedReply,
    format_reasoning,
    parse_reasoning,
    receive_reply,
    remove_reasoning,
    returned_reasoning,
)
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Json, JsonObject

_ENGINE = ParserMacros("1.15")


def check(case: JsonObject) -> tuple[Json, Json]:
    """Replay one case of any of the groups of the file."""
    return case["expected"], _REPLAYS[case["group"]](case)


def _expand(case: JsonObject) -> Callable[[str], str]:
    environment = case_environment({"user": case["user"], "char": case.get("speaker", case["char"])})
    return lambda text: _ENGINE.expand(text, environment)


def _template(case: JsonObject) -> ReasoningTemplate:
    return decode(ReasoningTemplate, case["template"], ReportBuilder())


def _settings(case: JsonObject) -> ReasoningSettings:
    return decode(ReasoningSettings, case["reasoning_settings"], ReportBuilder())


def _parse(case: JsonObject) -> Json:
    parsed = parse_reasoning(
        case["text"], _template(case), strict=case.get("strict", True), trim_spaces=case["trim_spaces"]
    )
    return None if parsed is None else {"reasoning": parsed.reasoning, "content": parsed.content}


def _remove(case: JsonObject) -> Json:
    return remove_reasoning(case["text"], _settings(case), trim_spaces=case["trim_spaces"])


def _continued(case: JsonObject) -> ReasoningPrefix | None:
    begun = case.get("continue_prefix")
    if begun is None:
        return None
    prompt = PromptReasoning(_settings(case), expand=_expand(case))
    prompt.add(begun["content"], begun["reasoning"], continued=True)
    return prompt.prefix


def _stream(case: JsonObject) -> Json:
    stream = ReasoningStream(_settings(case), trim_spaces=case["trim_spaces"], continues=_continued(case))
    steps = [{**_seen(reply), "type": reply.origin} for reply in map(stream.update, case["partials"])]
    return {"steps": steps, "final": _seen(stream.finish())}


def _seen(reply: StreamedReply) -> dict[str, Json]:
    return {"mes": reply.content, "reasoning": reply.reasoning, "state": str(reply.state)}


def _received(case: JsonObject) -> Json:
    message = case["message"]
    extra = message.get("extra", {})
    continued = _continued(case) if case["event"] == "received" else None
    reply = receive_reply(
        message["mes"],
        _settings(case),
        known=extra.get("reasoning"),
        known_origin=extra.get("reasoning_type"),
        unfinished=continued.unfinished if continued else "",
        trim_spaces=case["trim_spaces"],
    )
    return {"mes": reply.content, "reasoning": reply.reasoning, "reasoning_type": reply.origin}


def _add_to_message(case: JsonObject) -> Json:
    prompt = PromptReasoning(_settings(case), expand=_expand(case))
    steps = []
    for step in case["steps"]:
        before = prompt.limit_reached
        output = prompt.add(step["content"], step["reasoning"], continued=step["is_prefix"])
        steps.append(
            {
                "limit_reached_before": before,
                "output": output,
                "counter": prompt.count,
                "limit_reached_after": prompt.limit_reached,
                "without_prefix": prompt.prefix.removed_from(output),
            }
        )
    return {
        "steps": steps,
        "prefix_length": utf16_length(prompt.prefix.formatted) or -1,
        "prefix_incomplete": prompt.prefix.open,
        "latest_prefix": prompt.prefix.unfinished,
    }


def _format(case: JsonObject) -> Json:
    formatted = format_reasoning(case["reasoning"], case["content"], _template(case), expand=_expand(case))
    return {"formatted": formatted, "contentOnly": case["content"]}


def _prompt(case: JsonObject) -> Json:
    in_group = "group_members" in case
    visible = [line for line in case["chat"] if not line.get("is_system")]
    chat = [
        ChatThought(
            content=line["mes"],
            name=line.get("name") or (case["user"] if line["is_user"] else case["char"]),
            reasoning=line.get("extra", {}).get("reasoning", ""),
        )
        for line in visible
    ]
    contents = returned_reasoning(
        chat,
        PromptReasoning(_settings(case), expand=_expand(case)),
        is_continue=case["type"] == "continue",
        speaker=case["speaker"] if in_group else None,
    )
    messages = []
    for line, thought, content in zip(visible, chat, contents, strict=True):
        named = in_group and not line["is_user"]
        messages.append(
            {
                "role": "user" if line["is_user"] else "assistant",
                "content": f"{thought.name}: {content}" if named else content,
            }
        )
    return {"history_messages": messages}


_REPLAYS: Mapping[str, Callable[[JsonObject], Json]] = {
    "parse": _parse,
    "parse_template": _parse,
    "remove": _remove,
    "stream": _stream,
    "received": _received,
    "add_to_message": _add_to_message,
    "format": _format,
    "prompt": _prompt,
}
