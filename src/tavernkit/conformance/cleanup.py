"""What is done to replies: the whole cleaning, its parts, and the stopping strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from tavernkit.conformance.macro_cases import case_environment
from tavernkit.sillytavern.cleanup import (
    clean_reply,
    collapse_newlines,
    fix_markdown,
    trim_to_end_sentence,
    trim_to_start_sentence,
)
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.regex_scripts import (
    Placement,
    RegexScripts,
    apply_scripts,
    embedded_scripts,
    macro_expander,
)
from tavernkit.sillytavern.settings import read_user_settings
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.values import Json, JsonObject

_ENGINE = ParserMacros("1.15")


def check(case: JsonObject) -> tuple[Json, Json]:
    """Replay one call of one of the functions of the file."""
    return case["expected"], _REPLAYS[case["fn"]](case)


def _stops(case: JsonObject) -> list[str]:
    args, chat = case["args"], case.get("chat", [])
    environment = case_environment({"user": case["user"], "char": case["char"]})
    return list(
        stopping_strings(
            read_user_settings(case["settings"]),
            user_name=case["user"],
            character_name=case["char"],
            group_names=case.get("group_members", ()),
            is_impersonate=args.get("isImpersonate", False),
            is_continue=args.get("isContinue", False),
            last_is_user=bool(chat) and chat[-1].get("is_user", False),
            api=_api(case),
            expand=lambda text: _ENGINE.expand(text, environment),
        )
    )


def _clean(case: JsonObject) -> str:
    args = case["args"]
    expand = macro_expander(_ENGINE, case_environment({"user": case["user"], "char": case["char"]}))
    is_impersonate = args.get("isImpersonate", False)
    given = args.get("stoppingStrings")
    return clean_reply(
        args["getMessage"],
        settings=read_user_settings(case["settings"]),
        user_name=case["user"],
        character_name=case["char"],
        group_names=case.get("group_members", ()),
        is_impersonate=is_impersonate,
        is_continue=args.get("isContinue", False),
        stopping_strings=_stops(case) if given is None else given,
        api=_api(case),
        expand=expand,
        apply_regex=partial(
            apply_scripts,
            scripts=RegexScripts(global_=embedded_scripts({"regex_scripts": case.get("regex_scripts", [])})),
            placement=Placement.USER_INPUT if is_impersonate else Placement.AI_OUTPUT,
            expand=expand,
        ),
        add_bias=args.get("includeUserPromptBias", True),
        trim_names=args.get("trimNames", True),
        trim_wrong_names=args.get("trimWrongNames", True),
        keep_unfinished_sentence=args.get("displayIncompleteSentences", False),
    )


def _api(case: JsonObject) -> Literal["chat", "text"]:
    return "chat" if case["main_api"] == "openai" else "text"


_REPLAYS: Mapping[str, Callable[[JsonObject], Json]] = {
    "cleanUpMessage": _clean,
    "getStoppingStrings": _stops,
    "fixMarkdown": lambda case: fix_markdown(case["args"]["text"], for_display=case["args"].get("forDisplay", False)),
    "trimToEndSentence": lambda case: trim_to_end_sentence(case["args"]["input"]),
    "trimToStartSentence": lambda case: trim_to_start_sentence(case["args"]["input"]),
    "collapseNewlines": lambda case: collapse_newlines(case["args"]["x"]),
}
