"""Recorded texts and what RisuAI's parser made of them."""

from __future__ import annotations

from tavernkit.conformance.risuai_scene import options_of, scene_of, variables_after
from tavernkit.risuai.cbs import expand
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """The text that was recorded and ours; the chat's variables too, where they were recorded."""
    env = case["env"]
    scene = scene_of(env)
    expected: dict[str, Json] = {"output": case["output"]}
    actual: dict[str, Json] = {"output": expand(case["input"], scene, options_of(env))}
    if "vars_after" in case:
        expected["vars_after"] = case["vars_after"]
        actual["vars_after"] = variables_after(scene)
    return expected, actual
