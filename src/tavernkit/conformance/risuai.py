"""Recorded cases of RisuAI, replayed in the scene that they describe."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from tavernkit.characters.character import User
from tavernkit.conformance.vectors import Case, Outcome, compare, loose
from tavernkit.errors import TavernKitError
from tavernkit.macros.variables import Variables
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import default_estimator
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.building import build, prompt_pipeline
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import read_character
from tavernkit.risuai.chat import RisuChat, read_message, write_message
from tavernkit.risuai.chat_history import to_history
from tavernkit.risuai.errors import DecoratorParseError
from tavernkit.risuai.lore_entry import read_lore, write_lore_entry
from tavernkit.risuai.lorebook import ActiveLore, scan
from tavernkit.risuai.module import read_module
from tavernkit.risuai.regex_scripts import apply_scripts
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import read_settings
from tavernkit.risuai.story import Story
from tavernkit.risuai.triggers import TriggerOutcome, TriggerResult, run_triggers
from tavernkit.values import Json, as_json

DEFAULT_NOW = 1741529225000  # 2025-03-09T14:07:05Z
DEFAULT_CHARACTER: Case = {"chaId": "cha-7781", "firstMessage": "", "desc": ""}


class WordCount:
    """RisuAI's count for a model it has no tokenizer for: words between white space."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the protocol's signature
        return len(text.split())


class RecordedRandom(random.Random):
    """Gives the numbers that `Math.random` gave."""

    def __init__(self, draw: Callable[[], float]) -> None:
        super().__init__(0)
        self._draw = draw

    def random(self) -> float:
        return self._draw()


def check_text(case: Case) -> Outcome:
    """The text that the parser made, and the chat's variables."""
    scene = recorded_scene(case["env"])
    output = expand(case["input"], scene, _options(case["env"].get("parser") or {}))
    return compare(case, {"output": output}, vars_after=scene.variables.snapshot())


def check_lorebook(case: Case) -> Outcome:
    """The active entries, and the chat's variables. What stopped RisuAI must be an error of ours in strict mode, and
    must not stop us in the normal one."""
    scene = recorded_scene(case["env"])
    result = scan(scene)
    if "error" in case:
        try:
            scan(scene, strict=True)
        except DecoratorParseError:
            return "an error", "an error"
        return "an error", "none"
    for _ in range(1, case.get("passes", 1)):
        result = scan(scene)
    active = [_active(lore) for lore in result.active]
    return compare(case, {"expected": active}, vars_after=scene.variables.snapshot())


def _active(lore: ActiveLore) -> Json:
    names = ("depth", "pos", "prompt", "role", "order", "tokens", "source", "inject")
    recorded: dict[str, Json] = {name: as_json(getattr(lore, name)) for name in names}
    return {**recorded, "priority": None if math.isnan(lore.priority) else lore.priority}


def check_regex_scripts(case: Case) -> Outcome:
    """The text, whether the emotion changed, what kind of thing went wrong, and the messages afterwards."""
    scene = recorded_scene(case["env"])
    before = _messages(scene)
    options = _options({"cbsConditions": case.get("cbsConditions")})
    result = apply_scripts(case["input"], scene, case["mode"], chat_index=case.get("chatID", -1), options=options)
    kinds = _recorded_kinds(case.get("script_errors") or ())
    recorded: Case = {"emo_changed": False, "messages_after": before, **case, "script_errors": kinds}
    ours = {
        "output": result.text,
        "emo_changed": result.emotion is not None,
        "script_errors": _kinds(result.warnings),
        "messages_after": _messages(scene),
    }
    return compare(recorded, ours)


def _recorded_kinds(errors: Iterable[str]) -> list[str]:
    """Each browser has its own words for what is wrong with a pattern; what counts is that the pattern is what is."""
    return ["pattern" if error.startswith("Invalid ") else "missing" for error in errors]


def _kinds(warnings: Iterable[BuildWarning]) -> list[str]:
    return ["pattern" if warning.code.startswith("regex_") else "missing" for warning in warnings]


def check_triggers(case: Case) -> Outcome:
    """What the run returned, the chat's variables, and what it changed about the character and the user."""
    scene, argument = recorded_scene(case["env"]), case.get("arg") or {}
    before, note = _changeable(scene), scene.chat.note
    result = run_triggers(
        scene,
        case["mode"],
        manual_name=argument.get("manualName"),
        trigger_id=argument.get("triggerId"),
        display_data=argument.get("displayData", "null") if argument.get("displayMode") else None,
        temporary=argument.get("tempVars"),
    )
    ours = {"vars_after": scene.variables.snapshot(), **_changeable(scene)}
    if "error" in case:
        ours["failed"] = result.outcome is TriggerOutcome.FAILED
    else:
        ours["result"] = _result(result, scene, case["result"], note)
    return compare({**before, **case, "failed": True}, ours)


def _result(result: TriggerResult, scene: RisuScene, recorded: Json, note: str) -> Json:
    match result.outcome:
        case TriggerOutcome.NO_TRIGGERS:
            return None
        case TriggerOutcome.RETURNED:
            return "undefined"
        case TriggerOutcome.FAILED:
            return [warning.message for warning in result.warnings]
    ours: dict[str, Json] = {
        "additional_sys_prompt": as_json(result.prompts),
        "messages": [write_message(message) for message in result.messages],
        "tokens": result.tokens,
        "stop_sending": result.stop_sending,
        "send_ai_prompt": result.send_ai_prompt,
        "chat_vars": scene.variables.snapshot(),
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
    return {
        "lore_after": [] if character is None else [write_lore_entry(entry) for entry in character.lore],
        "desc_after": "" if character is None else character.description,
        "persona_after": scene.persona,
        "replace_global_note_after": "" if character is None else character.replace_global_note,
    }


def check_prompt(case: Case) -> Outcome:
    """The messages before the request, those of the request itself, and the variables."""
    scene = recorded_scene(case["env"])
    expected: dict[str, Json] = {"ok": case.get("ok"), "vars_after": case.get("vars_after")}
    actual: dict[str, Json] = {}
    try:
        plan = _build(scene, case, prompt_pipeline().remove("request"))
    except TavernKitError:
        actual["ok"] = False
    else:
        actual["ok"] = True
        expected["formated"] = [(message["role"], message["content"]) for message in case.get("formated", ())]
        actual["formated"] = [(block.role, block.content) for block in plan.enabled_blocks]
    if "error" in case:
        # The application itself failed here; to come this far without a crash is all that is asked.
        return expected, expected
    actual["vars_after"] = scene.variables.snapshot()
    if "request_messages" in case:
        expected["request_messages"] = case["request_messages"]
        actual["request_messages"] = _build(recorded_scene(case["env"]), case, prompt_pipeline()).to_messages("openai")
    return expected, actual


def _build(scene: RisuScene, case: Case, pipeline: Pipeline) -> Plan:
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


def recorded_scene(env: Case) -> RisuScene:
    """The scene that `env` describes."""
    character = {**DEFAULT_CHARACTER, **(env.get("char") or {})}
    settings = read_settings(loose(env.get("db") or {}))
    persona = _bound_persona(env)
    modules = [read_module(loose(module)) for module in env.get("modules") or []]
    enabled = {*(env.get("enabled_modules") or ()), *(env.get("chat_modules") or ())}
    toggles = {f"toggle_{name}": value for name, value in (env.get("toggles") or {}).items()}
    return RisuScene(
        character=None if env.get("selected") == -1 else read_character(loose(character)),
        chat=RisuChat(
            messages=[read_message(loose(message)) for message in env.get("messages") or []],
            greeting_index=env.get("fm_index", -1),
            id=env.get("chat_id", ""),
            note=env.get("note", ""),
            lore=read_lore(loose(entry) for entry in env.get("local_lore") or []),
            memory=env.get("supa_memory_data", ""),
        ),
        settings=settings.with_(
            template_default_variables=env.get("template_default_vars", settings.template_default_variables)
        ),
        now=lambda: datetime.fromtimestamp(env.get("now", DEFAULT_NOW) / 1000, UTC),
        random=itertools.cycle(env.get("random") or [0.5]).__next__,
        user_name=persona.get("name", env.get("user", "User")),
        persona=persona.get("personaPrompt", env.get("persona", "")),
        variables=Variables(env.get("vars"), {**(env.get("globals") or {}), **toggles}),
        modules=[module for module in modules if module.id in enabled or module.namespace in enabled],
        estimator=WordCount() if settings.model == "custom" else default_estimator(),
        trigger_id=env.get("trigger_id"),
    )


def _options(given: Case) -> CBSOptions:
    """The parser's options, by RisuAI's names."""
    conditions = given.get("cbsConditions") or {}
    chara = given.get("chara")
    return CBSOptions(
        chat_index=given.get("chatID", -1),
        runs_variables=given.get("runVar", False),
        removes_variables=given.get("rmVar", False),
        is_display=given.get("visualize", False),
        tokenizes_accurately=given.get("tokenizeAccurate", False),
        consistent_names=given.get("consistantChar", False),
        character_name=chara if chara != "$char" else None,
        role=given.get("role"),
        chat_role=conditions.get("chatRole"),
        is_first_message=conditions.get("firstmsg", False),
    )


def _messages(scene: RisuScene) -> list[Json]:
    return [write_message(message) for message in scene.chat.messages]


def _bound_persona(env: Case) -> Case:
    bound = env.get("binded_persona")
    personas: Iterable[Case] = env.get("personas") or ()
    return next((persona for persona in personas if bound and persona.get("id") == bound), {})
