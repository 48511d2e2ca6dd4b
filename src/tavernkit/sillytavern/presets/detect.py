"""One door for SillyTavern's preset files: what a file is, is seen from what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tavernkit.errors import PresetParseError, TavernKitError
from tavernkit.reading import Imported, Note, ReportBuilder, Source, open_json
from tavernkit.sillytavern.errors import InvalidContextTemplateError, InvalidInstructError, InvalidPresetError
from tavernkit.sillytavern.presets.chat import ChatPreset
from tavernkit.sillytavern.presets.fields import PresetFile, decode, encode
from tavernkit.sillytavern.presets.templates import (
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    SystemPrompt,
)
from tavernkit.sillytavern.presets.text import TextPreset
from tavernkit.values import Json, JsonObject

SillyTavernPreset: TypeAlias = (
    ChatPreset | TextPreset | Instruct | ContextTemplate | SystemPrompt | ReasoningTemplate | MasterExport
)

FORMATS: Mapping[type[PresetFile], str] = {
    ChatPreset: "chat_preset",
    TextPreset: "text_preset",
    Instruct: "instruct",
    ContextTemplate: "context",
    SystemPrompt: "system_prompt",
    ReasoningTemplate: "reasoning",
    MasterExport: "master",
}

# Without these as text, a template says nothing.
ESSENTIAL: Mapping[type[PresetFile], tuple[tuple[str, ...], type[TavernKitError]]] = {
    Instruct: (("input_sequence", "output_sequence"), InvalidInstructError),
    ContextTemplate: (("story_string",), InvalidContextTemplateError),
    SystemPrompt: (("content",), InvalidPresetError),
    ReasoningTemplate: (("prefix", "suffix"), InvalidPresetError),
}

CHAT_ALONE = frozenset(
    {"prompts", "prompt_order", "chat_completion_source", "openai_max_context", "openai_max_tokens", "temp_openai"}
    | {"openai_model", "new_chat_prompt", "impersonation_prompt", "wi_format", "main_prompt", "stream_openai"}
)
TEXT_ALONE = frozenset(
    {*TextPreset.__struct_fields__, *TextPreset.OLD_NAMES, "phrase_rep_pen"}
    - {*ChatPreset.__struct_fields__, *ChatPreset.OLD_NAMES}
)
CHAT_SAMPLERS = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty", "repetition_penalty"})
MASTER_PARTS = ("instruct", "context", "sysprompt", "preset", "reasoning")


def read_preset(source: Source, *, strict: bool = False) -> Imported[SillyTavernPreset]:
    """Read a preset file of any kind.

    Raises InvalidPresetError for a file that is no preset, InvalidInstructError and InvalidContextTemplateError for
    a template whose essential fields are no text. Any other field of a wrong type gets its default, and a note; a
    strict reader raises one of these errors instead.
    """
    document, file = open_json(source, what="The preset", error=PresetParseError)
    if not isinstance(document, Mapping):
        raise InvalidPresetError("This is not a preset: a preset file contains one JSON object.")
    builder = ReportBuilder()
    if "presetVersion" in document and isinstance(parameters := document.get("parameters"), Mapping):
        document = {"name": document.get("name"), **parameters}
        builder.converted("parameters", "a preset as NovelAI itself writes it: its parameters are read")
    kind = _kind_of(document)
    fields, error = ESSENTIAL.get(kind, ((), InvalidPresetError))
    for field in fields:
        if field in document and not isinstance(document[field], str):
            raise error(f"The field '{field}' of this {FORMATS[kind]} file must be text; use \"\" for an empty one.")
    preset = decode(kind, document, builder)
    if isinstance(preset, ChatPreset | TextPreset) and preset.extensions:
        # The module of scripts reads them as a part of preset files is read, and so stands on this package.
        from tavernkit.sillytavern.regex_scripts import embedded_scripts

        embedded_scripts(preset.extensions, builder)
    report = builder.build(FORMATS[kind], file=file, error=error)
    if kind is MasterExport:
        report = report.with_(error=_error_of_part(report.broken))
    if strict:
        report.refuse_broken()
    return Imported(preset, report)


def write_preset(preset: SillyTavernPreset) -> dict[str, Json]:
    """Write a preset file; what was read and not changed is written as it was."""
    return encode(preset)


def _error_of_part(broken: tuple[Note, ...]) -> type[TavernKitError]:
    """What a strict reader raises for a master export: the error of the first part that is broken."""
    part = broken[0].path.partition(".")[0] if broken else ""
    errors = {"instruct": InvalidInstructError, "context": InvalidContextTemplateError}
    return errors.get(part, InvalidPresetError)


def _kind_of(document: JsonObject) -> type[SillyTavernPreset]:
    names = document.keys()
    if names & {"input_sequence", "output_sequence"}:
        return Instruct
    if "story_string" in names:
        return ContextTemplate
    if names & CHAT_ALONE:
        return ChatPreset
    if len(names & TEXT_ALONE) >= 2:
        return TextPreset
    if any(isinstance(document.get(part), dict) for part in MASTER_PARTS):
        return MasterExport
    if len(names & {"prefix", "suffix", "separator"}) >= 2:
        return ReasoningTemplate
    if "content" in names and names & {"name", "post_history"}:
        return SystemPrompt
    if len(names & CHAT_SAMPLERS) >= 2:
        return TextPreset if names & TEXT_ALONE else ChatPreset
    raise InvalidPresetError(
        "This is not a SillyTavern preset: it has none of the fields of a chat-completion or text-completion preset, "
        "of an instruct, context, system-prompt or reasoning template, or of a master export."
    )
