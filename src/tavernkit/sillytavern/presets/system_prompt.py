"""System prompts of text completion."""

from __future__ import annotations

from tavernkit.sillytavern.presets.fields import PresetFile


class SystemPrompt(PresetFile, frozen=True, kw_only=True):
    """A system prompt and the instructions that follow the history."""

    name: str = ""
    enabled: bool | None = None
    content: str = ""
    post_history: str = ""
