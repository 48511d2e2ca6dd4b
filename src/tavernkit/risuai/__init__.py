"""RisuAI's layer: characters, modules, presets and chats in, the very request that RisuAI would send out.

from tavernkit import risuai

story = risuai.Story(note="It is raining.")
built = risuai.build(story=story, character=card.character, user=user, preset=settings, history=messages)
reply = risuai.take_reply(built, "What the model has answered.")
"""

from tavernkit.risuai.building import build, prompt_pipeline
from tavernkit.risuai.cards import export_card, from_card, import_card
from tavernkit.risuai.character import LoreSettings, PicturePrompts, RisuCharacter, RisuDepthPrompt, read_character
from tavernkit.risuai.chat import RisuChat, RisuMessage, read_message, write_message
from tavernkit.risuai.chat_history import to_chat, to_history
from tavernkit.risuai.chat_ml import ChatMLMessage, parse_chat_ml
from tavernkit.risuai.lore_entry import LoreEntry, read_lore, write_lore_entry
from tavernkit.risuai.memory import Memory, MemoryMessage, MemoryRequest, Recollection, RollingSummary
from tavernkit.risuai.module import Module, read_module
from tavernkit.risuai.preset_problems import preset_problems
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.replying import RisuResult, shown, take_reply
from tavernkit.risuai.scene import RisuScene, Screen
from tavernkit.risuai.settings import PromptCard, RisuSettings, TemplateSettings, read_settings
from tavernkit.risuai.st_convert import convert_preset, to_chat_preset
from tavernkit.risuai.stored import AssetName
from tavernkit.risuai.story import ReplyCleanup, Story
from tavernkit.risuai.trigger import Trigger, read_triggers
from tavernkit.risuai.unsent import unsent_prompts

__all__ = [
    "AssetName",
    "ChatMLMessage",
    "LoreEntry",
    "LoreSettings",
    "Memory",
    "MemoryMessage",
    "MemoryRequest",
    "Module",
    "PicturePrompts",
    "PromptCard",
    "Recollection",
    "ReplyCleanup",
    "RisuCharacter",
    "RisuChat",
    "RisuDepthPrompt",
    "RisuMessage",
    "RisuRegexScript",
    "RisuResult",
    "RisuScene",
    "RisuSettings",
    "RollingSummary",
    "Screen",
    "Story",
    "TemplateSettings",
    "Trigger",
    "build",
    "convert_preset",
    "export_card",
    "from_card",
    "import_card",
    "parse_chat_ml",
    "preset_problems",
    "prompt_pipeline",
    "read_character",
    "read_lore",
    "read_message",
    "read_module",
    "read_scripts",
    "read_settings",
    "read_triggers",
    "shown",
    "take_reply",
    "to_chat",
    "to_chat_preset",
    "to_history",
    "unsent_prompts",
    "write_lore_entry",
    "write_message",
]
