"""Pieces of the templates that are in use: instruct, context, system prompt, reasoning, notes."""

from __future__ import annotations

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.packs.card import character_prompt
from tavernkit.sillytavern.macros.registry import Pack

INSTRUCT = Pack("prompts")
EXTENSIONS = Pack("prompts")


def _sequence(name: str, description: str, field: str, *aliases: str, instead: str | None = None) -> None:
    """A field of the instruct template, or the one `instead` of it where it is empty; nothing while instruct is off."""

    def value(expansion: MacroExpansion) -> str:
        instruct = expansion.environment.settings.instruct
        if not instruct.enabled:
            return ""
        return str(getattr(instruct, field) or (getattr(instruct, instead) if instead else ""))

    INSTRUCT.value(name, description, value, *aliases)


_sequence("instructStoryStringPrefix", "Stands before the story string.", "story_string_prefix")
_sequence("instructStoryStringSuffix", "Stands after the story string.", "story_string_suffix")
_sequence("instructUserPrefix", "Stands before a user's message.", "input_sequence", "instructInput")
_sequence("instructUserSuffix", "Stands after a user's message.", "input_suffix")
_sequence("instructAssistantPrefix", "Stands before a reply.", "output_sequence", "instructOutput")
_sequence("instructAssistantSuffix", "Stands after a reply.", "output_suffix", "instructSeparator")
_sequence("instructSystemPrefix", "Stands before a system message.", "system_sequence")
_sequence("instructSystemSuffix", "Stands after a system message.", "system_suffix")
_sequence(
    "instructFirstAssistantPrefix",
    "Stands before the first reply.",
    "first_output_sequence",
    "instructFirstOutputPrefix",
    instead="output_sequence",
)
_sequence(
    "instructLastAssistantPrefix",
    "Stands before the last reply.",
    "last_output_sequence",
    "instructLastOutputPrefix",
    instead="output_sequence",
)
_sequence("instructStop", "Makes the model stop.", "stop_sequence")
_sequence("instructUserFiller", "Stands first when the chat begins with a reply.", "user_alignment_message")
_sequence("instructSystemInstructionPrefix", "Stands before the last system message.", "last_system_sequence")
_sequence(
    "instructFirstUserPrefix",
    "Stands before the user's first message.",
    "first_input_sequence",
    "instructFirstInput",
    instead="input_sequence",
)
_sequence(
    "instructLastUserPrefix",
    "Stands before the user's last message.",
    "last_input_sequence",
    "instructLastInput",
    instead="input_sequence",
)


def _default_system_prompt(expansion: MacroExpansion) -> str:
    prompt = expansion.environment.settings.system_prompt
    return prompt.content if prompt.enabled else ""


def _system_prompt(expansion: MacroExpansion) -> str:
    prompt = expansion.environment.settings.system_prompt
    return (character_prompt(expansion) or prompt.content) if prompt.enabled else ""


INSTRUCT.value(
    "defaultSystemPrompt",
    "The system prompt of the settings.",
    _default_system_prompt,
    "instructSystem",
    "instructSystemPrompt",
)
INSTRUCT.value("systemPrompt", "The system prompt in use: the card's, else that of the settings.", _system_prompt)
INSTRUCT.value(
    "exampleSeparator", "Stands between example dialogues.", "settings.context.example_separator", "chatSeparator"
)
INSTRUCT.value("chatStart", "Stands before the chat.", "settings.context.chat_start")
INSTRUCT.value("reasoningPrefix", "Stands before thoughts.", "settings.reasoning.prefix")
INSTRUCT.value("reasoningSuffix", "Stands after thoughts.", "settings.reasoning.suffix")
INSTRUCT.value("reasoningSeparator", "Stands between thoughts and the reply.", "settings.reasoning.separator")

EXTENSIONS.value("summary", "The summary of the chat so far.", "summary", category="chat")
EXTENSIONS.value("charPrefix", "What goes before image prompts of the character.", "image_prefix")
EXTENSIONS.value(
    "charNegativePrefix", "What goes before negative image prompts of the character.", "image_negative_prefix"
)
EXTENSIONS.value("authorsNote", "The author's note of the chat.", "notes.chat")
EXTENSIONS.value("charAuthorsNote", "The character's own author's note.", "notes.character")
EXTENSIONS.value("defaultAuthorsNote", "The author's note of new chats.", "notes.default")
