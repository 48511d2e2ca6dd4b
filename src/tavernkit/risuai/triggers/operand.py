"""What an effect works with, as it is written: a text with macros, or the name of a variable."""

from __future__ import annotations

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import JsonObject, Value


class Operand(Value, frozen=True, kw_only=True):
    """A text whose macros are replaced, and that is then the value itself or the name of the variable that holds it.

    None is one that is not written at all, which is a fault only when it is asked for.
    """

    text: str | None
    is_variable: bool = False


class Jump(Value, frozen=True, kw_only=True):
    """Where an effect jumps to, if it does; the end of a loop also knows the place and the fields of its beginning."""

    place: int
    loop: int | None = None
    begin: EffectFields | None = None


class EffectFields(LooseObject):
    """The fields of one effect or condition, read once, before anything runs; `jump` is where it may go on."""

    def __init__(self, source: JsonObject) -> None:
        super().__init__(source, ReportBuilder())
        self.type = self.text("type")
        self.is_older = not self.type.startswith("v2")
        self.level = self._level()
        self.jump = Jump(place=0)

    def operand(self, key: str) -> Operand:
        """A field whose neighbour `…Type` says whether it is a value; without one it names a variable.

        The older effects know values only.
        """
        is_variable = not self.is_older and self.text(f"{key}Type") != "value"
        return Operand(text=self.optional_text(key), is_variable=is_variable)

    def _level(self) -> int | None:
        indent = self.raw("indent")
        if isinstance(indent, bool) or not isinstance(indent, int | float):
            return None
        return int(indent) if indent == indent // 1 else None
