"""Recorded text completions, built through our front door."""

from __future__ import annotations

from tavernkit.conformance.prompt_cases import case_inputs, case_story
from tavernkit.sillytavern.building import build
from tavernkit.sillytavern.presets import TextPreset
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """The text, and where the reply is to stop."""
    inputs = case_inputs(case)
    inputs["preset"] = TextPreset(max_length=case["max_context"], genamt=case["max_tokens"])
    plan = build(**inputs, story=case_story(case)).plan
    recorded = case["expected"]
    return (
        {"prompt": recorded["prompt"], "stop": recorded["stop"]},
        {"prompt": plan.to_messages("text"), "stop": plan.llm_options.get("stop", [])},
    )
