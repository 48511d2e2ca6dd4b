"""Scenes for the tests of CBS."""

from collections.abc import Mapping
from datetime import UTC, datetime

from tavernkit.macros.variables import Variables
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

__all__ = ["scene"]


def scene(
    variables: Mapping[str, str] | None = None,
    *,
    toggles: Mapping[str, str] | None = None,
    globals_: Mapping[str, str] | None = None,
    **character: str,
) -> RisuScene:
    """Marlow and Tess, with these variables of the chat, toggles, global variables and fields of the character."""
    shared = {**{f"toggle_{name}": value for name, value in (toggles or {}).items()}, **(globals_ or {})}
    return RisuScene(
        character=RisuCharacter(name="Marlow", **character),
        chat=RisuChat(),
        settings=RisuSettings(),
        now=lambda: datetime(2025, 3, 9, 14, 7, 5, tzinfo=UTC),
        random=lambda: 0.5,
        user_name="Tess",
        variables=Variables(variables, shared),
    )
