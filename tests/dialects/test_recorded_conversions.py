"""Recorded conversions beside what `tests/conformance` says of them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from tavernkit.conformance.dialects import check
from tavernkit.conformance.vectors import read_vectors

RECORDED = Path(__file__).parents[1] / "conformance" / "sillytavern" / "dialects.json"


def test_converting_messages_leaves_what_was_given_as_it_was() -> None:
    changed = []
    for case in read_vectors(RECORDED).cases():
        before = deepcopy(case)
        check(case)
        if case != before:
            changed.append(case["id"])
    assert changed == []


def test_where_the_application_fails_we_refuse() -> None:
    args = {"messages": [{"role": "user", "content": None}], "prefillString": "", "useSysPrompt": True}
    expected, actual = check({"group": "convertClaudeMessages", "args": args, "throws": "TypeError"})
    assert actual == expected
