"""The steps of a text in the order in which they are read, with the texts that come in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Final

from tavernkit.risuai.cbs.limits import Fuel
from tavernkit.risuai.cbs.scanner import MARKER, CBSScript, CBSStep, scan, source_of

# A text that ends with the one may make a brace with a text behind it that starts with one of the others.
_HALVES_OF_BRACES: Final = {"{": ("{", "#"), "#": ("}",), "}": ("}",)}


class Reading:
    """Gives iterators of steps: the one to go on with, until a text is inserted or it ends."""

    def __init__(self, script: CBSScript) -> None:
        self._script = script
        self._main = iter(script)
        self._open: list[tuple[CBSScript, Iterator[CBSStep]]] = [(script, self._main)]
        self.steps = self._main
        """Those to go on with."""

    def __iter__(self) -> Iterator[Iterator[CBSStep]]:
        while self._open:
            self.steps = self._open[-1][1]
            yield self.steps
            self._drop_ended()

    def insert(self, text: str, fuel: Fuel) -> None:
        """Read this text next, as if it were written here."""
        if not text:
            return
        script = self._scanned(text)
        fuel.burn_for(text, len(script))
        self._drop_ended()
        last = script[-1]
        if self._open and isinstance(last, str) and last[-1] in _HALVES_OF_BRACES:
            around, steps = self._open[-1]
            rest = len(around) - length_hint(steps)
            if source_of(around[rest]).startswith(_HALVES_OF_BRACES[last[-1]]):
                text = self._with(text, map(source_of, around[rest:]))
                script = self._scanned(text)
                fuel.burn_for(text, len(script))
                self._open.pop()
        self.steps = iter(script)
        self._open.append((script, self.steps))

    def _scanned(self, text: str) -> CBSScript:
        return scan(text)

    def _with(self, text: str, others: Iterable[str]) -> str:
        return text + "".join(others)

    def _drop_ended(self) -> None:
        while self._open and not length_hint(self._open[-1][1]):
            self._open.pop()

    @property
    def place(self) -> int:
        """Which step of the whole text was taken last."""
        return len(self._script) - length_hint(self._main) - 1

    def position_of(self, place: int, text: str) -> int:
        """Where a step is in the text as it was given, in which a marker is two characters shorter than its macro."""
        position = sum(len(source_of(step)) for step in self._script[:place])
        for marker in MARKER.finditer(text):
            if marker.start() >= position:
                break
            position -= 2
        return position
