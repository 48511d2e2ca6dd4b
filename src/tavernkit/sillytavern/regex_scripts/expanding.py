"""How scripts have their macros expanded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tavernkit.macros.engine import MacroEngine
from tavernkit.sillytavern.macros.environment import Environment


class Expand(Protocol):
    """Expands the macros of a text.

    `character` is who is meant by the character's name instead of the chat's own; `escape` is to be done to what each
    macro gives.
    """

    def __call__(
        self, text: str, *, character: str | None = None, escape: Callable[[str], str] | None = None
    ) -> str: ...


def macro_expander(engine: MacroEngine, environment: Environment) -> Expand:
    """Expand with one of SillyTavern's engines; there is no original to refer back to."""
    plain = environment.with_(original=None)

    def expand(text: str, *, character: str | None = None, escape: Callable[[str], str] | None = None) -> str:
        seen = plain if escape is None else plain.with_(post_process=escape)
        if character is not None:
            in_card = seen.names_in_card or (seen.user_name, seen.character_name)
            seen = seen.with_(character_name=character, names_in_card=in_card)
        return engine.expand(text, seen)

    return expand
