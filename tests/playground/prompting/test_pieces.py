"""Documents in pieces: what comes out is what went in, and what is alike is kept once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit.playground.base.pieces import packed, unpacked
from tavernkit.values import Json

TEXTS = st.text(st.characters(exclude_categories=()))
DOCUMENTS: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS | st.sampled_from(["$", "$$"]), inner),
    max_leaves=20,
)


@settings(max_examples=50, deadline=None)
@given(DOCUMENTS, st.integers(1, 300))
def test_any_document_comes_out_of_its_pieces_as_it_was(document: Json, times: int) -> None:
    whole: Json = {"many": [document] * times, "text": f"{document}\n" * times, "$": list(range(times))}
    packing = packed(whole)
    assert unpacked(packing.root, packing.pieces) == whole


def test_a_change_in_a_long_list_changes_a_few_pieces() -> None:
    items: list[Json] = [f"Line {number} of a story. {'A word. ' * (number % 7)}" for number in range(500)]
    before, after = packed(items), packed([*items[2:250], "Something new.", *items[250:], "And the end."])
    assert len(before.pieces) > 20
    assert len(after.pieces.keys() - before.pieces.keys()) < 15
