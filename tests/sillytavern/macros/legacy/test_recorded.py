"""What SillyTavern 1.15 made of the same texts while its parser engine was off."""

from pathlib import Path

import pytest

from tavernkit.conformance.macro_cases import check_legacy
from tavernkit.conformance.vectors import read_vectors
from tavernkit.values import JsonObject

RECORDED = Path(__file__).parents[3] / "conformance" / "sillytavern" / "macros_legacy.json"
CASES = list(read_vectors(RECORDED).cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_we_make_the_same(case: JsonObject) -> None:
    expected, actual = check_legacy(case)

    assert actual == expected
