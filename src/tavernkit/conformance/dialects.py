"""Recorded conversions of chat messages, run through our dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, get_args

from tavernkit import dialects
from tavernkit.conformance.vectors import Case, Outcome, replay_of
from tavernkit.dialects import Merging, PostProcessing, SpeakerNames
from tavernkit.errors import DialectError
from tavernkit.values import Json


def check(case: Case) -> Outcome:
    """What the case expects, and what we make of its messages.

    Where the application itself failed, our own error or any result at all is agreement.
    """
    replay = replay_of(_REPLAYS, case.get("group"))
    if case.get("throws") or case.get("error"):
        with suppress(DialectError):
            replay(case)
        return "no crash", "no crash"
    return case["expected"], replay(case)


def _names(case: Case) -> SpeakerNames:
    names = case.get("names") or {}
    return SpeakerNames(
        char=names.get("charName") or "",
        user=names.get("userName") or "",
        group=tuple(names.get("groupNames") or ()),
    )


def _placeholder(case: Case) -> str:
    config: Case = case.get("config") or {}
    text: str = config.get("promptPlaceholder", dialects.DEFAULT_PLACEHOLDER)
    return text


def _setting(case: Case, name: str, default: bool) -> bool:
    return bool((case.get("config") or {}).get(name, default))


def _messages(case: Case) -> list[Case]:
    """The messages; the application takes anything that is not a list for none."""
    given = case["args"]["messages"]
    return given if isinstance(given, list) else []


def _convert(case: Case, dialect: str, **options: Json) -> Json:
    return dialects.convert(_messages(case), dialect, names=_names(case), placeholder=_placeholder(case), **options)


def _claude(case: Case) -> Json:
    args = case["args"]
    written: Any = _convert(
        case,
        "anthropic",
        prefill=args.get("prefillString") or "",
        use_system_prompt=bool(args.get("useSysPrompt")),
        use_tools=bool(args.get("useTools")),
    )
    return {"messages": _cut_web_addresses(written["messages"]), "systemPrompt": written["system"]}


def _cut_web_addresses(value: Json) -> Json:
    """The recorded application reads a web address as if it were a data: address, and so sends a picture without bytes
    that no API takes. Ours sends the address; for the comparison alone it is cut the same way."""
    if isinstance(value, list):
        return [_cut_web_addresses(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "url" and isinstance(value.get("url"), str):
        return {"type": "base64", "media_type": value["url"].split(";")[0].split(":")[1]}
    return {key: _cut_web_addresses(item) for key, item in value.items()}


def _google(case: Case) -> Json:
    args = case["args"]
    return _convert(
        case,
        "google",
        model=args.get("model") or "",
        use_system_prompt=bool(args.get("useSysPrompt")),
        thought_signatures=_setting(case, "gemini.thoughtSignatures", True),
    )


def _mistral(case: Case) -> Json:
    return _convert(case, "mistral", prefix_field="prefix" if _setting(case, "mistral.enablePrefix", False) else "")


def _text(case: Case) -> Json:
    # What is text already needs no conversion.
    given = case["args"]["messages"]
    return given if isinstance(given, str) else _convert(case, "text")


def _ai21(case: Case) -> Json:
    # Nothing at all needs no conversion, while a list without messages gets a placeholder.
    return _convert(case, "ai21") if isinstance(case["args"]["messages"], list) else []


def _post_process(case: Case) -> Json:
    args = case["args"]
    mode = args.get("type")
    # A setting that the application does not know means that nothing is done.
    if mode not in get_args(PostProcessing):
        return args["messages"]
    return dialects.post_process(_messages(case), mode, names=_names(case), placeholder=_placeholder(case))


def _merge(case: Case) -> Json:
    merging = Merging(**(case["args"].get("options") or {}))
    return dialects.merge_messages(_messages(case), merging, names=_names(case), placeholder=_placeholder(case))


def _cache_at_depth(case: Case) -> Json:
    args = case["args"]
    return dialects.cache_at_depth(_messages(case), args["cachingAtDepth"], args.get("ttl"))


def _assistant_prefix(case: Case) -> Json:
    args = case["args"]
    return dialects.mark_assistant_prefix(args["prompt"], args["property"], tools=args.get("tools") or ())


_REPLAYS: Mapping[str, Callable[[Case], Json]] = {
    "convertClaudeMessages": _claude,
    "convertGooglePrompt": _google,
    "convertMistralMessages": _mistral,
    "convertCohereMessages": lambda case: {"chatHistory": _convert(case, "cohere")},
    "convertAI21Messages": _ai21,
    "convertXAIMessages": lambda case: _convert(case, "xai"),
    "convertTextCompletionPrompt": _text,
    "postProcessPrompt": _post_process,
    "mergeMessages": _merge,
    "cachingAtDepthForClaude": _cache_at_depth,
    "cachingAtDepthForOpenRouterClaude": _cache_at_depth,
    "cachingSystemPromptForOpenRouter": lambda case: dialects.cache_system_prompt(
        _messages(case), case["args"].get("ttl")
    ),
    "addAssistantPrefix": _assistant_prefix,
}
