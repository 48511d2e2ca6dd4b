"""Every requirement, every decision and every known pitfall of artifacts has a test that is named after it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
NUMBERED = re.compile(r"(?<=_)(r|g|pitfall_)(\d+)(?=_)")
"""How a name tells its number: `test_r14_…`, `test_g09_…`, `test_pitfall_10_…`; one test may have several."""


@cache
def numbers() -> dict[str, set[int]]:
    """What the names of all test functions of this repository name."""
    named: defaultdict[str, set[int]] = defaultdict(set)
    for path in TESTS.rglob("*.py"):
        for name in re.findall(r"^\s*(?:async )?def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE):
            for kind, number in NUMBERED.findall(name):
                named[kind].add(int(number))
    return named


@pytest.mark.parametrize(("kind", "last"), [("r", 47), ("g", 22), ("pitfall_", 16)])
def test_each_number_is_named_by_a_test(kind: str, last: int) -> None:
    missing = [f"{kind}{number}" for number in range(1, last + 1) if number not in numbers()[kind]]
    assert missing == [], f"nothing tests {', '.join(missing)}"
