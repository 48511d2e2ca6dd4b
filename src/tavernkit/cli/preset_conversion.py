"""Turning presets into other preset files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import to_json_bytes
from tavernkit.cli.preset_files import AnyPreset, parts_of
from tavernkit.reading import Note
from tavernkit.risuai import RisuSettings, to_chat_preset
from tavernkit.risuai import convert_preset as template_of_chat_preset
from tavernkit.risuai.files import PresetFormat, write_preset_file
from tavernkit.sillytavern.chat_completion.entries import known_prompts, prompt_order
from tavernkit.sillytavern.presets import ChatPreset, MasterExport, PromptOrder, write_preset
from tavernkit.sillytavern.presets.fields import PresetFile, encode
from tavernkit.values import Json

if TYPE_CHECKING:
    from tavernkit.cli.preset import PresetTarget

OF_RISUAI: Mapping[str, PresetFormat] = {"risup": "risup", "risupreset": "risupreset", "risuai-json": "json"}
PARTS: Mapping[str, str] = {
    "chat": "chat",
    "text": "preset",
    "instruct": "instruct",
    "context": "context",
    "system-prompt": "sysprompt",
    "reasoning": "reasoning",
}
"""Formats of SillyTavern by the names of the parts of a setup that they hold."""


def convert_preset(preset: AnyPreset, to: PresetTarget) -> tuple[bytes, tuple[Note, ...]]:
    """The preset in another format, and what is lost on the way; raises UsageError where there is no way."""
    possible = _targets(preset)
    if to not in possible:
        raise UsageError(f"This preset cannot be converted to {to}. Possible formats: {', '.join(possible)}.")
    if isinstance(preset, RisuSettings):
        if to in OF_RISUAI:
            return write_preset_file(preset, OF_RISUAI[to]), ()
        document, report = to_chat_preset(preset)
        return to_json_bytes(document), report.notes
    if isinstance(preset, ChatPreset) and to in OF_RISUAI:
        lost = _ignored("", "only the prompts, the context size and the response length are converted")
        return write_preset_file(_as_risuai(preset), OF_RISUAI[to]), (lost,)
    parts = dict(parts_of(preset))
    if to == "master":
        whole = preset.unknown if isinstance(preset, MasterExport) else {}
        return to_json_bytes({**{name: _today(part) for name, part in parts.items()}, **whole}), ()
    left_out = [name for name in parts if name != PARTS[to]]
    notes = tuple(_ignored(name, "left out: the file contains one part") for name in left_out)
    return to_json_bytes(_today(parts[PARTS[to]])), notes


def _targets(preset: AnyPreset) -> tuple[str, ...]:
    if isinstance(preset, RisuSettings | ChatPreset):
        return ("chat", *OF_RISUAI)
    parts = dict(parts_of(preset))
    return (*(to for to, part in PARTS.items() if part in parts), "master")


def _as_risuai(preset: ChatPreset) -> RisuSettings:
    """The prompts of a chat preset as a template, in the order that SillyTavern uses."""
    order = PromptOrder(order=tuple(prompt_order(preset)))
    used = preset.with_(prompts=tuple(known_prompts(preset).values()), prompt_order=(order,))
    return RisuSettings(
        template=template_of_chat_preset(write_preset(used)),
        max_context=preset.openai_max_context,
        max_response=preset.openai_max_tokens,
    )


def _today(preset: PresetFile) -> dict[str, Json]:
    """What the file says under today's names, without what could not be read."""
    written = encode(preset.with_(spelling=None))
    given = preset.modernised(preset.spelling or {})
    return {name: written[name] for name in given if name in written} | dict(preset.unknown)


def _ignored(path: str, message: str) -> Note:
    return Note(path=path, outcome="ignored", message=message)
