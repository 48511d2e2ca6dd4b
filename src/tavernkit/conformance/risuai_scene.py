"""The scene that a recording of RisuAI was made in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime

from tavernkit.macros.variables import Variables
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import read_character
from tavernkit.risuai.chat import RisuChat, read_message
from tavernkit.risuai.lore_entry import read_lore
from tavernkit.risuai.module import read_module
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import read_settings
from tavernkit.values import Json, JsonObject

DEFAULT_NOW = 1741529225000  # 2025-03-09T14:07:05Z
DEFAULT_CHARACTER: JsonObject = {"chaId": "cha-7781", "firstMessage": "", "desc": ""}


class WordCount:
    """RisuAI's count for a model it has no tokenizer for: words between white space."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the protocol's signature
        return len(text.split())


def scene_of(env: JsonObject) -> RisuScene:
    """The scene that `env` describes."""
    character = {**DEFAULT_CHARACTER, **(env.get("char") or {})}
    settings = read_settings(_loose(env.get("db") or {}))
    persona = _bound_persona(env)
    modules = [read_module(_loose(module)) for module in env.get("modules") or []]
    enabled = {*(env.get("enabled_modules") or ()), *(env.get("chat_modules") or ())}
    toggles = {f"toggle_{name}": value for name, value in (env.get("toggles") or {}).items()}
    return RisuScene(
        character=None if env.get("selected") == -1 else read_character(_loose(character)),
        chat=RisuChat(
            messages=[read_message(_loose(message)) for message in env.get("messages") or []],
            greeting_index=env.get("fm_index", -1),
            id=env.get("chat_id", ""),
            note=env.get("note", ""),
            lore=read_lore(_loose(entry) for entry in env.get("local_lore") or []),
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
        estimator=_estimator(settings.model),
        trigger_id=env.get("trigger_id"),
    )


def options_of(env: JsonObject) -> CBSOptions:
    """The parser's options that `env` names."""
    given = env.get("parser") or {}
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


def variables_after(scene: RisuScene) -> Json:
    """The chat's variables, as a recording writes them."""
    return scene.variables.snapshot() if isinstance(scene.variables, Variables) else {}


def _bound_persona(env: JsonObject) -> JsonObject:
    bound = env.get("binded_persona")
    personas: Iterable[JsonObject] = env.get("personas") or ()
    return next((persona for persona in personas if bound and persona.get("id") == bound), {})


def _estimator(model: str) -> TokenEstimator:
    return WordCount() if model == "custom" else default_estimator()


def _loose(source: Json) -> LooseObject:
    return LooseObject(source, ReportBuilder())
