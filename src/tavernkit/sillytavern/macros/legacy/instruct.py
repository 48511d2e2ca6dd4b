"""The templates that a text may quote: instruct sequences, system prompts, separators."""

from __future__ import annotations

from tavernkit.sillytavern.macros.legacy.passes import LegacyExpansion, NamePass, Pass
from tavernkit.sillytavern.macros.packs.instruct import INSTRUCT

_READ = {definition.name: definition.handler for definition in INSTRUCT.definitions}


def _pass(*names: str, means: str | None = None) -> Pass:
    """A pass for what the parser engine calls by the last of these names, or by the name `means`."""
    return NamePass(*(f"{{{{{name}}}}}" for name in names), value=_READ[means or names[-1]])


def _system_prompt(expansion: LegacyExpansion) -> str:
    settings = expansion.environment.settings
    if not settings.system_prompt.enabled:
        return ""
    return expansion.card.get("charPrompt") or settings.system_prompt.content


INSTRUCT_PASSES: tuple[Pass, ...] = (
    _pass("instructStoryStringPrefix"),
    _pass("instructStoryStringSuffix"),
    _pass("instructInput", "instructUserPrefix"),
    _pass("instructUserSuffix"),
    _pass("instructOutput", "instructAssistantPrefix"),
    _pass("instructSeparator", "instructAssistantSuffix"),
    _pass("instructSystemPrefix"),
    _pass("instructSystemSuffix"),
    _pass("instructFirstOutput", "instructFirstAssistantPrefix"),
    _pass("instructLastOutput", "instructLastAssistantPrefix"),
    _pass("instructStop"),
    _pass("instructUserFiller"),
    _pass("instructSystemInstructionPrefix"),
    _pass("instructFirstInput", "instructFirstUserPrefix"),
    _pass("instructLastInput", "instructLastUserPrefix"),
    NamePass("{{systemPrompt}}", value=_system_prompt),
    _pass("instructSystem", "instructSystemPrompt", "defaultSystemPrompt"),
    _pass("chatSeparator", means="exampleSeparator"),
    _pass("chatStart"),
)
