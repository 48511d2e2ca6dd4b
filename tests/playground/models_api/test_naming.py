"""What models are called."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.edge.models_api.queries import ids_between, model_name

ID = UUID("1b4e28ba-2fa1-11d2-883f-0016d3cca427")


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("Ada", "ada-1b4e28ba"),
        ("Dr. Zoë O'Neill", "dr-zoe-o-neill-1b4e28ba"),
        ("雪", "character-1b4e28ba"),
        ("---", "character-1b4e28ba"),
        ("a" * 200, f"{'a' * 40}-1b4e28ba"),
    ],
)
def test_a_model_is_called_like_its_character(character: str, name: str) -> None:
    assert model_name(character, ID) == name


@pytest.mark.parametrize("name", ["1b4e28ba", "ada-1B4E28BA2F", f"anything-{ID.hex}", "a\nb-1b4e28ba"])
def test_only_the_digits_count(name: str) -> None:
    between = ids_between(name)
    assert between is not None
    assert between[0] <= ID <= between[1]


@pytest.mark.parametrize("name", ["", "ada", "ada-", "ada-1b4e28b", f"ada-{ID.hex}0", "ada-1b4e28bx", "bob_1b4e28ba"])
def test_what_has_no_digits_is_no_model(name: str) -> None:
    assert ids_between(name) is None


@given(st.text(), st.uuids())
def test_every_model_is_found_by_its_name(character: str, id: UUID) -> None:
    name = model_name(character, id)
    between = ids_between(name)
    assert between is not None
    assert between[0] <= id <= between[1]
    assert name.isascii()
    assert not set(name) & set(" /?#%")
