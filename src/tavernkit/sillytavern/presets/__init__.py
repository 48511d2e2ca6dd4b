"""SillyTavern's preset files, decoded into typed values."""

from tavernkit.sillytavern.presets.chat import ChatPreset, PresetPrompt, PromptOrder, PromptToggle
from tavernkit.sillytavern.presets.detect import SillyTavernPreset, read_preset, write_preset
from tavernkit.sillytavern.presets.templates import (
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    StartReplyWith,
    SystemPrompt,
)
from tavernkit.sillytavern.presets.text import TextPreset

__all__ = [
    "ChatPreset",
    "ContextTemplate",
    "Instruct",
    "MasterExport",
    "PresetPrompt",
    "PromptOrder",
    "PromptToggle",
    "ReasoningTemplate",
    "SillyTavernPreset",
    "StartReplyWith",
    "SystemPrompt",
    "TextPreset",
    "read_preset",
    "write_preset",
]
