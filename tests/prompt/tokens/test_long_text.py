from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.prompt.tokens import ModelTokenEstimator

pytestmark = pytest.mark.slow

ENCODINGS = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"]
LENGTH = 300_000
SEGMENT = 65_536
TOKENS_PER_CUT = 4

PARAGRAPH = "Mira's lamp turned, as it had for 31 years; nobody (not even Zed) asked why. 灯台には誰もいない。\n"
TEXT = st.text(st.sampled_from("aAzé'sl 019٣\t\n\r\u3000./!中語😀"), max_size=30)


@pytest.mark.parametrize(
    ("unit", "encoding"),
    [
        *product([" ", "a", "A", "\n", "\t", "!", "中", "😀", "\u0301", "\ud800", " \n", "-/"], ["o200k_base"]),
        *product([" ", "a", "0"], ["cl100k_base", "p50k_base", "r50k_base"]),
    ],
)
def test_a_long_text_of_one_thing_is_counted_quickly(unit: str, encoding: str) -> None:
    estimator = ModelTokenEstimator()
    estimator.estimate("loads the encoding", encoding)
    text = unit * (LENGTH // len(unit))
    with not_hanging(seconds=5):
        counted = estimator.estimate(text, encoding)
    # A tenth of the text is one segment or two; ten of them tell what the whole must be about.
    tenth = estimator.estimate(text[: len(text) // 10], encoding)
    assert abs(counted - 10 * tenth) <= (LENGTH // SEGMENT + 30) * TOKENS_PER_CUT


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_long_prose_is_counted_exactly(estimator, reference, encoding) -> None:
    text = PARAGRAPH * 3_000
    assert len(text) > 4 * SEGMENT
    assert estimator.estimate(text, encoding) == len(reference(encoding, text))


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("unit", ["ab", "中文", " \t", "a\r\n", "?!"])
def test_long_text_without_a_good_place_to_cut_is_off_by_a_few_tokens_per_cut(
    estimator, reference, unit, encoding
) -> None:
    text = unit * (200_000 // len(unit))
    off_by = abs(estimator.estimate(text, encoding) - len(reference(encoding, text)))
    assert off_by <= len(text) // SEGMENT * TOKENS_PER_CUT


@given(
    before=TEXT,
    after=TEXT,
    encoding=st.sampled_from(ENCODINGS),
    border=st.sampled_from([("w", " w"), ("w\n", "w"), (".\n", "中"), ("!\n", "0"), ("\u0301\n", "'")]),
)
def test_where_long_text_is_cut_counts_add_up_exactly(estimator, before, after, encoding, border) -> None:
    left, right = before + border[0], border[1] + after
    apart = estimator.estimate(left, encoding) + estimator.estimate(right, encoding)
    assert estimator.estimate(left + right, encoding) == apart


def test_the_pieces_of_long_text_are_the_text(estimator: ModelTokenEstimator) -> None:
    text = PARAGRAPH * 1_000
    assert "".join(piece.text for piece in estimator.tokenize(text)) == text
