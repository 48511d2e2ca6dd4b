"""Recorded prompts of RisuAI, built through our front door."""

from __future__ import annotations

import random
from collections.abc import Callable

from tavernkit.characters.character import User
from tavernkit.conformance.risuai_scene import scene_of, variables_after
from tavernkit.errors import TavernKitError
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.plan import Plan
from tavernkit.risuai.building import build, prompt_pipeline
from tavernkit.risuai.chat_history import to_history
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.story import Story
from tavernkit.values import Json, JsonObject


class RecordedRandom(random.Random):
    """Gives the numbers that `Math.random` gave."""

    def __init__(self, draw: Callable[[], float]) -> None:
        super().__init__(0)
        self._draw = draw

    def random(self) -> float:
        return self._draw()


def check(case: JsonObject) -> tuple[Json, Json]:
    """The messages before the request, those of the request itself, and the variables."""
    scene = scene_of(case["env"])
    expected: dict[str, Json] = {"ok": case.get("ok"), "vars_after": case.get("vars_after")}
    actual: dict[str, Json] = {}
    try:
        plan = _build(scene, case, prompt_pipeline().remove("request"))
    except TavernKitError:
        actual["ok"] = False
    else:
        actual["ok"] = True
        expected["formated"] = [_said(message) for message in case.get("formated", ())]
        actual["formated"] = [_said({"role": block.role, "content": block.content}) for block in plan.enabled_blocks]
    if "error" in case:
        # The application itself failed here; to come this far without a crash is all that is asked.
        return expected, expected
    actual["vars_after"] = variables_after(scene)
    if "request_messages" in case:
        expected["request_messages"] = case["request_messages"]
        actual["request_messages"] = _build(scene_of(case["env"]), case, prompt_pipeline()).to_messages("openai")
    return expected, actual


def _said(message: JsonObject) -> JsonObject:
    return {"role": message["role"], "content": message["content"]}


def _build(scene: RisuScene, case: JsonObject, pipeline: Pipeline) -> Plan:
    chat = scene.chat
    inputs: BuildInputs = {
        "user": User(name=scene.user_name, persona=scene.persona),
        "history": to_history(chat.messages),
        "preset": scene.settings,
        "generation_type": "continue" if (case.get("arg") or {}).get("continue") else "normal",
        "variables": scene.variables,
        "estimator": scene.estimator,
        "clock": scene.now,
        "rng": RecordedRandom(scene.random),
    }
    story = Story(
        character=scene.character,
        modules=tuple(scene.modules),
        greeting=chat.greeting_index,
        note=chat.note,
        lore=tuple(chat.lore),
        chat_id=chat.id,
        memory_state=chat.memory,
    )
    return build(story=story, pipeline=pipeline, **inputs).plan
