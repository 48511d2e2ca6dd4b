"""SillyTavern's layer: cards, presets, lore and chats in, the very request that SillyTavern would send out.

from tavernkit import sillytavern

built = sillytavern.build(character=card.character, user=user, preset=preset, history=messages, books=books)
reply = sillytavern.take_reply(built, "What the model has answered.")
"""

from tavernkit.sillytavern.building import build, chat_pipeline, text_pipeline, with_context, with_templates
from tavernkit.sillytavern.chat_completion.unsent import unsent_prompts
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.preset_problems import preset_problems
from tavernkit.sillytavern.replying import SillyTavernResult, take_reply
from tavernkit.sillytavern.settings import ReasoningSettings, UserSettings, read_user_settings
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.sillytavern.story import (
    AuthorsNote,
    BiasEntry,
    CharacterNote,
    NotePlacement,
    PersonaPlace,
    PersonaPosition,
    QuietPrompt,
    Story,
)

__all__ = [
    "AuthorsNote",
    "BiasEntry",
    "CharacterNote",
    "ExtensionPrompt",
    "NotePlacement",
    "PersonaPlace",
    "PersonaPosition",
    "QuietPrompt",
    "ReasoningSettings",
    "SillyTavernResult",
    "Story",
    "UserSettings",
    "build",
    "chat_pipeline",
    "preset_problems",
    "read_user_settings",
    "stopping_strings",
    "take_reply",
    "text_pipeline",
    "unsent_prompts",
    "with_context",
    "with_templates",
]
