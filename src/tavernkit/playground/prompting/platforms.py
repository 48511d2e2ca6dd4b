"""Which platform's rules a prompt is built by."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit import Character
from tavernkit.playground.prompting.inputs import PromptInputs
from tavernkit.risuai import Settings as RisuSettings

__all__ = ["Platform", "platform_of"]

Platform: TypeAlias = Literal["sillytavern", "risuai"]


def platform_of(inputs: PromptInputs) -> Platform:
    """As the settings say; else RisuAI where the preset or the card was made there.

    RisuAI never writes for a person, and its prompts are lists of messages: a text completion that nobody has asked to
    be built its way, and what is said in somebody's place, are SillyTavern's.
    """
    if inputs.generation_type == "impersonate":
        return "sillytavern"
    wanted = inputs.settings.prompt.platform
    if wanted != "auto":
        return wanted
    if inputs.provider.kind == "openai_text":
        return "sillytavern"
    is_at_home = isinstance(inputs.presets.preset, RisuSettings) or _is_from_risuai(inputs.cast.character)
    return "risuai" if is_at_home else "sillytavern"


def _is_from_risuai(character: Character) -> bool:
    """RisuAI leaves a part of its own in every card that it writes."""
    own = character.extensions.get("risuai")
    return isinstance(own, dict) and bool(own)
