"""What SillyTavern did with the same messages."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from tavernkit.conformance.dialects import check
from tavernkit.conformance.vectors import read_vectors
from tavernkit.values import JsonObject

RECORDED = Path(__file__).parents[1] / "conformance" / "sillytavern" / "dialects.json"
CASES = list(read_vectors(RECORDED).cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_we_do_the_same(case: JsonObject) -> None:
    before = deepcopy(case)
    expected, actual = check(case)
    assert actual == expected
    assert case == before


def test_where_the_application_fails_we_refuse() -> None:
    args = {"messages": [{"role": "user", "content": None}], "prefillString": "", "useSysPrompt": True}
    expected, actual = check({"group": "convertClaudeMessages", "args": args, "throws": "TypeError"})
    assert actual == expected
