"""Recorded chat completions, built through our front door."""

from __future__ import annotations

from tavernkit.conformance.prompt_cases import case_inputs, case_story
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.building import build
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """The messages, what post-processing makes of them, and what they cost."""
    preset = decode(ChatPreset, case["preset"], ReportBuilder())
    inputs = case_inputs(case)
    inputs["preset"] = preset
    plan = build(**inputs, story=case_story(case)).plan
    recorded = case["expected"]
    expected: dict[str, Json] = {"messages": recorded["messages"]}
    actual: dict[str, Json] = {"messages": plan.to_messages("openai", post_processing="none")}
    if "upstream_messages" in recorded:
        expected["upstream_messages"] = recorded["upstream_messages"]
        actual["upstream_messages"] = plan.to_messages("openai")
    if not preset.squash_system_messages and plan.trim_report is not None:
        expected["token_total"] = recorded["token_total"]
        actual["token_total"] = plan.trim_report.final_tokens
    return expected, actual
