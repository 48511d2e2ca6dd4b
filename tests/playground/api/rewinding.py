"""An SQLite file that is put back to how it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Self

from sqlalchemy import make_url

__all__ = ["RewindableDatabase"]


class RewindableDatabase:
    """The file behind an application that is running."""

    def __init__(self, url: str) -> None:
        file = make_url(url).database or ""
        self._watching, self._copying = sqlite3.connect(file), sqlite3.connect(file)
        self._copying.execute("PRAGMA synchronous = OFF")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watching.close()
        self._copying.close()

    def version(self) -> int:
        """Another number whenever somebody has changed something in the file."""
        number: int = self._watching.execute("PRAGMA data_version").fetchone()[0]
        return number

    @contextmanager
    def rewound(self) -> Iterator[Callable[[], None]]:
        """Whatever is changed meanwhile is put back in the end, and whenever what is given here is called."""
        with closing(sqlite3.connect(":memory:")) as kept:
            self._copying.backup(kept)
            before = self.version()

            def rewind() -> None:
                nonlocal before
                if self.version() != before:
                    kept.backup(self._copying)
                    before = self.version()

            yield rewind
            rewind()
