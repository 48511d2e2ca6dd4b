import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.prompt.tokens import CountCache, ModelTokenEstimator
from tavernkit.prompt.tokens.encoding import lines, load_vocabulary_encoding

ATOMS = [
    "\n",
    "\r",
    " ",
    "\t",
    "/",
    ".",
    "...",
    "a",
    "Word",
    "'s",
    "12",
    "é",
    "灯",
    "\u0301",
    "\u3000",
    "<|im_end|>",
    "😀",
]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=20).map("".join)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"])
@given(text=TEXTS)
def test_lines_have_the_tokens_of_the_whole(name: str, text: str) -> None:
    encode = load_vocabulary_encoding(name).encoding.encode_ordinary
    assert [token for line in lines(text) for token in encode(line)] == encode(text)


@given(text=st.text(st.sampled_from("ab \n/")))
def test_nothing_is_lost_between_lines(text: str) -> None:
    assert "".join(lines(text)) == text


def test_a_text_is_cut_behind_single_line_breaks() -> None:
    assert lines("one\ntwo\n\nthree\n four\n/five") == ["one\n", "two\n\nthree\n four\n/five"]


@given(text=TEXTS)
def test_counting_by_lines_changes_no_count(text: str) -> None:
    whole = ModelTokenEstimator(cache=CountCache(max_entries=0))
    assert ModelTokenEstimator().estimate(text, "gpt-4o") == whole.estimate(text, "gpt-4o")


def test_a_text_of_very_many_lines_leaves_other_counts_alone() -> None:
    cache = CountCache(max_entries=100)
    estimator = ModelTokenEstimator(cache=cache)
    estimator.estimate("line\n".join(map(str, range(1_000))), "gpt-4o")
    assert len(cache) == 1
