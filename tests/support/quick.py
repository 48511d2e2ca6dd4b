"""Which tests `pytest --quick` runs: those of the library, and those of the application's services on SQLite.

A test is left out when it runs on PostgreSQL, or when its module, or a conftest.py beside or above it, imports what
speaks HTTP, renders pages or starts a browser or a process of the application, directly or through other modules of the
tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

__all__ = ["is_quick"]

ROOT = Path(__file__).parents[2]
SLOW = re.compile(
    r"playwright|httpx2|uvicorn|tavernkit\.playground\.edge|tests\.playground\.support\.(chromium|forking|postgres|server)"
)
IMPORT = re.compile(r"^(?:from ([\w.]+) import (?:\(([^)]*)\)|(.*))|import ([\w.]+))", re.MULTILINE)


def is_quick(item: pytest.Item) -> bool:
    """Whether a test belongs to the quick ones."""
    return not (_uses_postgres(item) or any(map(_reaches_slow, _files_of(item))))


def _uses_postgres(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "postgresql" in chosen or any("postgres" in name for name in item.fixturenames)


def _files_of(item: pytest.Item) -> list[Path]:
    return [item.path, *(folder / "conftest.py" for folder in item.path.parents if ROOT / "tests" in folder.parents)]


@cache
def _reaches_slow(file: Path) -> bool:
    return any(map(SLOW.match, _reached(file)))


@cache
def _reached(file: Path) -> frozenset[str]:
    """The names of all modules that a file of tests imports, also through other files of tests."""
    reached: set[str] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop()
        for module, lines, line, plain in IMPORT.findall(current.read_text() if current.exists() else ""):
            inside = [f"{module}.{name.strip()}" for name in (lines or line).split(",") if module.startswith("tests")]
            for name in [module or plain, *inside]:
                if name not in reached:
                    reached.add(name)
                    if name.startswith("tests."):
                        waiting.append(ROOT / f"{name.replace('.', '/')}.py")
    return frozenset(reached)
