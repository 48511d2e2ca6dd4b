"""Recorded macro cases: the environment of one, and how its outcome is compared."""

from __future__ import annotations

import itertools
from datetime import datetime
from functools import partial
from typing import Literal
from zoneinfo import ZoneInfo

from tavernkit.conformance.vectors import Case, Check, Outcome, compare
from tavernkit.macros.engine import MacroEngine
from tavernkit.macros.variables import Variables
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.environment import (
    CardFields,
    ChatLine,
    Environment,
    GroupNames,
    MacroSettings,
    ModelState,
)
from tavernkit.sillytavern.macros.legacy import LegacyMacros
from tavernkit.sillytavern.presets import ContextTemplate, Instruct, ReasoningTemplate, SystemPrompt
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.text.seeded import SeededRandom, string_hash


def check_legacy(case: Case) -> Outcome:
    """The legacy engine of SillyTavern 1.15."""
    return _replay({**case, "env": _with_number(case["env"])}, LegacyMacros())


def check_hash_rng(case: Case) -> Outcome:
    """A hash of a text, or the first numbers of a seeded generator: the case's own `group` says which."""
    given, expected = case["input"], case["output"]
    if case["group"] == "string_hash":
        return expected, string_hash(given)
    random = SeededRandom(given)
    return expected, [random.random() for _ in expected]


def _with_number(env: Case) -> Case:
    """This engine prints the first included message as it is stored, be it a number or text; ours is a number."""
    metadata = env.get("chat_metadata", {})
    included = metadata.get("lastInContextMessageId")
    if not isinstance(included, str) or not included.isdecimal():
        return env
    return {**env, "chat_metadata": {**metadata, "lastInContextMessageId": int(included)}}


def _replay(case: Case, engine: MacroEngine) -> Outcome:
    environment = case_environment(case["env"])
    output = engine.expand(case["input"], environment)
    agrees = case.get("deterministic") is False and output in case["output_any_of"]
    return compare(
        {**case, "output": output} if agrees else case,
        {"output": output},
        vars_after={scope: environment.variables.snapshot(scope) for scope in ("local", "global")},
        banned_after=list(environment.banned_words),
    )


check_v2: Check = partial(_replay, engine=ParserMacros("1.15"))
check_next: Check = partial(_replay, engine=ParserMacros("1.19"))


def case_environment(env: Case) -> Environment:
    """The environment that a case describes."""
    metadata = env.get("chat_metadata", {})
    settings = env.get("settings", {})
    user, character = env.get("user", ""), env.get("char", "")
    included = metadata.get("lastInContextMessageId")
    chat = tuple(_line(line) for line in env.get("chat", ()))
    clock = datetime.fromisoformat(env["clock"]) if "clock" in env else datetime.fromisoformat("1970-01-01T00:00:00Z")
    return Environment(
        user_name=env.get("name1_override", user),
        character_name=env.get("name2_override", character),
        names_in_card=(user, character),
        group=_group(env.get("group")),
        group_override=env.get("group_override", ""),
        card=_card(env.get("card", {}), metadata),
        persona=env.get("persona", ""),
        expands_card=env.get("replace_character_card", True),
        chat=chat,
        first_included_message=included if isinstance(included, int) else None,
        first_displayed_message=0 if chat else None,
        chat_id_hash=_chat_id_hash(env, metadata),
        reroll_seed=metadata.get("pick_reroll_seed"),
        variables=Variables(env.get("local_vars"), env.get("global_vars")),
        settings=_settings(settings),
        model=_model(env),
        generation_type=env.get("last_generation_type", ""),
        input_text=env.get("input_text", ""),
        original=env.get("original"),
        outlets=env.get("outlets", {}),
        dynamic_macros=env.get("dynamic_macros", {}),
        clock=lambda: clock,
        zone=ZoneInfo(env.get("timezone", "UTC")),
        random=itertools.cycle(env.get("math_random", [0.5])).__next__,
    )


def _chat_id_hash(env: Case, metadata: Case) -> int:
    if "chat_id_hash" in env:
        return int(env["chat_id_hash"])
    return string_hash(metadata.get("main_chat", ""))


def _group(group: Case | None) -> GroupNames | None:
    if group is None:
        return None
    return GroupNames(members=tuple(group["members"]), muted=frozenset(group.get("disabled", ())))


def _card(card: Case, metadata: Case) -> CardFields:
    return CardFields(
        description=card.get("description", ""),
        personality=card.get("personality", ""),
        scenario=metadata.get("scenario") or card.get("scenario", ""),
        first_message=card.get("first_mes", ""),
        alternate_greetings=tuple(card.get("alternate_greetings", ())),
        message_examples=metadata.get("mes_example") or card.get("mes_example", ""),
        system_prompt=metadata.get("system_prompt") or card.get("system_prompt", ""),
        post_history_instructions=card.get("post_history_instructions", ""),
        depth_prompt=card.get("depth_prompt", {}).get("prompt", ""),
        creator_notes=card.get("creator_notes", ""),
        version=card.get("character_version", ""),
    )


def _line(line: Case) -> ChatLine:
    return ChatLine(
        text=line["mes"],
        name=line.get("name", ""),
        is_user=line.get("is_user", False),
        is_system=line.get("is_system", False),
        sent=line.get("send_date"),
        swipe=line.get("swipe_id"),
        swipe_count=len(line.get("swipes", ())),
    )


def _settings(settings: Case) -> MacroSettings:
    report = ReportBuilder()
    return MacroSettings(
        instruct=decode(Instruct, {"enabled": False, **settings.get("instruct", {})}, report),
        context=decode(ContextTemplate, settings.get("context", {}), report),
        system_prompt=decode(SystemPrompt, {"enabled": True, **settings.get("sysprompt", {})}, report),
        reasoning=decode(ReasoningTemplate, settings.get("reasoning", {}), report),
        prefer_character_prompt=settings.get("prefer_character_prompt", True),
        prefer_character_jailbreak=settings.get("prefer_character_jailbreak", True),
        collapse_newlines=settings.get("collapse_newlines", False),
    )


def _model(env: Case) -> ModelState:
    api: Literal["chat", "text"] = "chat" if env.get("main_api", "openai") == "openai" else "text"
    return ModelState(
        name=env.get("model", ""),
        api=api,
        max_context=env.get("max_context", 0),
        max_response=env.get("max_response", 0),
        max_prompt=env.get("max_prompt"),
    )
