"""Pieces of the templates that are in use: instruct, context, system prompt, reasoning, notes."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.packs.card import character_prompt
from tavernkit.sillytavern.macros.registry import Alias, Pack
from tavernkit.sillytavern.presets import Instruct

INSTRUCT = Pack("prompts")
EXTENSIONS = Pack("prompts")


def _sequence(name: str, description: str, read: Callable[[Instruct], str], *aliases: str) -> None:
    """A part of the instruct template, empty while instruct is off."""

    def value(expansion: MacroExpansion) -> str:
        instruct = expansion.environment.settings.instruct
        return read(instruct) if instruct.enabled else ""

    INSTRUCT.value(name, description, value, aliases=tuple(Alias(name=alias) for alias in aliases))


_sequence("instructStoryStringPrefix", "Stands before the story string.", lambda it: it.story_string_prefix)
_sequence("instructStoryStringSuffix", "Stands after the story string.", lambda it: it.story_string_suffix)
_sequence("instructUserPrefix", "Stands before a user's message.", lambda it: it.input_sequence, "instructInput")
_sequence("instructUserSuffix", "Stands after a user's message.", lambda it: it.input_suffix)
_sequence("instructAssistantPrefix", "Stands before a reply.", lambda it: it.output_sequence, "instructOutput")
_sequence("instructAssistantSuffix", "Stands after a reply.", lambda it: it.output_suffix, "instructSeparator")
_sequence("instructSystemPrefix", "Stands before a system message.", lambda it: it.system_sequence)
_sequence("instructSystemSuffix", "Stands after a system message.", lambda it: it.system_suffix)
_sequence(
    "instructFirstAssistantPrefix",
    "Stands before the first reply.",
    lambda it: it.first_output_sequence or it.output_sequence,
    "instructFirstOutputPrefix",
)
_sequence(
    "instructLastAssistantPrefix",
    "Stands before the last reply.",
    lambda it: it.last_output_sequence or it.output_sequence,
    "instructLastOutputPrefix",
)
_sequence("instructStop", "Makes the model stop.", lambda it: it.stop_sequence)
_sequence("instructUserFiller", "Stands first when the chat begins with a reply.", lambda it: it.user_alignment_message)
_sequence(
    "instructSystemInstructionPrefix", "Stands before the last system message.", lambda it: it.last_system_sequence
)
_sequence(
    "instructFirstUserPrefix",
    "Stands before the user's first message.",
    lambda it: it.first_input_sequence or it.input_sequence,
    "instructFirstInput",
)
_sequence(
    "instructLastUserPrefix",
    "Stands before the user's last message.",
    lambda it: it.last_input_sequence or it.input_sequence,
    "instructLastInput",
)


def _default_system_prompt(environment: Environment) -> str:
    prompt = environment.settings.system_prompt
    return prompt.content if prompt.enabled else ""


def _system_prompt(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    if not environment.settings.system_prompt.enabled:
        return ""
    return character_prompt(expansion) or environment.settings.system_prompt.content


INSTRUCT.value(
    "defaultSystemPrompt",
    "The system prompt of the settings.",
    lambda expansion: _default_system_prompt(expansion.environment),
    aliases=(Alias(name="instructSystem"), Alias(name="instructSystemPrompt")),
)
INSTRUCT.value("systemPrompt", "The system prompt in use: the card's, else that of the settings.", _system_prompt)
INSTRUCT.value(
    "exampleSeparator",
    "Stands between example dialogues.",
    lambda expansion: expansion.environment.settings.context.example_separator,
    aliases=(Alias(name="chatSeparator"),),
)
INSTRUCT.value(
    "chatStart", "Stands before the chat.", lambda expansion: expansion.environment.settings.context.chat_start
)
INSTRUCT.value(
    "reasoningPrefix", "Stands before thoughts.", lambda expansion: expansion.environment.settings.reasoning.prefix
)
INSTRUCT.value(
    "reasoningSuffix", "Stands after thoughts.", lambda expansion: expansion.environment.settings.reasoning.suffix
)
INSTRUCT.value(
    "reasoningSeparator",
    "Stands between thoughts and the reply.",
    lambda expansion: expansion.environment.settings.reasoning.separator,
)

EXTENSIONS.value(
    "summary", "The summary of the chat so far.", lambda expansion: expansion.environment.summary, category="chat"
)
EXTENSIONS.value(
    "charPrefix",
    "What goes before image prompts of the character.",
    lambda expansion: expansion.environment.image_prefix,
)
EXTENSIONS.value(
    "charNegativePrefix",
    "What goes before negative image prompts of the character.",
    lambda expansion: expansion.environment.image_negative_prefix,
)
EXTENSIONS.value("authorsNote", "The author's note of the chat.", lambda expansion: expansion.environment.notes.chat)
EXTENSIONS.value(
    "charAuthorsNote", "The character's own author's note.", lambda expansion: expansion.environment.notes.character
)
EXTENSIONS.value(
    "defaultAuthorsNote", "The author's note of new chats.", lambda expansion: expansion.environment.notes.default
)
