"""What the fields of presets are called, what they take, and which belong together on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tavernkit.dialects.merging import MODES
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.prompting.toggles import OF_PRESETS
from tavernkit.risuai.settings import RisuSettings
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    PresetPrompt,
    ReasoningTemplate,
    StartReplyWith,
    SystemPrompt,
    TextPreset,
)
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Value

Control: TypeAlias = Literal["text", "area", "number", "check", "choice", "lines", "json"]


class Look(Value, frozen=True, kw_only=True):
    """How a field is shown."""

    label: str
    choices: Mapping[str, str] = {}
    least: float | None = None
    most: float | None = None
    control: Control | None = None
    sampler: str = ""
    """What a request calls it, for fields that only some providers are sent."""
    has_macros: bool = False


def _text(label: str) -> Look:
    return Look(label=label, control="area", has_macros=True)


def _sequence(label: str) -> Look:
    return Look(label=label, control="area")


def _sampler(label: str, name: str) -> Look:
    return Look(label=label, sampler=name)


_NAMES: Final = {
    "-1": _("Never"),
    "0": _("In groups only"),
    "1": _("As the provider's field"),
    "2": _("In the text"),
}
_EFFORTS: Final = {
    "auto": _("Automatic"),
    "min": _("Minimum"),
    "low": _("Low"),
    "medium": _("Medium"),
    "high": _("High"),
    "max": _("Maximum"),
}
_VERBOSITIES: Final = {key: _EFFORTS[key] for key in ("auto", "low", "medium", "high")}
_POSTFIXES: Final = {"": _("Nothing"), " ": _("Space character"), "\n": _("Line break"), "\n\n": _("Blank line")}
_MODES: Final = {"": _("None")} | {mode: mode for mode in MODES if mode != "none"}
_QUALITIES: Final = {"auto": _("Automatic"), "low": _("Low"), "high": _("High")}
_INSTRUCT_NAMES: Final = {"none": _("Never"), "force": _("In groups and for past personas"), "always": _("Always")}
_STORY_POSITIONS: Final = {"0": _("At the top"), "1": _("In chat at depth")}
_STORY_ROLES: Final = {"0": _("System"), "1": _("User"), "2": _("Assistant")}
_RISU_ROLES: Final = {"user": _("User"), "assistant": _("Assistant"), "system": _("System")}

Looks: TypeAlias = Mapping[str, Look]
Groups: TypeAlias = tuple[tuple[str, bool, Looks], ...]

_OF_CHAT: Final[Groups] = (
    (
        _("Length"),
        True,
        {
            "openai_max_context": Look(label=_("Context size (tokens)"), least=1, most=10_000_000),
            "openai_max_tokens": Look(label=_("Response length (tokens)"), least=1, most=1_000_000),
            "max_context_unlocked": Look(label=_("Unlock the context size")),
            "n": Look(label=_("Replies per request"), least=1, most=128, sampler="n"),
        },
    ),
    (
        _("Samplers"),
        True,
        {
            "temperature": _sampler(_("Temperature"), "temperature"),
            "top_p": _sampler(_("Top P"), "top_p"),
            "top_k": _sampler(_("Top K"), "top_k"),
            "min_p": _sampler(_("Min P"), "min_p"),
            "top_a": _sampler(_("Top A"), "top_a"),
            "frequency_penalty": _sampler(_("Frequency penalty"), "frequency_penalty"),
            "presence_penalty": _sampler(_("Presence penalty"), "presence_penalty"),
            "repetition_penalty": _sampler(_("Repetition penalty"), "repetition_penalty"),
            "seed": _sampler(_("Seed"), "seed"),
            "bias_preset_selected": _sampler(_("Logit bias list"), "logit_bias"),
        },
    ),
    (
        _("Utility prompts"),
        False,
        {
            "impersonation_prompt": _text(_("Impersonation prompt")),
            "continue_nudge_prompt": _text(_("Continue nudge")),
            "group_nudge_prompt": _text(_("Group nudge")),
            "new_chat_prompt": _text(_("New chat")),
            "new_group_chat_prompt": _text(_("New group chat")),
            "new_example_chat_prompt": _text(_("New example chat")),
            "send_if_empty": _text(_("Empty message replacement")),
            "wi_format": _text(_("Lore format")),
            "scenario_format": _text(_("Scenario format")),
            "personality_format": _text(_("Personality format")),
        },
    ),
    (
        _("Message format"),
        False,
        {
            "names_behavior": Look(label=_("Names of speakers"), choices=_NAMES),
            "custom_prompt_post_processing": Look(label=_("Prompt post-processing"), choices=_MODES),
            "continue_postfix": Look(label=_("Between reply and continuation"), choices=_POSTFIXES),
            "squash_system_messages": Look(label=_("Merge system messages")),
            "use_sysprompt": Look(label=_("Send system messages as system prompt")),
            "wrap_in_quotes": Look(label=_("Wrap your messages in quotes")),
            "continue_prefill": Look(label=_("Continue by prefill")),
            "assistant_prefill": _text(_("Start of the reply")),
            "assistant_impersonation": _text(_("Start of an impersonation")),
        },
    ),
    (
        _("Reasoning, tools and media"),
        False,
        {
            "reasoning_effort": Look(label=_("Reasoning effort"), choices=_EFFORTS, sampler="reasoning_effort"),
            "verbosity": Look(label=_("Verbosity"), choices=_VERBOSITIES, sampler="verbosity"),
            "show_thoughts": Look(label=_("Ask for reasoning")),
            "function_calling": Look(label=_("Function calling")),
            "tool_call_recurse_limit": Look(label=_("Tool calls in a row"), least=0, most=1000),
            "tool_reasoning_mode": Look(label=_("Reasoning of tool calls")),
            "enable_web_search": Look(label=_("Web search")),
            "media_inlining": Look(label=_("Send media")),
            "inline_image_quality": Look(label=_("Image quality"), choices=_QUALITIES),
            "request_images": Look(label=_("Ask for images")),
            "request_image_aspect_ratio": Look(label=_("Image aspect ratio")),
            "request_image_resolution": Look(label=_("Image resolution")),
            "stream_openai": Look(label=_("Streaming")),
        },
    ),
)
_OF_TEXT: Final[Groups] = (
    (
        _("Length"),
        True,
        {
            "max_length": Look(label=_("Context size (tokens)"), least=1, most=10_000_000),
            "genamt": Look(label=_("Response length (tokens)"), least=1, most=1_000_000),
        },
    ),
    (
        _("Samplers"),
        True,
        {
            "temp": _sampler(_("Temperature"), "temperature"),
            "top_p": _sampler(_("Top P"), "top_p"),
            "top_k": _sampler(_("Top K"), "top_k"),
            "min_p": _sampler(_("Min P"), "min_p"),
            "top_a": _sampler(_("Top A"), "top_a"),
            "typical_p": _sampler(_("Typical P"), "typical_p"),
            "tfs": _sampler(_("Tail-free sampling"), "tfs"),
            "rep_pen": _sampler(_("Repetition penalty"), "repetition_penalty"),
            "rep_pen_range": _sampler(_("Repetition penalty range"), "repetition_penalty_range"),
            "freq_pen": _sampler(_("Frequency penalty"), "frequency_penalty"),
            "presence_pen": _sampler(_("Presence penalty"), "presence_penalty"),
            "seed": _sampler(_("Seed"), "seed"),
        },
    ),
    (
        _("DRY, XTC and Mirostat"),
        False,
        {
            "dry_multiplier": _sampler(_("DRY multiplier"), "dry_multiplier"),
            "dry_base": _sampler(_("DRY base"), "dry_base"),
            "dry_allowed_length": _sampler(_("DRY allowed length"), "dry_allowed_length"),
            "dry_sequence_breakers": _sampler(_("DRY sequence breakers"), "dry_sequence_breakers"),
            "xtc_threshold": _sampler(_("XTC threshold"), "xtc_threshold"),
            "xtc_probability": _sampler(_("XTC probability"), "xtc_probability"),
            "mirostat_mode": _sampler(_("Mirostat mode"), "mirostat_mode"),
            "mirostat_tau": _sampler(_("Mirostat tau"), "mirostat_tau"),
            "mirostat_eta": _sampler(_("Mirostat eta"), "mirostat_eta"),
        },
    ),
    (
        _("Banned and biased tokens"),
        False,
        {
            "send_banned_tokens": Look(label=_("Send banned tokens")),
            "banned_tokens": Look(label=_("Banned tokens"), control="area", sampler="banned_strings"),
            "global_banned_tokens": Look(label=_("Globally banned tokens"), control="area", sampler="banned_strings"),
            "logit_bias": _sampler(_("Logit bias"), "logit_bias"),
        },
    ),
)
_OF_INSTRUCT: Final[Groups] = (
    (
        _("Instruct template"),
        True,
        {
            "name": Look(label=_("Name"), control="text"),
            "input_sequence": _sequence(_("User message prefix")),
            "input_suffix": _sequence(_("User message suffix")),
            "output_sequence": _sequence(_("Assistant message prefix")),
            "output_suffix": _sequence(_("Assistant message suffix")),
            "system_sequence": _sequence(_("System message prefix")),
            "system_suffix": _sequence(_("System message suffix")),
            "stop_sequence": _sequence(_("Stop sequence")),
            "names_behavior": Look(label=_("Names of speakers"), choices=_INSTRUCT_NAMES),
            "wrap": Look(label=_("Wrap sequences with line breaks")),
            "macro": Look(label=_("Replace macros in sequences")),
            "system_same_as_user": Look(label=_("System messages as user messages")),
            "skip_examples": Look(label=_("Leave example dialogues unformatted")),
            "sequences_as_stop_strings": Look(label=_("Sequences as stop strings")),
        },
    ),
    (
        _("Further sequences"),
        False,
        {
            "story_string_prefix": _sequence(_("Story string prefix")),
            "story_string_suffix": _sequence(_("Story string suffix")),
            "first_input_sequence": _sequence(_("First user prefix")),
            "last_input_sequence": _sequence(_("Last user prefix")),
            "first_output_sequence": _sequence(_("First assistant prefix")),
            "last_output_sequence": _sequence(_("Last assistant prefix")),
            "last_system_sequence": _sequence(_("Last system prefix")),
            "user_alignment_message": _text(_("User alignment message")),
            "activation_regex": Look(label=_("Activation regex"), control="text"),
            "enabled": Look(label=_("Enabled")),
            "bind_to_context": Look(label=_("Bound to the context template")),
            "preset": Look(label=_("Name of the preset"), control="text"),
            "system_prompt": _text(_("System prompt (older files)")),
        },
    ),
)
_OF_CONTEXT: Final[Groups] = (
    (
        _("Context template"),
        True,
        {
            "name": Look(label=_("Name"), control="text"),
            "story_string": _text(_("Story string")),
            "example_separator": _text(_("Example separator")),
            "chat_start": _text(_("Chat start")),
            "story_string_position": Look(label=_("Story string position"), choices=_STORY_POSITIONS),
            "story_string_depth": Look(label=_("Depth"), least=0, most=10_000),
            "story_string_role": Look(label=_("Role"), choices=_STORY_ROLES),
            "use_stop_strings": Look(label=_("Separators as stop strings")),
            "names_as_stop_strings": Look(label=_("Names as stop strings")),
            "always_force_name2": Look(label=_("Always add the character's name")),
            "single_line": Look(label=_("Reply of one line")),
            "trim_sentences": Look(label=_("Trim incomplete sentences")),
            "allow_jailbreak": Look(label=_("Allow post-history instructions")),
            "include_newline": Look(label=_("Include line breaks in trimming")),
            "preset": Look(label=_("Name of the preset"), control="text"),
        },
    ),
)
_OF_SYSTEM_PROMPT: Final[Groups] = (
    (
        _("System prompt"),
        True,
        {
            "name": Look(label=_("Name"), control="text"),
            "content": _text(_("System prompt")),
            "post_history": _text(_("Post-history instructions")),
            "enabled": Look(label=_("Enabled")),
        },
    ),
)
_OF_REASONING: Final[Groups] = (
    (
        _("Reasoning template"),
        True,
        {
            "name": Look(label=_("Name"), control="text"),
            "prefix": _sequence(_("Prefix")),
            "suffix": _sequence(_("Suffix")),
            "separator": _sequence(_("Separator")),
        },
    ),
)
_OF_START: Final[Groups] = (
    (
        _("Start of the reply"),
        False,
        {"value": _text(_("Start of the reply")), "show": Look(label=_("Show it in the message"))},
    ),
)
OF_RISUAI: Final[Groups] = (
    (
        _("Length"),
        True,
        {
            "maxContext": Look(label=_("Context size (tokens)"), least=1, most=10_000_000),
            "maxResponse": Look(label=_("Response length (tokens)"), least=1, most=1_000_000),
        },
    ),
    (
        _("Prompts"),
        False,
        {
            "mainPrompt": _text(_("Main prompt")),
            "jailbreak": _text(_("Jailbreak")),
            "jailbreakToggle": Look(label=_("Jailbreak on")),
            "globalNote": _text(_("Global note")),
            "additionalPrompt": _text(_("Additional prompt")),
            "descriptionPrefix": _text(_("Before the description")),
            "promptPreprocess": Look(label=_("Preprocess prompts")),
            "chainOfThought": Look(label=_("Chain of thought")),
            "formatingOrder": Look(label=_("Order without a template, one part per line"), control="lines"),
        },
    ),
    (
        _("Template"),
        False,
        {
            "promptSettings.assistantPrefill": _text(_("Start of the reply")),
            "promptSettings.postEndInnerFormat": _text(_("Format of the end")),
            "promptSettings.sendChatAsSystem": Look(label=_("Send the chat as system messages")),
            "promptSettings.sendName": Look(label=_("Send names of speakers")),
            "promptSettings.utilOverride": Look(label=_("Override utility characters")),
            "promptSettings.customChainOfThought": Look(label=_("Own chain of thought card")),
            "groupTemplate": _text(_("Format of messages with names")),
            "groupOtherBotRole": Look(label=_("Role of other characters"), choices=_RISU_ROLES),
            "automaticCachePoint": Look(label=_("Automatic cache points")),
            "templateDefaultVariables": Look(label=_("Default variables"), control="area"),
            OF_PRESETS: Look(label=_("Toggles"), control="area"),
        },
    ),
    (
        _("Lore and memory"),
        False,
        {
            "loreBookDepth": Look(label=_("Scan depth"), least=0, most=1000),
            "loreBookToken": Look(label=_("Lore budget (tokens)"), least=0, most=10_000_000),
            "supaModelType": Look(label=_("Memory")),
            "removePunctuationHypa": Look(label=_("Memory without punctuation")),
        },
    ),
    (
        _("Model"),
        False,
        {
            "aiModel": Look(label=_("Model")),
            "subModel": Look(label=_("Auxiliary model")),
            "language": Look(label=_("Language")),
        },
    ),
)
PROMPT_ROLES: Final = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}
_OF_PROMPT: Final[Groups] = (
    (
        _("Prompt"),
        True,
        {
            "name": Look(label=_("Name"), control="text"),
            "role": Look(label=_("Role"), choices=PROMPT_ROLES),
            "content": _text(_("Content")),
            "injection_position": Look(
                label=_("Position"), choices={"0": _("In the prompt order"), "1": _("In chat at depth")}
            ),
            "injection_depth": Look(label=_("Depth"), least=0, most=100_000),
            "injection_order": Look(label=_("Order"), least=-1_000_000, most=1_000_000),
            "forbid_overrides": Look(label=_("Forbid overrides by characters")),
        },
    ),
    (
        _("Further fields"),
        False,
        {
            "marker": Look(label=_("Marker, filled in automatically")),
            "system_prompt": Look(label=_("Built-in prompt")),
            "extension": Look(label=_("Made by an extension")),
            "enabled": Look(label=_("Enabled (older files)")),
        },
    ),
)
OF_CARDS: Final[Looks] = {
    "type": Look(label=_("Type")),
    "name": Look(label=_("Name"), control="text"),
    "role": Look(label=_("Role"), choices={"system": _("System"), "user": _("User"), "bot": _("Assistant")}),
    "type2": Look(
        label=_("Stands for"), choices={"normal": _("Prompt"), "main": _("Main prompt"), "globalNote": _("Global note")}
    ),
    "text": _text(_("Content")),
    "innerFormat": _text(_("Format, with {{slot}} for the text")),
    "defaultText": _text(_("Default text")),
    "rangeStart": Look(label=_("First message"), least=-100_000, most=100_000),
    "rangeEnd": Look(label=_("Last message, empty for the end"), least=-100_000, most=100_000),
    "chatAsOriginalOnSystem": Look(label=_("Keep roles when the chat is sent as system")),
    "depth": Look(label=_("Depth"), least=0, most=100_000),
}
CARD_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "plain": ("type", "name", "role", "type2", "text"),
    "jailbreak": ("type", "name", "role", "text"),
    "cot": ("type", "name", "role", "text"),
    "chatML": ("type", "name", "text"),
    "persona": ("type", "name", "innerFormat"),
    "description": ("type", "name", "innerFormat"),
    "authornote": ("type", "name", "innerFormat", "defaultText"),
    "memory": ("type", "name", "innerFormat"),
    "lorebook": ("type", "name"),
    "postEverything": ("type", "name"),
    "chat": ("type", "name", "rangeStart", "rangeEnd", "chatAsOriginalOnSystem"),
    "cache": ("type", "name", "depth", "role"),
}
"""Which fields count for each type of card."""

PARTS: Final[Mapping[type[PresetFile], Groups]] = {
    PresetPrompt: _OF_PROMPT,
    ChatPreset: _OF_CHAT,
    TextPreset: _OF_TEXT,
    Instruct: _OF_INSTRUCT,
    ContextTemplate: _OF_CONTEXT,
    SystemPrompt: _OF_SYSTEM_PROMPT,
    ReasoningTemplate: _OF_REASONING,
    StartReplyWith: _OF_START,
}
MASTER: Final[Mapping[str, type[PresetFile]]] = {
    "context": ContextTemplate,
    "instruct": Instruct,
    "sysprompt": SystemPrompt,
    "reasoning": ReasoningTemplate,
    "srw": StartReplyWith,
    "preset": TextPreset,
}
"""The parts of a master export, in the order of the page."""
ELSEWHERE: Final[Mapping[type, frozenset[str]]] = {
    ChatPreset: frozenset({"name", "prompts", "prompt_order"}),
    PresetPrompt: frozenset({"identifier", "injection_trigger"}),
    TextPreset: frozenset({"name"}),
    RisuSettings: frozenset({"promptTemplate", "promptSettings"}),
}
"""Fields that the page has other controls for: the name of the preset, the prompts, the cards."""
UNNAMED: Final[Mapping[type, str]] = {
    ChatPreset: _("Connection in SillyTavern"),
    TextPreset: _("Further fields"),
    RisuSettings: _("Further fields"),
}
