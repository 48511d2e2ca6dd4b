import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.prompt.tokens import ModelTokenEstimator, TokenPiece, default_estimator

ENCODINGS = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"]
ENCODING = st.sampled_from(ENCODINGS)
ANY_TEXT = st.text(st.characters(), max_size=200)
"""Including lone surrogates."""

# Letters, digits, marks, spaces and emoji that the encodings' patterns treat differently.
TRICKY = st.text(st.sampled_from("aAzé\u0301'sdtl 019٣٤\t\n\r\u3000\xa0.,!/<|>中語ひ😀👍🏽\u200d"), max_size=40)

PROSE = "The lighthouse keeper's daughter wasn't there in 1987; 灯台には誰もいなかった。 ¿Quién? \t\n\n  — 42 👩‍🚀 GPT"


@pytest.mark.parametrize(
    ("text", "counted_with_role_and_framing"),
    [
        ("You narrate Mira for Zed.", 13),
        ("Zed is a cartographer.", 11),
        ("Mira keeps a lighthouse on Varn Point.", 15),
        ("Mira is wry and patient", 11),
        ("Scene: Zed washes ashore in a storm.", 16),
        ("Aux line about Mira.", 10),
        ("Closing rule for Mira.", 10),
    ],
)
def test_counts_for_gpt_4_are_those_that_sillytavern_recorded(
    estimator: ModelTokenEstimator, text: str, counted_with_role_and_framing: int
) -> None:
    # Its chat counter adds three tokens of framing and the role, which is one token.
    assert estimator.estimate(text, "gpt-4") + 4 == counted_with_role_and_framing


@pytest.mark.parametrize(
    ("encoding", "ids"),
    [("r50k_base", [31373, 995]), ("p50k_base", [31373, 995]), ("cl100k_base", [15339, 1917])],
)
def test_hello_world_has_its_published_ids(estimator: ModelTokenEstimator, encoding: str, ids: list[int]) -> None:
    assert [piece.id for piece in estimator.tokenize("hello world", encoding)] == ids


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_prose_is_encoded_as_tiktoken_itself_does(estimator, reference, encoding) -> None:
    assert [piece.id for piece in estimator.tokenize(PROSE, encoding)] == reference(encoding, PROSE)


@given(text=TRICKY, encoding=ENCODING)
def test_any_text_is_counted_as_tiktoken_itself_does(estimator, reference, text, encoding) -> None:
    assert estimator.estimate(text, encoding) == len(reference(encoding, text))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("special", ["<|endoftext|>", "<|im_start|>", "<|endofprompt|>", "<|fim_prefix|>"])
def test_the_name_of_a_special_token_is_ordinary_text(estimator, encoding, special) -> None:
    pieces = estimator.tokenize(special, encoding)
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces) == special
    assert estimator.estimate(special, encoding) == len(pieces)


def test_nothing_is_no_tokens(estimator: ModelTokenEstimator) -> None:
    assert estimator.estimate("") == 0
    assert estimator.tokenize("") == []


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_lone_surrogates_are_counted_as_replacement_characters(estimator, text) -> None:
    readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert estimator.estimate(text, "gpt-4o") == estimator.estimate(readable, "gpt-4o")


@given(text=ANY_TEXT, model_hint=st.none() | st.text(st.characters(), max_size=20) | ENCODING)
def test_it_never_raises(estimator, text, model_hint) -> None:
    assert 0 <= estimator.estimate(text, model_hint) <= 4 * len(text)


@given(text=st.text(max_size=100), encoding=ENCODING)
def test_the_pieces_are_the_text(estimator, text, encoding) -> None:
    pieces = estimator.tokenize(text, encoding)
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) == estimator.estimate(text, encoding)


def test_a_character_of_several_tokens_is_shown_with_the_last(estimator: ModelTokenEstimator) -> None:
    assert [text for _, text in estimator.tokenize("👍🏽", "davinci")] == ["", "👍", "", "", "🏽"]
    assert estimator.tokenize("é!", "gpt-4") == [TokenPiece(978, "é"), TokenPiece(0, "!")]


@given(first=TRICKY, second=TRICKY, encoding=ENCODING)
def test_joining_texts_changes_the_count_by_little(estimator, first, second, encoding) -> None:
    apart = estimator.estimate(first, encoding), estimator.estimate(second, encoding)
    together = estimator.estimate(first + second, encoding)
    assert abs(together - sum(apart)) <= 8
    assert together >= max(apart) - 4


def test_threads_get_the_same_counts_from_one_estimator() -> None:
    estimator = ModelTokenEstimator()
    texts = [f"{PROSE} {number}" * (number % 20) for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        counted = [list(pool.map(estimator.estimate, texts)) for _ in range(3)]
    assert counted == [[ModelTokenEstimator().estimate(text) for text in texts]] * 3


def test_the_default_estimator_is_one_for_the_process() -> None:
    assert default_estimator() is default_estimator()


def test_importing_loads_neither_tokenizer() -> None:
    code = "import sys, tavernkit.prompt.tokens; print({'tiktoken', 'kitoken'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
