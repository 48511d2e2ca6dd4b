"""The hash and the generator, as SillyTavern's own were recorded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.conformance.macro_cases import check_hash_rng as check
from tavernkit.text.seeded import SeededRandom, string_hash

RECORDED: list[dict[str, Any]] = [
    {"group": "string_hash", "input": "ab", "output": 3382748631033682},
    {"group": "string_hash", "input": "The tide turns.", "output": 1178147188043913},
    {"group": "string_hash", "input": "é", "output": 8722994053064405},
    {"group": "string_hash", "input": "🙂", "output": 5813621503378343},
    {"group": "string_hash", "input": "{{pick::a::b}}", "output": 1242757293966544},
    {"group": "string_hash", "input": "A\0B", "output": 3949145161095943},
    {
        "group": "seedrandom_string_seed",
        "input": "42",
        "output": [0.00701751618236155, 0.17185490054868188, 0.967001069269818],
    },
    {
        "group": "seedrandom_string_seed",
        "input": "8675309123456",
        "output": [0.9768024033932369, 0.7947931618183816, 0.240299374897259],
    },
    {
        "group": "seedrandom_number_seed",
        "input": 0,
        "output": [0.038085370776470735, 0.08624634995353292, 0.5921039987135952],
    },
    {
        "group": "seedrandom_number_seed",
        "input": 123456789,
        "output": [0.7561153199796736, 0.2752919035678956, 0.894063185761233],
    },
]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['group']}: {case['input']!a}")
def test_recorded(case: dict[str, Any]) -> None:
    expected, actual = check(case)
    assert actual == expected


def test_a_difference_is_seen() -> None:
    expected, actual = check({"group": "string_hash", "input": "ab", "output": 1})
    assert actual != expected


@given(st.text(), st.integers(0, 2**32 - 1))
def test_a_hash_is_a_number_that_javascript_can_hold(text: str, seed: int) -> None:
    assert 0 <= string_hash(text, seed) < 2**53


def test_the_seed_changes_the_hash() -> None:
    assert string_hash("Mira") == string_hash("Mira", 0) != string_hash("Mira", 1)


@given(st.text() | st.integers(-(2**53), 2**53) | st.floats())
def test_the_same_seed_gives_the_same_numbers_in_their_range(seed: str | float) -> None:
    one, other = SeededRandom(seed), SeededRandom(seed)
    numbers = [one.random() for _ in range(10)]
    assert numbers == [other.random() for _ in range(10)]
    assert all(0 <= number < 1 for number in numbers)


def test_text_and_number_are_different_seeds() -> None:
    assert SeededRandom("42").random() != SeededRandom(42).random()
    assert SeededRandom(42).random() == SeededRandom(42.0).random()


def test_a_seed_counts_to_its_end_however_long_it_is() -> None:
    seed = "The tide turns. " * 40
    assert SeededRandom(seed + "a").random() != SeededRandom(seed + "b").random()
