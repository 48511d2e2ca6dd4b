"""The part of Handlebars that context templates use, with SillyTavern's two helpers of its own."""

from tavernkit.sillytavern.text_completion.handlebars.rendering import render

__all__ = ["render"]
