"""Recorded lorebooks and what RisuAI made of them."""

from __future__ import annotations

import math

from tavernkit.conformance.risuai_scene import scene_of, variables_after
from tavernkit.risuai.errors import DecoratorParseError
from tavernkit.risuai.lorebook import ActiveLore, scan
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """The active entries that were recorded and ours; the chat's variables too, where they were recorded. What stopped
    RisuAI must be an error of ours in strict mode, and must not stop us in the normal one."""
    scene = scene_of(case["env"])
    if "error" in case:
        scan(scene)
        try:
            scan(scene, strict=True)
        except DecoratorParseError:
            return "an error", "an error"
        return "an error", "none"
    result = scan(scene)
    for _ in range(1, case.get("passes", 1)):
        result = scan(scene)
    expected: dict[str, Json] = {"active": case["expected"]}
    actual: dict[str, Json] = {"active": [_active(lore) for lore in result.active]}
    if "vars_after" in case:
        expected["vars_after"] = case["vars_after"]
        actual["vars_after"] = variables_after(scene)
    return expected, actual


def _active(lore: ActiveLore) -> Json:
    inject = lore.inject
    return {
        "depth": lore.depth,
        "pos": lore.pos,
        "prompt": lore.prompt,
        "role": lore.role,
        "order": lore.order,
        "tokens": lore.tokens,
        "priority": None if math.isnan(lore.priority) else lore.priority,
        "source": lore.source,
        "inject": None
        if inject is None
        else {
            "operation": inject.operation,
            "location": inject.location,
            "param": inject.param,
            "lore": inject.lore,
        },
    }
