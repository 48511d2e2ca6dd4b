"""The kinds of presets, and what the library reads each as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.reading import ImportReport, ReportBuilder
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    Preset,
    ReasoningTemplate,
    SystemPrompt,
    TextPreset,
)
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import JsonObject

__all__ = ["KINDS", "Kind", "decode_preset", "kind_of"]

Kind: TypeAlias = Literal["chat", "text", "instruct", "context", "system_prompt", "reasoning", "master"]

KINDS: Mapping[str, type[Preset]] = {
    "chat": ChatPreset,
    "text": TextPreset,
    "instruct": Instruct,
    "context": ContextTemplate,
    "system_prompt": SystemPrompt,
    "reasoning": ReasoningTemplate,
    "master": MasterExport,
}


def kind_of(preset: Preset) -> str:
    """The kind under which a preset is stored."""
    return next(kind for kind, model in KINDS.items() if isinstance(preset, model))


def decode_preset(kind: str, data: JsonObject) -> tuple[Preset, ImportReport]:
    """A stored preset as the library knows it, and what of it makes no sense."""
    report = ReportBuilder()
    preset: Preset = decode(KINDS[kind], data, report)
    return preset, report.build(kind)
