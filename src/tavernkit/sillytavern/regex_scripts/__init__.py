"""SillyTavern's regex scripts: find and replace in messages, World Info and thoughts."""

from tavernkit.sillytavern.regex_scripts.applying import Expand, RegexBudget, apply_scripts, macro_expander, run_script
from tavernkit.sillytavern.regex_scripts.script import (
    Placement,
    RegexScript,
    RegexScripts,
    embedded_scripts,
    read_regex_scripts,
    write_regex_scripts,
)

__all__ = [
    "Expand",
    "Placement",
    "RegexBudget",
    "RegexScript",
    "RegexScripts",
    "apply_scripts",
    "embedded_scripts",
    "macro_expander",
    "read_regex_scripts",
    "run_script",
    "write_regex_scripts",
]
