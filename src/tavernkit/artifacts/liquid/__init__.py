"""Liquid templates, rendered by LiquidJS inside QuickJS, with limits; `docs/liquid.md` says what is ours about it."""

from tavernkit.artifacts.liquid.template import LiquidLimits, LiquidOptions, LiquidTemplate
from tavernkit.artifacts.liquid.values import LazyObject, TextObject

__all__ = ["LazyObject", "LiquidLimits", "LiquidOptions", "LiquidTemplate", "TextObject"]
