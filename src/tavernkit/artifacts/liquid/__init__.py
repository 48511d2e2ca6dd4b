"""Liquid templates, rendered by LiquidJS inside QuickJS, with limits; `docs/liquid.md` says what is ours about it."""

from tavernkit.artifacts.liquid.template import LazyObject, LiquidLimits, LiquidOptions, LiquidTemplate, TextObject

__all__ = ["LazyObject", "LiquidLimits", "LiquidOptions", "LiquidTemplate", "TextObject"]
