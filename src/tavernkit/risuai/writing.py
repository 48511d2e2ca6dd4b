"""RisuAI's nouns as RisuAI stores them: fields that nobody changed are written as they were read, unknown ones too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.character import LoreSettings, PicturePrompts, RisuCharacter, RisuDepthPrompt, read_character
from tavernkit.risuai.lore_entry import LoreEntry, write_lore_entry
from tavernkit.risuai.module import AssetName, Module, read_module
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.settings import PromptCard, RisuSettings, TemplateSettings, read_settings
from tavernkit.risuai.trigger import Trigger, read_triggers
from tavernkit.values import Json, JsonObject, Value

_SCRIPT = {
    "comment": "comment",
    "in": "pattern",
    "out": "replacement",
    "type": "type",
    "ableFlag": "has_flags",
    "flag": "flags",
}
_TRIGGER = {
    "comment": "comment",
    "type": "type",
    "conditions": "conditions",
    "effect": "effects",
    "lowLevelAccess": "low_level_access",
}
_MODULE = {
    "name": "name",
    "description": "description",
    "id": "id",
    "namespace": "namespace",
    "lorebook": "lore",
    "regex": "scripts",
    "trigger": "triggers",
    "assets": "assets",
    "lowLevelAccess": "low_level_access",
    "customModuleToggle": "toggles",
}
_CHARACTER = {
    "name": "name",
    "chaId": "id",
    "nickname": "nickname",
    "desc": "description",
    "personality": "personality",
    "scenario": "scenario",
    "firstMessage": "first_message",
    "alternateGreetings": "alternate_greetings",
    "exampleMessage": "example_message",
    "systemPrompt": "system_prompt",
    "replaceGlobalNote": "replace_global_note",
    "additionalText": "additional_text",
    "depth_prompt": "depth_prompt",
    "globalLore": "lore",
    "loreSettings": "lore_settings",
    "customscript": "scripts",
    "triggerscript": "triggers",
    "defaultVariables": "default_variables",
    "emotionImages": "emotions",
    "additionalAssets": "assets",
    "prebuiltAssetCommand": "lists_assets",
    "prebuiltAssetExclude": "unlisted_assets",
    "viewScreen": "view_screen",
    "inlayViewScreen": "shows_pictures_in_chat",
    "newGenData": "picture_prompts",
    "utilityBot": "is_utility",
    "lowLevelAccess": "low_level_access",
    "supaMemory": "uses_memory",
}
_SETTINGS = {
    "aiModel": "model",
    "subModel": "sub_model",
    "mainPrompt": "main_prompt",
    "jailbreak": "jailbreak",
    "jailbreakToggle": "jailbreak_on",
    "globalNote": "global_note",
    "additionalPrompt": "additional_prompt",
    "descriptionPrefix": "description_prefix",
    "promptPreprocess": "preprocesses_prompt",
    "chainOfThought": "chain_of_thought",
    "maxContext": "max_context",
    "maxResponse": "max_response",
    "formatingOrder": "order",
    "promptTemplate": "template",
    "promptSettings": "prompt",
    "groupTemplate": "named_message",
    "groupOtherBotRole": "named_message_role",
    "automaticCachePoint": "automatic_cache_point",
    "templateDefaultVariables": "template_default_variables",
    "loreBookDepth": "lore_depth",
    "loreBookToken": "lore_tokens",
    "regex": "scripts",
    "supaModelType": "memory_model",
    "removePunctuationHypa": "memory_without_punctuation",
    "language": "language",
}
_CARD = {
    "type": "type",
    "name": "name",
    "text": "text",
    "type2": "kind",
    "role": "role",
    "innerFormat": "inner_format",
    "defaultText": "default_text",
    "rangeStart": "range_start",
    "rangeEnd": "range_end",
    "chatAsOriginalOnSystem": "chat_as_original_on_system",
    "depth": "depth",
}
_PROMPT_SETTINGS = {
    "assistantPrefill": "assistant_prefill",
    "postEndInnerFormat": "post_end_inner_format",
    "sendChatAsSystem": "send_chat_as_system",
    "sendName": "send_name",
    "utilOverride": "utility_override",
    "customChainOfThought": "custom_chain_of_thought",
}
_DEPTH_PROMPT = {"depth": "depth", "prompt": "prompt"}
_PICTURE_PROMPTS = {"instructions": "instructions", "emotionInstructions": "emotion_instructions"}
_LORE_SETTINGS = {
    "tokenBudget": "token_budget",
    "scanDepth": "scan_depth",
    "recursiveScanning": "recursive_scanning",
    "fullWordMatching": "full_word_matching",
}


def write_module(module: Module) -> dict[str, Json]:
    """The module as RisuAI stores it."""
    return _updated(module, read_module(_loose(module.written)), _MODULE, always=("name", "description", "id"))


def write_character(character: RisuCharacter) -> dict[str, Json]:
    """The character as RisuAI stores it."""
    before = read_character(_loose(character.written))
    always = ("name", "desc", "firstMessage", "globalLore", "customscript", "triggerscript")
    fields = _updated(character, before, _CHARACTER, always=always)
    if character.is_group != before.is_group:
        fields["type"] = "group" if character.is_group else "character"
    return fields


def write_settings(settings: RisuSettings) -> dict[str, Json]:
    """The settings as RisuAI stores them in a preset."""
    names = _SETTINGS
    if "presetRegex" in settings.written:  # the name outside presets
        names = {("presetRegex" if spelt == "regex" else spelt): name for spelt, name in names.items()}
    return _updated(settings, read_settings(_loose(settings.written)), names)


def write_script(script: RisuRegexScript) -> dict[str, Json]:
    """The regex script as RisuAI stores it."""
    (before,) = read_scripts([_loose(script.written)])
    return _updated(script, before, _SCRIPT, always=("comment", "in", "out", "type", "ableFlag"))


def write_trigger(trigger: Trigger) -> dict[str, Json]:
    """The trigger as RisuAI stores it."""
    (before,) = read_triggers([_loose(trigger.written)])
    return _updated(trigger, before, _TRIGGER, always=("comment", "type", "conditions", "effect"))


def _updated(now: Any, before: Any, names: Mapping[str, str], *, always: tuple[str, ...] = ()) -> dict[str, Json]:
    """What `now` was read from, with the fields in which it differs from `before`, its state when it was read."""
    fields = dict(now.written)
    for spelt, name in names.items():
        value = getattr(now, name)
        if value == getattr(before, name) and not (spelt in always and spelt not in fields):
            continue
        if value is None:
            fields.pop(spelt, None)
        else:
            fields[spelt] = _merged(fields.get(spelt), _plain(value))
    return fields


def _merged(old: Json, new: Json) -> Json:
    """An object that only names what is known here leaves what else stood in its place."""
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new


def _plain(value: Any) -> Json:
    match value:
        case LoreEntry():
            return write_lore_entry(value)
        case RisuRegexScript():
            return write_script(value)
        case Trigger():
            return write_trigger(value)
        case AssetName():
            return [value.name, value.path, *([value.extension] if value.extension else [])]
        case PromptCard():
            return _write_card(value)
        case TemplateSettings():
            return _named(value, _PROMPT_SETTINGS)
        case RisuDepthPrompt():
            return _named(value, _DEPTH_PROMPT)
        case PicturePrompts():
            return _named(value, _PICTURE_PROMPTS)
        case LoreSettings():
            return _named(value, _LORE_SETTINGS)
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _write_card(card: PromptCard) -> dict[str, Json]:
    (before,) = read_settings(_loose({"promptTemplate": [card.written]})).template or ()
    fields = _updated(card, before, _CARD, always=("type",))
    if card.type == "chat" and "rangeEnd" not in fields:
        fields["rangeEnd"] = "end"
    return fields


def _named(value: Value, names: Mapping[str, str]) -> dict[str, Json]:
    fields = {spelt: getattr(value, name) for spelt, name in names.items()}
    return {spelt: field for spelt, field in fields.items() if field is not None}


def _loose(source: JsonObject) -> LooseObject:
    return LooseObject(source, ReportBuilder())
