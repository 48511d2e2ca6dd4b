"""What the card and the persona say, with their own macros expanded."""

from __future__ import annotations

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.examples import format_examples
from tavernkit.sillytavern.macros.problems import MacroFailure
from tavernkit.sillytavern.macros.registry import Alias, MacroArgument, Pack

CARD = Pack("character")
GREETINGS = Pack("character")


def character_prompt(expansion: MacroExpansion) -> str:
    """The card's main prompt, where the settings let it replace the preset's."""
    environment = expansion.environment
    if not environment.settings.prefer_character_prompt:
        return ""
    return expansion.card_text(environment.card.system_prompt)


def _character_instruction(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    if not environment.settings.prefer_character_jailbreak:
        return ""
    return expansion.card_text(environment.card.post_history_instructions)


def _examples(expansion: MacroExpansion) -> str:
    raw = expansion.card_text(expansion.environment.card.message_examples)
    environment = expansion.environment
    return format_examples(raw, environment, lambda text: expansion.engine.expand(text, environment))


CARD.value("charPrompt", "The card's own main prompt.", character_prompt)
CARD.value("charInstruction", "The card's own instructions after the history.", _character_instruction)
CARD.value(
    "charDescription",
    "The character's description.",
    lambda expansion: expansion.card_text(expansion.environment.card.description),
    aliases=(Alias(name="description"),),
)
CARD.value(
    "charPersonality",
    "The character's personality.",
    lambda expansion: expansion.card_text(expansion.environment.card.personality),
    aliases=(Alias(name="personality"),),
)
CARD.value(
    "charScenario",
    "The scenario.",
    lambda expansion: expansion.card_text(expansion.environment.card.scenario),
    aliases=(Alias(name="scenario"),),
)
CARD.value(
    "persona",
    "The description of the user's persona.",
    lambda expansion: expansion.card_text(expansion.environment.persona),
)
CARD.value(
    "mesExamplesRaw",
    "The example dialogues as the card has them.",
    lambda expansion: expansion.card_text(expansion.environment.card.message_examples),
)
CARD.value("mesExamples", "The example dialogues in the shape the prompt wants them.", _examples)
CARD.value(
    "charDepthPrompt",
    "The card's note at a depth of the chat.",
    lambda expansion: expansion.card_text(expansion.environment.card.depth_prompt),
)
CARD.value(
    "charCreatorNotes",
    "The creator's notes.",
    lambda expansion: expansion.card_text(expansion.environment.card.creator_notes),
    aliases=(Alias(name="creatorNotes"),),
)
CARD.value(
    "charVersion",
    "The version of the card.",
    lambda expansion: expansion.environment.card.version if expansion.environment.expands_card else "",
    aliases=(Alias(name="version", visible=False), Alias(name="char_version", visible=False)),
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
    aliases=(Alias(name="greeting"),),
)
def _greeting(expansion: MacroExpansion, index: str = "0") -> str:
    card = expansion.environment.card
    greetings = (card.first_message, *card.alternate_greetings)
    number = int(index)
    return expansion.card_text(greetings[number]) if 0 <= number < len(greetings) else ""
