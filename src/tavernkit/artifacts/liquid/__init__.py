"""Liquid templates as LiquidJS renders them, on python-liquid, with limits.

`docs/liquid.md` says what is supported and where we differ on purpose.
"""

from tavernkit.artifacts.liquid.data import TextObject
from tavernkit.artifacts.liquid.limits import LiquidLimits
from tavernkit.artifacts.liquid.options import LiquidOptions
from tavernkit.artifacts.liquid.template import LiquidTemplate

__all__ = ["LiquidLimits", "LiquidOptions", "LiquidTemplate", "TextObject"]
