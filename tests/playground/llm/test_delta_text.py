"""Text in pieces is the text, and can be stored."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.storable import DeltaText

HALVES = st.text(st.sampled_from("aé🌊\x00\ud83c\udf0a\ud800\udfff"), max_size=12)


def fed(pieces: list[str]) -> str:
    text = DeltaText()
    return "".join(text.feed(piece) for piece in pieces) + text.flush()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), max_size=6))
def test_good_text_passes_unchanged(pieces: list[str]) -> None:
    assert fed(pieces) == "".join(pieces)


@given(HALVES, st.lists(st.integers(0, 12), max_size=4))
def test_any_cutting_gives_the_same_text_and_it_can_be_stored(text: str, places: list[int]) -> None:
    cuts = sorted(places)
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert fed(pieces) == fed([text])
    fed(pieces).encode()
    assert "\x00" not in fed(pieces)


def test_two_halves_make_a_whole_and_one_half_is_replaced() -> None:
    assert fed(["\ud83c", "\udf0a"]) == "🌊"
    assert fed(["\ud83c", "a", "\udf0a", "b"]) == "\ufffda\ufffdb"
