"""Which tests `pytest --quick` runs: those of the library, and those of the application's services on SQLite.

A test is left out when it is marked as slow, when it runs on PostgreSQL, or when its module, or a conftest.py beside or
above it, lets a worker write replies or imports what speaks HTTP, renders pages or starts a browser or a process,
directly or through other modules of the tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

__all__ = ["is_quick", "is_quick_file"]

ROOT = Path(__file__).parents[2]
SLOW = re.compile(
    r"playwright|httpx2|uvicorn|subprocess|tavernkit\.playground\.edge"
    r"|tests\.playground\.support\.(chromium|forking|postgres|server)|a worker"
)
IMPORT = re.compile(r"^(?:from ([\w.]+) import (?:\(([^)]*)\)|(.*))|import ([\w.]+))", re.MULTILINE)


def is_quick(item: pytest.Item) -> bool:
    """Whether a test of a quick file is quick too: it is not marked as slow, and does not run on PostgreSQL."""
    if not isinstance(item, pytest.Function):
        return True
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    on_postgres = "postgresql" in chosen or any("postgres" in name for name in item.fixturenames)
    return not on_postgres and item.get_closest_marker("slow") is None


def is_quick_file(file: Path) -> bool:
    """Whether the tests of a file are quick ones; those that are not need not even be imported."""
    beside = [folder / "conftest.py" for folder in file.parents if ROOT / "tests" in folder.parents]
    return not any(map(_reaches_slow, [file, *beside]))


@cache
def _reaches_slow(file: Path) -> bool:
    return any(map(SLOW.match, _reached(file)))


@cache
def _reached(file: Path) -> frozenset[str]:
    """The names of all modules that a file of tests imports, also through other files of tests; and "a worker"."""
    reached: set[str] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop()
        text = current.read_text() if current.exists() else ""
        if ".working(" in text:
            reached.add("a worker")
        for module, lines, line, plain in IMPORT.findall(text):
            inside = [f"{module}.{name.strip()}" for name in (lines or line).split(",") if module.startswith("tests")]
            for name in [module or plain, *inside]:
                if name not in reached:
                    reached.add(name)
                    if name.startswith("tests."):
                        waiting.append(ROOT / f"{name.replace('.', '/')}.py")
    return frozenset(reached)
