"""Every error that only SillyTavern's layer raises.

TavernKitError
├── tavernkit.InvalidPresetError  a file that is no preset, or a preset field of an impossible value
├── MacroError                    a macro that failed; `.macro_name` and `.position` say which and where
│   ├── MacroSyntaxError          a call that is malformed, such as `{{` without its end
│   ├── UnknownMacroError         a name that no macro has
│   └── UnconsumedMacroError      a placeholder that is still there when everything has been expanded
├── ParseError
│   └── tavernkit.LoreParseError
│       └── LoreParseError        an entry of World Info that cannot be used
├── InvalidInstructError          an instruct template whose sequences are no text
├── InvalidContextTemplateError   a context template whose story string is no text
└── GroupError                    a group in which the wanted speaker cannot speak
    ├── DepartedMemberError       a message to be swiped or continued whose writer is not at hand
    └── UnknownMemberError        an avatar that no character at hand has
"""

from __future__ import annotations

from tavernkit import errors
from tavernkit.errors import InvalidPresetError as InvalidPresetError
from tavernkit.errors import TavernKitError


class MacroError(TavernKitError):
    """A macro that failed; `position` counts characters from the start of the text."""

    def __init__(self, message: str, *, macro_name: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.macro_name = macro_name
        self.position = position


class MacroSyntaxError(MacroError):
    """A macro call that is malformed."""


class UnknownMacroError(MacroError):
    """A name that no macro has."""


class UnconsumedMacroError(MacroError):
    """A placeholder that is still in the text after expansion."""


class LoreParseError(errors.LoreParseError):
    """An entry of World Info that cannot be used, such as one with a key that takes too long."""


class InvalidInstructError(TavernKitError):
    """An instruct template whose sequences are no text."""


class InvalidContextTemplateError(TavernKitError):
    """A context template whose story string is no text."""


class GroupError(TavernKitError):
    """A group in which the wanted speaker cannot speak."""


class DepartedMemberError(GroupError):
    """A message to be swiped or continued whose writer is not at hand."""


class UnknownMemberError(GroupError):
    """An avatar that no character at hand has."""
