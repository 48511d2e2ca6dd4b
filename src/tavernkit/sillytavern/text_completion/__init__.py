"""Text-completion prompts as SillyTavern writes them."""

from tavernkit.sillytavern.text_completion.assembling import assemble_text_prompt
from tavernkit.sillytavern.text_completion.scene import LeftOut, TextPiece, TextPrompt, TextScene
from tavernkit.sillytavern.text_completion.stages import TextWorkspace, compilation, history, plan_assembly, trimming

__all__ = [
    "LeftOut",
    "TextPiece",
    "TextPrompt",
    "TextScene",
    "TextWorkspace",
    "assemble_text_prompt",
    "compilation",
    "history",
    "plan_assembly",
    "trimming",
]
