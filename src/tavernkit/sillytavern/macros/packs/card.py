"""Who takes part, and what the card and the persona say, with their own macros expanded."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from tavernkit.sillytavern.examples import example_texts, split_dialogues
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.problems import MacroFailure
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack

NAMES = Pack("names")
CARD = Pack("character")
GREETINGS = Pack("character")


def _group_names(environment: Environment, *, with_muted: bool) -> str:
    group = environment.group
    if environment.group_override or group is None:
        return environment.group_override or environment.character_name
    return ", ".join(name for name in group.members if name and (with_muted or name not in group.muted))


def _other_names(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    group = environment.group
    if environment.group_override or group is None:
        return environment.group_override or environment.user_name
    silent = {"", environment.character_name, *group.muted}
    return ", ".join(name for name in group.members if name not in silent)


NAMES.value("user", "The name of the user's persona.", "user_name")
NAMES.value("char", "The name of the character.", "character_name")
NAMES.value(
    "group",
    "All members of the group, muted ones too; outside a group the character.",
    lambda expansion: _group_names(expansion.environment, with_muted=True),
    hidden=("charIfNotGroup",),
)
NAMES.value(
    "groupNotMuted",
    "The members of the group who are not muted; outside a group the character.",
    lambda expansion: _group_names(expansion.environment, with_muted=False),
)
NAMES.value("notChar", "Everybody but the character: the unmuted others of a group, or the user.", _other_names)


def character_prompt(expansion: MacroExpansion) -> str:
    """The card's main prompt, where the settings let it replace the preset's."""
    environment = expansion.environment
    return expansion.card_text(environment.card.system_prompt if environment.settings.prefer_character_prompt else "")


def _character_instruction(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    instruction = environment.card.post_history_instructions
    return expansion.card_text(instruction if environment.settings.prefer_character_jailbreak else "")


def _examples(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    raw = expansion.card_text(environment.card.message_examples)
    return shaped_examples(raw, environment, lambda text: expansion.engine.expand(text, environment))


def shaped_examples(raw: str, environment: Environment, expand: Callable[[str], str]) -> str:
    """The dialogues one after the other: under `<START>` for chat models, as in the prompt for text models."""
    dialogues, settings, group = split_dialogues(raw), environment.settings, environment.group
    if environment.model.api == "chat":
        return "".join(f"<START>\n{dialogue}\n" for dialogue in dialogues)
    separator = settings.context.example_separator
    texts = example_texts(
        dialogues,
        settings.instruct,
        heading=f"{expand(separator)}\n" if separator else "",
        user_name=environment.user_name,
        character_name=environment.character_name,
        group=None if group is None else group.members,
        expand=expand,
    )
    return "".join(texts)


def _text(name: str, description: str, field: str, *aliases: str) -> None:
    read = attrgetter(field)
    CARD.value(name, description, lambda expansion: expansion.card_text(read(expansion.environment)), *aliases)


CARD.value("charPrompt", "The card's own main prompt.", character_prompt)
CARD.value("charInstruction", "The card's own instructions after the history.", _character_instruction)
_text("charDescription", "The character's description.", "card.description", "description")
_text("charPersonality", "The character's personality.", "card.personality", "personality")
_text("charScenario", "The scenario.", "card.scenario", "scenario")
_text("persona", "The description of the user's persona.", "persona")
_text("mesExamplesRaw", "The example dialogues as the card has them.", "card.message_examples")
CARD.value("mesExamples", "The example dialogues in the shape the prompt wants them.", _examples)
_text("charDepthPrompt", "The card's note at a depth of the chat.", "card.depth_prompt")
_text("charCreatorNotes", "The creator's notes.", "card.creator_notes", "creatorNotes")
CARD.value(
    "charVersion",
    "The version of the card.",
    lambda expansion: expansion.environment.card.version if expansion.environment.expands_card else "",
    hidden=("version", "char_version"),
)


@CARD.macro("original", "The text that this one replaces; once, then nothing.")
def _original(expansion: MacroExpansion) -> str:
    original = expansion.environment.original
    if original is None:
        raise MacroFailure("has no text to refer to here")
    if expansion.original_is_used:
        return ""
    expansion.original_is_used = True
    return original


@GREETINGS.macro(
    "charFirstMessage",
    "The first message, or one of its alternatives counted from 1.",
    MacroArgument(name="index", types=("integer",), optional=True, default="0"),
    aliases=("greeting",),
)
def _greeting(expansion: MacroExpansion, index: str = "0") -> str:
    card = expansion.environment.card
    greetings = (card.first_message, *card.alternate_greetings)
    number = int(index)
    return expansion.card_text(greetings[number]) if 0 <= number < len(greetings) else ""
