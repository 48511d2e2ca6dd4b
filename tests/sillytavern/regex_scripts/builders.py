"""Scripts and runs of them in few words."""

from __future__ import annotations

from typing import Any

from tavernkit.macros.variables import Variables
from tavernkit.sillytavern.macros import Environment, ParserMacros
from tavernkit.sillytavern.regex_scripts import Expand, RegexScript, RegexScripts, embedded_scripts, macro_expander

MACROS = ParserMacros()


def script(find: str, replace: str = "", **fields: Any) -> RegexScript:
    """A script for what the character says, with fields as a file has them."""
    given = {"scriptName": "s", "findRegex": find, "replaceString": replace, "placement": [2], **fields}
    return embedded_scripts({"regex_scripts": [given]})[0]


def scripts(*listed: RegexScript) -> RegexScripts:
    return RegexScripts(global_=listed)


def expander(user: str = "Zed", character: str = "Mira", **variables: Any) -> Expand:
    store = Variables(variables)
    return macro_expander(MACROS, Environment(user_name=user, character_name=character, variables=store))
