import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.prompt.tokens import CharacterRatio


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("a" * 335, 100), ("😀😀", 2), ("\ud800", 1)]
)
def test_it_guesses_as_sillytavern_does_from_utf_16_units(text: str, tokens: int) -> None:
    assert CharacterRatio().estimate(text) == tokens


def test_the_ratio_can_be_chosen() -> None:
    assert CharacterRatio(4).estimate("a" * 400, "any-model") == 100


@pytest.mark.parametrize("ratio", [0, -1, float("nan")])
def test_a_ratio_must_be_positive(ratio: float) -> None:
    with pytest.raises(ValueError, match="characters_per_token must be more than 0"):
        CharacterRatio(ratio)


@given(first=st.text(st.characters()), second=st.text(st.characters()))
def test_more_text_is_never_fewer_tokens(first: str, second: str) -> None:
    guess = CharacterRatio().estimate
    assert max(guess(first), guess(second)) <= guess(first + second) <= guess(first) + guess(second)
