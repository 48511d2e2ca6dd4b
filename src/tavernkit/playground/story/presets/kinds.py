"""The kinds of presets, and what the library reads each as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.playground.base.storable import presentable
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.risuai.files import is_preset_file, read_preset_file, write_preset_file
from tavernkit.risuai.settings import RisuSettings, read_settings
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    SillyTavernPreset,
    SystemPrompt,
    TextPreset,
    read_preset,
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


_OF_RISUAI = frozenset({"promptTemplate", "formatingOrder"})
"""Fields that a preset of RisuAI has, and none of SillyTavern."""


def read_file(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """The preset, what was made of its file, and the file unpacked; raises what the library raises."""
    if is_preset_file(file):
        return _read_risuai(file)
    document = parse_json(file, what="The preset")
    fields = document if isinstance(document, dict) else {}
    if fields.keys() & _OF_RISUAI:
        return _read_risuai(file)
    preset, report = read_preset(file)
    return preset, report, fields


def _read_risuai(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """Written once more, because that leaves the keys of providers out."""
    settings, report = read_preset_file(file)
    written = parse_json(write_preset_file(settings, "json"), what="The preset")
    return settings, report, presentable(written if isinstance(written, dict) else {})
