"""SillyTavern's legacy macro engine."""

from tavernkit.sillytavern.macros.legacy.engine import LegacyMacros

__all__ = ["LegacyMacros"]
