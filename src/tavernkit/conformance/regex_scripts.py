"""Recorded runs of regex scripts, replayed through ours."""

from __future__ import annotations

from tavernkit.macros.variables import Variables
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.regex_scripts import (
    RegexScript,
    RegexScripts,
    apply_scripts,
    embedded_scripts,
    macro_expander,
    run_script,
)
from tavernkit.values import Json, JsonObject

_MACROS = ParserMacros("1.19")


def check(case: JsonObject) -> tuple[Json, Json]:
    """The text that was recorded and the one that our scripts make; the variables too where they were recorded."""
    env = case["env"]
    variables = Variables(env.get("local_vars"), env.get("global_vars"))
    environment = Environment(user_name=env["user"], character_name=env["char"], variables=variables)
    expected: dict[str, Json] = {"text": case["expected"]}
    actual: dict[str, Json] = {"text": _replay(case, environment)}
    if "vars_after" in case:
        expected["vars_after"] = case["vars_after"]
        actual["vars_after"] = variables.snapshot()
    return expected, actual


def _replay(case: JsonObject, environment: Environment) -> str:
    # What is no text becomes an empty one before any script sees it.
    text = case["text"] if isinstance(case["text"], str) else ""
    params, placement = case.get("params", {}), case.get("placement")
    override = params.get("characterOverride")
    expand = macro_expander(_MACROS, environment)
    if case["call"] == "runRegexScript":
        (script,) = _scripts([case["script"]])
        return run_script(script, text, expand=expand, character_override=override)
    if placement is None:
        return text
    return apply_scripts(
        text,
        _in_use(case),
        placement,
        expand=expand,
        is_prompt=bool(params.get("isPrompt")),
        is_markdown=bool(params.get("isMarkdown")),
        is_edit=bool(params.get("isEdit")),
        depth=_depth(params.get("depth")),
        character_override=override,
    )


def _depth(value: Json) -> int | None:
    """A depth is a number there; one that is given as text is no depth, and no script asks for it."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _in_use(case: JsonObject) -> RegexScripts:
    if case.get("extension_disabled"):
        return RegexScripts()
    scripts, allowed = case["scripts"], case["allowed"]
    return RegexScripts(
        global_=_scripts(scripts["global"]),
        preset=_scripts(scripts["preset"]) if allowed["preset"] else (),
        scoped=_scripts(scripts["scoped"]) if allowed["scoped"] else (),
    )


def _scripts(listed: list[Json]) -> tuple[RegexScript, ...]:
    return embedded_scripts({"regex_scripts": listed})
