"""Recorded runs of RisuAI's triggers, replayed through ours."""

from __future__ import annotations

from tavernkit.conformance.risuai_scene import scene_of, variables_after
from tavernkit.risuai.chat import write_message
from tavernkit.risuai.lore_entry import LoreEntry, write_lore_entry
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.triggers import TriggerOutcome, TriggerResult, run_triggers
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """What the run returned, the chat's variables, and what it changed about the character and the user."""
    scene, argument = scene_of(case["env"]), case.get("arg") or {}
    before, note = _changeable(scene), scene.chat.note
    result = run_triggers(
        scene,
        case["mode"],
        manual_name=argument.get("manualName"),
        trigger_id=argument.get("triggerId"),
        display_data=argument.get("displayData", "null") if argument.get("displayMode") else None,
        temporary=argument.get("tempVars"),
    )
    expected: dict[str, Json] = {"vars_after": case["vars_after"]}
    actual: dict[str, Json] = {"vars_after": variables_after(scene)}
    if "error" in case:
        expected["failed"], actual["failed"] = True, result.outcome is TriggerOutcome.FAILED
    else:
        recorded = case["result"]
        expected["result"], actual["result"] = recorded, _result(result, scene, recorded, note)
    for name, value in _changeable(scene).items():
        expected[name], actual[name] = case.get(name, before[name]), value
    return expected, actual


def _result(result: TriggerResult, scene: RisuScene, recorded: Json, note: str) -> Json:
    match result.outcome:
        case TriggerOutcome.NO_TRIGGERS:
            return None
        case TriggerOutcome.RETURNED:
            return "undefined"
        case TriggerOutcome.FAILED:
            return [warning.message for warning in result.warnings]
    prompts = result.prompts
    ours: dict[str, Json] = {
        "additional_sys_prompt": {
            "start": prompts.start,
            "historyend": prompts.historyend,
            "promptend": prompts.promptend,
        },
        "messages": [write_message(message) for message in result.messages],
        "tokens": result.tokens,
        "stop_sending": result.stop_sending,
        "send_ai_prompt": result.send_ai_prompt,
        "chat_vars": variables_after(scene),
    }
    if result.display_data is not None:
        ours["display_data"] = result.display_data
    if isinstance(recorded, dict):  # these two were recorded only where there was something to record
        if "temp_vars" in recorded or result.temporary:
            ours["temp_vars"] = dict(result.temporary)
        if "note" in recorded or result.note != note:
            ours["note"] = result.note
    return ours


def _changeable(scene: RisuScene) -> dict[str, Json]:
    """What triggers may change outside the chat."""
    character = scene.character
    lore: tuple[LoreEntry, ...] = () if character is None else character.lore
    return {
        "lore_after": [write_lore_entry(entry) for entry in lore],
        "desc_after": "" if character is None else character.description,
        "persona_after": scene.persona,
        "replace_global_note_after": "" if character is None else character.replace_global_note,
    }
