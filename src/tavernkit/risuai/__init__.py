"""RisuAI's layer: characters, modules, presets and chats in, the very request that RisuAI would send out.

from tavernkit import risuai

story = risuai.Story(note="It is raining.")
plan = risuai.build(story=story, character=card.character, user=user, preset=settings, history=messages)
"""

from tavernkit.risuai.building import build, prompt_pipeline
from tavernkit.risuai.chat_history import to_chat, to_history
from tavernkit.risuai.chat_ml import ChatMLMessage, parse_chat_ml
from tavernkit.risuai.memory import Memory, MemoryMessage, MemoryRequest, Recollection, RollingSummary
from tavernkit.risuai.replying import TakenReply, shown, take_reply
from tavernkit.risuai.settings import PromptCard, PromptSettings, Settings, read_settings
from tavernkit.risuai.st_convert import convert_preset
from tavernkit.risuai.story import Story

__all__ = [
    "ChatMLMessage",
    "Memory",
    "MemoryMessage",
    "MemoryRequest",
    "PromptCard",
    "PromptSettings",
    "Recollection",
    "RollingSummary",
    "Settings",
    "Story",
    "TakenReply",
    "build",
    "convert_preset",
    "parse_chat_ml",
    "prompt_pipeline",
    "read_settings",
    "shown",
    "take_reply",
    "to_chat",
    "to_history",
]
