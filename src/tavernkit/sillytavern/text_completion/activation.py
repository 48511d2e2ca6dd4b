"""Choosing the instruct template by the name of the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.errors import RegexError
from tavernkit.sillytavern.presets import Instruct
from tavernkit.text.js_regex import compile_regex

_WITH_FLAGS = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)


def activated_template(templates: Sequence[Instruct], model: str | None) -> Instruct | None:
    """The first template whose activation pattern is found in the model's name.

    A pattern without slashes ignores case. One that is broken, or takes too long, finds nothing.
    """
    if not model:
        return None
    return next((template for template in templates if _is_for(template, model)), None)


def _is_for(template: Instruct, model: str) -> bool:
    if not template.activation_regex:
        return False
    written = _WITH_FLAGS.fullmatch(template.activation_regex)
    source, flags = (written[1], written[2]) if written else (template.activation_regex, "i")
    try:
        return compile_regex(source, flags).test(model)
    except RegexError:
        return False
