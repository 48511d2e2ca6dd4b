"""The variables that triggers see: their own local ones, the chat's, and those of a display."""

from __future__ import annotations

from tavernkit.risuai.default_variables import MISSING, get_chat_variable
from tavernkit.risuai.scene import Scene
from tavernkit.text.js_values import to_text
from tavernkit.values import Json

__all__ = ["TriggerVariables"]


class TriggerVariables:
    """Variables by name. What is set goes to the chat and is noted in `written`, or else to `temporary`, which takes
    the chat's place in a run for the page or for a request.

    A local variable belongs to the level of indentation where it was declared and is seen from there inwards, until
    that level ends. `indent` is the level of the effect that runs.
    """

    def __init__(self, scene: Scene, written: dict[str, Json], temporary: dict[str, Json] | None = None) -> None:
        self.indent = 0
        self.temporary = temporary
        self._scene = scene
        self._written = written
        self._locals: dict[int, dict[str, str]] = {}

    def get(self, name: str) -> str:
        """The value as text; `null` for what nobody has set."""
        level = self._level_of(name, self.indent)
        if level is not None:
            return self._locals[level][name]
        value = get_chat_variable(self._scene, name)
        if value == MISSING and self.temporary is not None and self._scene.variables.get(name) is None:
            return to_text(self.temporary.get(name))
        return value

    def set(self, name: str, value: Json) -> None:
        """Write a variable; None is JavaScript's undefined, which leaves none."""
        if self.temporary is not None:
            self.temporary[name] = value
            return
        level = self._level_of(name, self.indent)
        if level is not None:
            self._locals[level][name] = to_text(value)
            return
        self._written[name] = value
        if value is None:
            self._scene.variables.delete(name)
        else:
            self._scene.variables.set(name, value)

    def declare(self, name: str, value: str, indent: int) -> None:
        """Make a local variable, or write the one of this name that is seen from this level."""
        level = self._level_of(name, indent)
        self._locals.setdefault(indent if level is None else level, {})[name] = value

    def leave(self, indent: int) -> None:
        """Forget the local variables of this level and those inside it."""
        for level in [level for level in self._locals if level >= indent]:
            del self._locals[level]

    def _level_of(self, name: str, indent: int) -> int | None:
        if not self._locals:
            return None
        levels = (level for level, variables in self._locals.items() if 0 <= level <= indent and name in variables)
        return max(levels, default=None)
