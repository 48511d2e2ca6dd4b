"""Lorebooks as strangers write them: right, odd, and plain wrong."""

from typing import Any

from hypothesis import strategies as st

names = st.text(alphabet="abcdefxyz_", min_size=1, max_size=6)
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def objects(known: tuple[str, ...], likely: st.SearchStrategy[Any] = values) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of the known fields and some unknown ones, holding anything."""
    return st.dictionaries(st.sampled_from(known) | names, likely | values, max_size=8)


CHARACTER_FIELDS = (
    *("id", "keys", "secondary_keys", "content", "comment", "name", "enabled", "constant", "selective", "position"),
    *("insertion_order", "priority", "case_sensitive", "use_regex", "extensions", "addMemo"),
)
WORLD_FIELDS = (
    *("uid", "key", "keysecondary", "comment", "content", "constant", "selective", "order", "position", "disable"),
    *("addMemo", "displayIndex", "extensions", "characterFilter", "probability", "useProbability", "role", "depth"),
    *("useGroupScoring", "delayUntilRecursion", "excludeRecursion", "triggers", "automationId", "vectorized"),
)
BOOK_FIELDS = ("name", "description", "scan_depth", "token_budget", "recursive_scanning", "extensions", "originalData")

character_books = st.builds(
    lambda book, entries: {**book, "entries": entries},
    objects(BOOK_FIELDS),
    st.lists(objects(CHARACTER_FIELDS), max_size=4),
)
world_books = st.builds(
    lambda book, entries: {**book, "entries": entries},
    objects(BOOK_FIELDS),
    st.lists(objects(WORLD_FIELDS), max_size=4).map(lambda entries: {str(n): entry for n, entry in enumerate(entries)}),
)
