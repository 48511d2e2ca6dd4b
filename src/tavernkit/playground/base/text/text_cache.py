"""What was rendered lately, within a number of characters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from markupsafe import Markup


class TextCache:
    """Keeps what was asked for last. A single text may take an eighth of the room; longer ones are made every time."""

    def __init__(self, *, max_characters: int) -> None:
        self.max_characters = max_characters
        self.characters = 0
        self._texts: OrderedDict[bytes, Markup] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes, make: Callable[[], Markup]) -> Markup:
        """The text that was kept under this key, or that is made now."""
        with self._lock:
            known = self._texts.get(key)
            if known is not None:
                self._texts.move_to_end(key)
                return known
        # Two threads may make the same text; that is no harm, and neither waits.
        made = make()
        if len(made) <= self.max_characters // 8:
            self._keep(key, made)
        return made

    def _keep(self, key: bytes, text: Markup) -> None:
        with self._lock:
            if key in self._texts:
                return
            self._texts[key] = text
            self.characters += len(text)
            while self.characters > self.max_characters:
                _, oldest = self._texts.popitem(last=False)
                self.characters -= len(oldest)
