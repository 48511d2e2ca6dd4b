"""SillyTavern's regex scripts: find and replace in messages, World Info and thoughts."""

from tavernkit.sillytavern.regex_scripts.applying import apply_scripts, run_script
from tavernkit.sillytavern.regex_scripts.budget import RegexBudget
from tavernkit.sillytavern.regex_scripts.expanding import Expand, macro_expander
from tavernkit.sillytavern.regex_scripts.files import embedded_scripts, read_regex_scripts, write_regex_scripts
from tavernkit.sillytavern.regex_scripts.script import Placement, RegexScript, RegexScripts

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
