"""What answers, and how much it can hold."""

from __future__ import annotations

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.registry import Alias, MacroArgument, Pack

STATE = Pack("state")
MAX_PROMPT = Pack("state")
STATE_NEXT = Pack("state")

STATE.value("model", "The name of the model.", lambda expansion: expansion.environment.model.name)
STATE.value(
    "isMobile",
    "Whether the page is shown on a phone.",
    lambda expansion: "true" if expansion.environment.is_mobile else "false",
    returns=("boolean",),
)
STATE.value(
    "lastGenerationType",
    "What kind of reply was asked for last: normal, swipe, continue…",
    lambda expansion: expansion.environment.generation_type,
)


def _max_prompt(expansion: MacroExpansion) -> str:
    return str(expansion.environment.model.prompt_tokens)


_MAX_PROMPT_MEANS = "How many tokens the prompt may have."
MAX_PROMPT.value("maxPrompt", _MAX_PROMPT_MEANS, _max_prompt, returns=("integer",))
STATE_NEXT.value(
    "maxPrompt", _MAX_PROMPT_MEANS, _max_prompt, aliases=(Alias(name="maxPromptTokens"),), returns=("integer",)
)
STATE_NEXT.value(
    "maxContext",
    "How many tokens prompt and response may have together.",
    lambda expansion: str(expansion.environment.model.max_context),
    aliases=(Alias(name="maxContextTokens"),),
    returns=("integer",),
)
STATE_NEXT.value(
    "maxResponse",
    "How many tokens the response may have.",
    lambda expansion: str(expansion.environment.model.max_response),
    aliases=(Alias(name="maxResponseTokens"),),
    returns=("integer",),
)


@STATE_NEXT.macro(
    "hasExtension",
    "Whether an extension of that name is there and on.",
    MacroArgument(name="extensionName"),
)
def _has_extension(expansion: MacroExpansion, name: str) -> str:
    return "true" if name in expansion.environment.extensions else "false"
