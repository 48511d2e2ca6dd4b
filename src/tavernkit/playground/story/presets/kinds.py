"""The kinds of presets, and what the library reads each as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.reading import ImportReport, LooseObject, ReportBuilder
from tavernkit.risuai.settings import RisuSettings as RisuSettings
from tavernkit.risuai.settings import read_settings
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    SillyTavernPreset,
    SystemPrompt,
    TextPreset,
    write_preset,
)
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import Json, JsonObject

Kind: TypeAlias = Literal["chat", "text", "instruct", "context", "system_prompt", "reasoning", "master", "risuai"]

AnyPreset: TypeAlias = SillyTavernPreset | RisuSettings

RISUAI = "risuai"

KINDS: Mapping[str, type[SillyTavernPreset]] = {
    "chat": ChatPreset,
    "text": TextPreset,
    "instruct": Instruct,
    "context": ContextTemplate,
    "system_prompt": SystemPrompt,
    "reasoning": ReasoningTemplate,
    "master": MasterExport,
}


def kind_of(preset: AnyPreset) -> str:
    """The kind under which a preset is stored."""
    if isinstance(preset, RisuSettings):
        return RISUAI
    return next(kind for kind, model in KINDS.items() if isinstance(preset, model))


def decode_preset(kind: str, data: JsonObject) -> tuple[AnyPreset, ImportReport]:
    """A stored preset as the library knows it, and what of it makes no sense."""
    report = ReportBuilder()
    preset: AnyPreset = (
        read_settings(LooseObject(data, report)) if kind == RISUAI else decode(KINDS[kind], data, report)
    )
    return preset, report.build(kind)


def blank_preset(kind: str) -> dict[str, Json]:
    """The file of a new preset, with the defaults of its platform."""
    return {} if kind == RISUAI else write_preset(KINDS[kind]())
