"""The variables that triggers see: their own local ones, the chat's, and those of a display."""

from __future__ import annotations

from tavernkit.risuai.default_variables import MISSING, default_value, get_chat_variable
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_values import to_text
from tavernkit.values import Json


class ChatVariables:
    """The chat's variables that runs write, one within the other.

    In RisuAI each run has a copy of them, and a write puts the whole copy into the chat, where macros look. So the chat
    has the copy of the run that wrote last: also after that run has ended early, when the one around it goes on
    without what it wrote. A change of the character brings the chat back as it was `before`, until the next write.
    """

    def __init__(self, scene: RisuScene) -> None:
        self.before: dict[str, Json] = {}
        self._scene = scene
        self._shown: dict[str, Json] | None = None

    def written(self) -> dict[str, Json]:
        """The variables that were written, as the chat has them now."""
        return {name: self._scene.variables.get(name) for name in self.before}

    def read(self, copy: dict[str, Json], name: str) -> str:
        """The variable as the run with this copy has it."""
        if self._shown is copy or name not in self.before:
            return get_chat_variable(self._scene, name)
        value = copy.get(name, self.before[name])
        return default_value(self._scene, name) if value is None else to_text(value)

    def write(self, copy: dict[str, Json], name: str, value: Json) -> None:
        """Write the variable in the copy, and the copy into the chat."""
        self.before.setdefault(name, self._scene.variables.get(name))
        copy[name] = value
        if self._shown is copy:
            self._put(name, value)
        else:
            self.show(copy)

    def show(self, copy: dict[str, Json]) -> None:
        """Write the copy into the chat."""
        if self._shown is not copy:
            self._shown = copy
            for name, value in self.before.items():
                self._put(name, copy.get(name, value))

    def bring_back(self) -> None:
        """Put the chat back as it was before all runs."""
        self._shown = None
        for name, value in self.before.items():
            self._put(name, value)

    def _put(self, name: str, value: Json) -> None:
        if value is None:
            self._scene.variables.delete(name)
        else:
            self._scene.variables.set(name, value)


class TriggerVariables:
    """Variables by name. What is set goes to the chat, or else to `temporary`, which takes the chat's place in a run
    for the page or for a request. `copy` is what this run knows of the chat's variables that were written.

    A local variable belongs to the level of indentation where it was declared and is seen from there inwards, until
    that level ends. `indent` is the level of the effect that runs.
    """

    def __init__(
        self,
        scene: RisuScene,
        chat: ChatVariables,
        *,
        copy: dict[str, Json] | None = None,
        temporary: dict[str, Json] | None = None,
    ) -> None:
        self.indent = 0
        self.temporary = temporary
        self.copy = {} if copy is None else copy
        self._scene = scene
        self._chat = chat
        self._has_written = False
        self._locals: dict[int, dict[str, str]] = {}

    def get(self, name: str) -> str:
        """The value as text; `null` for what nobody has set."""
        level = self._level_of(name, self.indent)
        if level is not None:
            return self._locals[level][name]
        value = self._chat.read(self.copy, name)
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
        self._has_written = True
        self._chat.write(self.copy, name, value)

    def finish(self) -> None:
        """The run is done: what it has written is in the chat from now on."""
        if self._has_written:
            self._chat.show(self.copy)

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
