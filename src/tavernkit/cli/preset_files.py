"""Presets and templates from files: what each is, is seen from what it holds, and together they make one setup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from tavernkit.cli.errors import UsageError, display_name
from tavernkit.cli.files import read_noted
from tavernkit.reading import ImportReport
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.files import is_preset_file, read_preset_file
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
)
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Value

LABELS = {
    "chat": "a chat-completion preset",
    "preset": "a text-completion preset",
    "instruct": "an instruct template",
    "context": "a context template",
    "sysprompt": "a system prompt",
    "reasoning": "a reasoning template",
    "srw": "a start of replies",
}
"""The parts of a setup by their names in a master export, and the chat preset."""

IN_MASTER = ("instruct", "context", "sysprompt", "preset", "reasoning", "srw")
FOR_TEXT = ("preset", "instruct", "context", "sysprompt")
PARTS: dict[type[PresetFile], str] = {
    ChatPreset: "chat",
    TextPreset: "preset",
    Instruct: "instruct",
    ContextTemplate: "context",
    SystemPrompt: "sysprompt",
    ReasoningTemplate: "reasoning",
}


AnyPreset: TypeAlias = SillyTavernPreset | RisuSettings


def read_any_preset(data: bytes) -> tuple[AnyPreset, ImportReport]:
    """Read a preset or template of SillyTavern, or a preset of RisuAI, whichever it is."""
    return read_preset_file(data) if is_preset_file(data) else read_preset(data)


class Setup(Value, frozen=True, kw_only=True):
    """The preset to build with, None where no file has one, and the templates as one master export.

    `is_for_text` is true where one of the files is for text completion. `context_file` is where the context template
    came from.
    """

    preset: ChatPreset | TextPreset | None
    is_for_text: bool
    context_file: str | None
    templates: MasterExport
    reports: tuple[ImportReport, ...]


def read_setup(files: Sequence[Path], *, instruct: Path | None, context: Path | None) -> Setup:
    """Read all of them; a template that was named by its own option wins over the one in a master export."""
    found: dict[str, tuple[str, PresetFile]] = {}
    reports: list[ImportReport] = []
    for file in files:
        for part, value in parts_of(read_noted(file, read_preset, reports)):
            if part in found:
                raise UsageError(
                    f"{found[part][0]} and {display_name(file)} both contain {LABELS[part]}. Use one of them."
                )
            found[part] = display_name(file), value
    for named, part in ((instruct, "instruct"), (context, "context")):
        if named is not None:
            found[part] = display_name(named), _expected(named, part, reports)
    _refuse_mixture(found)
    parts = {part: value for part, (_, value) in found.items()}
    return Setup(
        preset=_preset(parts),
        is_for_text=any(part in parts for part in FOR_TEXT),
        context_file=found["context"][0] if "context" in found else None,
        templates=_templates(parts),
        reports=tuple(reports),
    )


def parts_of(preset: SillyTavernPreset) -> Iterator[tuple[str, PresetFile]]:
    """The parts of a setup that the file holds, by their names."""
    if not isinstance(preset, MasterExport):
        yield PARTS[type(preset)], preset
        return
    for part in IN_MASTER:
        value: PresetFile | None = getattr(preset, part)
        if value is not None:
            yield part, value


def _expected(file: Path, part: str, reports: list[ImportReport]) -> PresetFile:
    """The one part that the file was named for, alone or out of a master export."""
    held = dict(parts_of(read_noted(file, read_preset, reports)))
    if part not in held:
        raise UsageError(
            f"{display_name(file)} is not {LABELS[part]}: it contains {_and(LABELS[other] for other in held)}."
            " --preset accepts any preset or template."
        )
    return held[part]


def _refuse_mixture(found: dict[str, tuple[str, PresetFile]]) -> None:
    for part in FOR_TEXT:
        if "chat" in found and part in found:
            raise UsageError(
                f"{found['chat'][0]} is for chat completion and {found[part][0]}, {LABELS[part]}, for text completion."
                " Use one of them."
            )


def _preset(parts: dict[str, PresetFile]) -> ChatPreset | TextPreset | None:
    match parts.get("chat") or parts.get("preset"):
        case ChatPreset() | TextPreset() as preset:
            return preset
        case _:
            return None


def _templates(parts: dict[str, PresetFile]) -> MasterExport:
    return msgspec.structs.replace(
        MasterExport(), **{name: parts[name] for name in IN_MASTER if name in parts and name != "preset"}
    )


def _and(words: Iterable[str]) -> str:
    return " and ".join(words) or "nothing that is known"
