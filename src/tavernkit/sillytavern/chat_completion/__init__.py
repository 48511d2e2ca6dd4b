"""Chat completion: a preset's prompts, the chat and the examples become the messages of a request."""

from tavernkit.sillytavern.chat_completion.assembly import plan_assembly
from tavernkit.sillytavern.chat_completion.compilation import compilation
from tavernkit.sillytavern.chat_completion.entries import entries, macro_expansion
from tavernkit.sillytavern.chat_completion.injection import injection
from tavernkit.sillytavern.chat_completion.pinned import pinned_groups
from tavernkit.sillytavern.chat_completion.scene import ChatScene
from tavernkit.sillytavern.chat_completion.trimming import trimming

__all__ = [
    "ChatScene",
    "compilation",
    "entries",
    "injection",
    "macro_expansion",
    "pinned_groups",
    "plan_assembly",
    "trimming",
]
