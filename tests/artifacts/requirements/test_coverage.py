"""Every requirement, every decision and every known pitfall of artifacts has a test that is named after it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
NUMBERED = re.compile(r"(?<=_)(r|g|pitfall_)(\d+)(?=_)")
"""How a name tells its number: `test_r14_…`, `test_g09_…`, `test_pitfall_10_…`; one test may have several."""


def names_of_tests() -> Iterator[str]:
    """The names of all test functions of this repository."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield node.name


@pytest.mark.parametrize(("kind", "last"), [("r", 47), ("g", 22), ("pitfall_", 16)])
def test_each_number_is_named_by_a_test(kind: str, last: int) -> None:
    named: defaultdict[str, set[int]] = defaultdict(set)
    for name in names_of_tests():
        for found, number in NUMBERED.findall(name):
            named[found].add(int(number))
    missing = [f"{kind}{number}" for number in range(1, last + 1) if number not in named[kind]]
    assert missing == [], f"nothing tests {', '.join(missing)}"
