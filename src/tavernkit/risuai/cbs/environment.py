"""What a text is expanded in: a scene, and how it is parsed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tavernkit.macros.engine import BorrowedVariables, MacroEnvironment
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

TEMPORARY = "temp"
TOGGLE = "toggle"


class CBSEnvironment:
    """A scene and the options of a parse.

    Beside the scopes of the scene there are `temp`, the variables of the parse, which live as long as the environment
    does, and `toggle`, the global variables whose names begin with `toggle_`.
    """

    def __init__(self, scene: RisuScene, options: CBSOptions = CBSOptions()) -> None:  # noqa: B008 - a frozen value
        self.scene = scene
        self.options = options
        self.temporary: dict[str, str] = {}

    @property
    def character_name(self) -> str:
        character = self.scene.character
        if self.options.character_name is not None and (character is None or character.is_group):
            return self.options.character_name
        return "" if character is None else character.display_name

    @property
    def user_name(self) -> str:
        return self.scene.user_name

    def get_var(self, name: str, scope: str = "local") -> Any:
        """The value as it was set, without the defaults of the character; None when nobody has set it."""
        if scope == TEMPORARY:
            return self.temporary.get(name)
        return self.scene.variables.get(*_stored(name, scope))

    def set_var(self, name: str, value: Any, scope: str = "local") -> None:
        if scope == TEMPORARY:
            self.temporary[name] = value
        else:
            stored, scope = _stored(name, scope)
            self.scene.variables.set(stored, value, scope)

    def has_var(self, name: str, scope: str = "local") -> bool:
        return name in self.temporary if scope == TEMPORARY else self.scene.variables.has(*_stored(name, scope))


def _stored(name: str, scope: str) -> tuple[str, str]:
    return (f"toggle_{name}", "global") if scope == TOGGLE else (name, scope)


def as_environment(environment: MacroEnvironment) -> CBSEnvironment:
    """The environment itself where it is RisuAI's; else one with its names and variables, without time or chance."""
    if isinstance(environment, CBSEnvironment):
        return environment
    return CBSEnvironment(
        RisuScene(
            character=RisuCharacter(name=environment.character_name),
            chat=RisuChat(),
            settings=RisuSettings(),
            now=lambda: datetime(1970, 1, 1, tzinfo=UTC),
            random=lambda: 0.5,
            user_name=environment.user_name,
            variables=BorrowedVariables(environment),
        )
    )
