"""The finders find what the plain regular expressions would, only sooner."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.sillytavern.macros.legacy import scanning
from tavernkit.sillytavern.macros.legacy.scanning import Finder, LegacyCall

_NOT_LINE_END = "[^\n\r\u2028\u2029]"
_OPEN = re.compile(r"\{\{x:", re.IGNORECASE)

PAIRS: dict[str, tuple[Finder, str]] = {
    "braced": (scanning.find_braced(_OPEN), r"\{\{x:([^}]+)\}\}"),
    "braced, may be empty": (scanning.find_braced(_OPEN, at_least=0), r"\{\{x:([^}]*)\}\}"),
    "named values": (scanning.find_named_values(_OPEN, at_least=1), r"\{\{x:([^:]+)::([^}]+)\}\}"),
    "named values, may be empty": (scanning.find_named_values(_OPEN, at_least=0), r"\{\{x:([^:]+)::([^}]*)\}\}"),
    "in line": (scanning.find_in_line(_OPEN), rf"\{{\{{x:({_NOT_LINE_END}+?)\}}\}}"),
    "pairs in line": (
        scanning.find_pairs_in_line(_OPEN),
        rf"\{{\{{x:({_NOT_LINE_END}*?)::({_NOT_LINE_END}*?)\}}\}}",
    ),
    "quoted in line": (scanning.find_quoted_in_line(_OPEN), rf'\{{\{{x:({_NOT_LINE_END}*)"\}}\}}'),
    "comments": (scanning.find_comments, r"\{\{//[\s\S]*?\}\}"),
    "trims": (scanning.find_trims, r"(?:\r?\n)*\{\{trim\}\}(?:\r?\n)*"),
}

texts = st.lists(
    st.sampled_from(
        ["{{x:", "{{X:", "{{//", "{{trim}}", "{", "}", "}}", ":", "::", '"', "a", " ", "\n", "\r", "\u2028"]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize("kind", PAIRS)
@given(text=texts)
def test_finder_agrees_with_the_regular_expression(kind: str, text: str) -> None:
    find, pattern = PAIRS[kind]

    found = list(find(text))

    assert found == [
        LegacyCall(match.start(), match.end(), match.groups()) for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("unit", ["{{x:", "{{x:a::", '{{x:"', "{{//", "\n", "\r\n{{", "{{x:a::b}", '{{x:\n"}}'])
def test_a_text_full_of_openings_takes_linear_time(kind: str, unit: str) -> None:
    find, _ = PAIRS[kind]
    text = unit * (100_000 // len(unit))

    with not_hanging(seconds=5):
        for _call in find(text):
            pass
