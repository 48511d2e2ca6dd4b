"""The texts that are kept for compatibility are where the page says, in the code and in a recorded case."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "decisions" / "compatibility-strings.md"
ROW = re.compile(r"^\| `([^`]+\.py)` \| `([^`]+)` \| `([^`]+\.json)` \|", re.MULTILINE)
ROWS = [(place, text.replace("\\|", "|"), cases) for place, text, cases in ROW.findall(PAGE.read_text())]
MACRO = re.compile(r"\{\{\w+\}\}")


@pytest.mark.parametrize(("place", "text", "cases"), ROWS)
def test_a_compatibility_string_is_in_the_code_and_in_a_recorded_case(place: str, text: str, cases: str) -> None:
    assert text in (ROOT / "src" / "tavernkit" / place).read_text()
    recorded = (ROOT / "tests" / "conformance" / cases).read_text()
    assert [piece for piece in MACRO.split(text) if json.dumps(piece)[1:-1] not in recorded] == []


def test_the_page_of_compatibility_strings_has_rows_and_is_linked() -> None:
    assert len(ROWS) >= 20
    assert "(decisions/compatibility-strings.md)" in (ROOT / "docs" / "architecture.md").read_text()
