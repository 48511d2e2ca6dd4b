"""Recorded runs of RisuAI's regex scripts, replayed through ours."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.conformance.risuai_scene import scene_of
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.chat import write_message
from tavernkit.risuai.regex_scripts import apply_scripts
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """The text, whether the emotion changed, what kind of thing went wrong, and the messages afterwards."""
    env, conditions = case["env"], case.get("cbsConditions") or {}
    scene = scene_of(env)
    before = [write_message(message) for message in scene.chat.messages]
    options = CBSOptions(chat_role=conditions.get("chatRole"), is_first_message=conditions.get("firstmsg", False))
    result = apply_scripts(case["input"], scene, case["mode"], chat_index=case.get("chatID", -1), options=options)
    expected: dict[str, Json] = {
        "output": case["output"],
        "emo_changed": case.get("emo_changed", False),
        "script_errors": _recorded_kinds(case.get("script_errors") or ()),
        "messages_after": case.get("messages_after", before),
    }
    actual: dict[str, Json] = {
        "output": result.text,
        "emo_changed": result.emotion is not None,
        "script_errors": _kinds(result.warnings),
        "messages_after": [write_message(message) for message in scene.chat.messages],
    }
    return expected, actual


def _recorded_kinds(errors: Iterable[str]) -> list[str]:
    """Each browser has its own words for what is wrong with a pattern; what counts is that the pattern is what is."""
    return ["pattern" if error.startswith("Invalid ") else "missing" for error in errors]


def _kinds(warnings: Iterable[BuildWarning]) -> list[str]:
    return ["pattern" if warning.code.startswith("regex_") else "missing" for warning in warnings]
