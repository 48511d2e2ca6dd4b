"""Scripts by their text, the most recently used ones."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from tavernkit.risuai.cbs.scanner import MARKER, CBSScript, scan

MAX_SCRIPTS: Final = 1_000
MAX_CHARACTERS: Final = 8_000_000


class ScriptCache:
    """Keeps scripts until there are too many of them or too much text."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._scripts: OrderedDict[str, CBSScript] = OrderedDict()
        self._characters = 0

    def script_of(self, text: str) -> CBSScript:
        """The text in pieces, with `<user>`, `<char>` and `<bot>` as the macros that they stand for."""
        with self._lock:
            script = self._scripts.get(text)
            if script is not None:
                self._scripts.move_to_end(text)
                return script
        script = scan(MARKER.sub(r"{{\1}}", text) if "<" in text else text)
        if len(text) <= MAX_CHARACTERS:
            self._put(text, script)
        return script

    def _put(self, text: str, script: CBSScript) -> None:
        with self._lock:
            if text in self._scripts:
                return
            self._scripts[text] = script
            self._characters += len(text)
            while len(self._scripts) > MAX_SCRIPTS or self._characters > MAX_CHARACTERS:
                oldest, _ = self._scripts.popitem(last=False)
                self._characters -= len(oldest)
