"""SillyTavern's layer: cards, presets, lore and chats in, the very request that SillyTavern would send out.

from tavernkit import sillytavern

plan = sillytavern.build(character=card.character, user=user, preset=preset, history=messages, books=books)
"""

from tavernkit.sillytavern.authors_note import AuthorsNote, CharacterNote, NotePlacement
from tavernkit.sillytavern.building import build, chat_pipeline, text_pipeline, with_context, with_templates
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.persona import PersonaPlace, PersonaPosition
from tavernkit.sillytavern.settings import ReasoningSettings, UserSettings, read_user_settings
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.sillytavern.story import BiasEntry, QuietPrompt, Story

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
    "Story",
    "UserSettings",
    "build",
    "chat_pipeline",
    "read_user_settings",
    "stopping_strings",
    "text_pipeline",
    "with_context",
    "with_templates",
]
