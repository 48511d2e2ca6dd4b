"""What an effect works with, as it is written: a text with macros, or the name of a variable."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, Value


class Operand(Value, frozen=True, kw_only=True):
    """A text whose macros are replaced, and that is then the value itself or the name of the variable that holds it.

    None is one that is not written at all, which is a fault only when it is asked for.
    """

    text: str | None
    is_variable: bool = False


class EffectFields:
    """The fields of one effect or condition, read once, before anything runs."""

    def __init__(self, source: Mapping[str, Json]) -> None:
        self._loose = LooseObject(source, ReportBuilder())
        self.type = self.text("type")
        self.level = self._level()

    def text(self, key: str) -> str:
        return self._loose.text(key)

    def optional_text(self, key: str) -> str | None:
        return self._loose.optional_text(key)

    def flag(self, key: str) -> bool:
        return self._loose.flag(key)

    def raw(self, key: str) -> Json:
        """The value as it stands."""
        return self._loose.raw(key)

    def operand(self, key: str) -> Operand:
        """A field whose neighbour `…Type` says whether it is a value; without one it names a variable."""
        return Operand(text=self.optional_text(key), is_variable=self.text(f"{key}Type") != "value")

    @property
    def has_level(self) -> bool:
        return self._loose.has("indent")

    def _level(self) -> int | None:
        indent = self._loose.raw("indent")
        if isinstance(indent, bool) or not isinstance(indent, int | float):
            return None
        return int(indent) if indent == indent // 1 else None
