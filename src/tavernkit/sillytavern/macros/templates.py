"""Templates by their text, the most recently used ones."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from tavernkit.sillytavern.macros.nodes import Template

MAX_TEMPLATES = 1_000
MAX_CHARACTERS = 8_000_000


class TemplateCache:
    """Keeps templates until there are too many of them or too much text."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._templates: OrderedDict[str, Template] = OrderedDict()
        self._characters = 0

    def get(self, text: str) -> Template | None:
        with self._lock:
            template = self._templates.get(text)
            if template is not None:
                self._templates.move_to_end(text)
            return template

    def put(self, template: Template) -> None:
        if len(template.text) > MAX_CHARACTERS:
            return
        with self._lock:
            if template.text in self._templates:
                return
            self._templates[template.text] = template
            self._characters += len(template.text)
            while len(self._templates) > MAX_TEMPLATES or self._characters > MAX_CHARACTERS:
                oldest, _ = self._templates.popitem(last=False)
                self._characters -= len(oldest)

    def clear(self) -> None:
        with self._lock:
            self._templates.clear()
            self._characters = 0
