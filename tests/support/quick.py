"""Which tests `pytest --quick` runs: those that need nothing but their own process and an SQLite file.

A test is left out when it runs on PostgreSQL, or when its module, or a conftest.py beside or above it, imports what
starts a browser or a process of the application, directly or through other modules of the tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

__all__ = ["is_quick"]

ROOT = Path(__file__).parents[2]
SUPPORT = "tests.playground.support"
STARTERS = {"playwright.sync_api", *(f"{SUPPORT}.{name}" for name in ("chromium", "forking", "postgres", "server"))}
IMPORT = re.compile(r"^(?:from ([\w.]+) import \(?([\w, \n]+)|import ([\w.]+))", re.MULTILINE)


def is_quick(item: pytest.Item) -> bool:
    """Whether a test belongs to the quick ones."""
    return not (_uses_postgres(item) or any(map(_starts_something, _files_of(item))))


def _uses_postgres(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "postgresql" in chosen or any("postgres" in name for name in item.fixturenames)


def _files_of(item: pytest.Item) -> list[Path]:
    return [item.path, *(folder / "conftest.py" for folder in item.path.parents if ROOT / "tests" in folder.parents)]


@cache
def _starts_something(file: Path) -> bool:
    return not STARTERS.isdisjoint(_reached(file))


@cache
def _reached(file: Path) -> frozenset[str]:
    """The names of all modules that a file of tests imports, also through other files of tests."""
    reached: set[str] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop()
        for module, names, plain in IMPORT.findall(current.read_text() if current.exists() else ""):
            inside = [f"{module}.{name.strip()}" for name in names.split(",") if module.startswith("tests")]
            for name in [module or plain, *inside]:
                if name not in reached:
                    reached.add(name)
                    if name.startswith("tests."):
                        waiting.append(ROOT / f"{name.replace('.', '/')}.py")
    return frozenset(reached)
