"""Reasoning templates: how a model marks its thoughts."""

from __future__ import annotations

from tavernkit.sillytavern.presets.fields import PresetFile


class ReasoningTemplate(PresetFile, frozen=True, kw_only=True):
    """What stands before and after the thoughts, and between them and the reply."""

    name: str = ""
    prefix: str = ""
    suffix: str = ""
    separator: str = ""
