"""Dice and choices, by chance and settled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.chance import draws_of, pick_hash_rand
from tavernkit.risuai.chat import RisuMessage

from .scenes import a_scene, says


@pytest.mark.parametrize(
    ("cid", "word", "number"),
    [
        (0, "", 3.852182999253273e-06),
        (0, "tide", 0.09964820253662765),
        (1, "tide", 0.4519144294317812),
        (3, "cha-7781chat-0001", 0.868112978991121),
    ],
)
def test_a_word_has_its_numbers(cid: int, word: str, number: float) -> None:
    assert pick_hash_rand(cid, word) == number


@given(st.integers(0, 999), st.text())
def test_a_thousand_draws_are_told_apart(cid: int, word: str) -> None:
    assert pick_hash_rand(cid, word) == pick_hash_rand(cid + 1000, word)
    assert pick_hash_rand(cid, word) == draws_of(word)[cid]
    assert 0 <= pick_hash_rand(cid, word) < 1


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{random}}", "0.5"),
        ("{{random::a,b:c}}", "b"),
        ("{{random::a::b::c}}", "b"),
        (r"{{random::x,a\,b}}", "a,b"),
        ('{{random::["p","q"]}}', '"q"]'),
        ("[{{random::}}]", "[]"),
        ("{{randint::-3::3}} {{randint::9::1}} {{randint::1.5::3.5}} {{randint::x::1}}", "0 5 2.5 NaN"),
        ("{{dice::2d6}} {{dice::6}} {{dice::d6}} {{dice::2d6d3}} {{dice::-Infinityd6}} {{dice::2d0}}", "8 NaN 0 8 0 2"),
        ("{{roll}} {{roll::20}} {{roll::d8}} {{roll::3d}} {{roll::1d2d3}} {{roll::1.5d4}}", "1 11 5 12 4 6"),
        ("{{roll::}} {{roll::0d6}} {{roll::-4}} {{roll::1d0}}", "NaN NaN NaN NaN"),
    ],
)
def test_chance_is_the_scenes(macro: str, text: str) -> None:
    assert says(macro) == text


def test_every_die_is_thrown() -> None:
    assert says("{{roll::3d10}}", a_scene(random=(0.0, 0.35, 0.99))) == "15"


def test_while_tokens_are_counted_the_first_choice_stands_for_all() -> None:
    assert says(r"{{random::a\,b,c}} {{pick::a::b}}", tokenizes_accurately=True) == "a§Xb a"


def test_a_pick_stays_until_the_chat_goes_on() -> None:
    messages = [RisuMessage(role="user", data="z")]
    first, again = says("{{pick}}|{{pick}}", a_scene(messages=messages)).split("|")
    assert first == again == str(pick_hash_rand(1, "cha-1chat-1"))
    assert says("{{pick}}", a_scene(messages=messages * 2)) != first


def test_settled_dice_are_fifteen_draws_apart() -> None:
    draws = [pick_hash_rand(3 + place * 15, "cha-1chat-1") for place in range(4)]
    assert says("{{rollp::4d20}}") == str(sum(int(draw * 20) + 1 for draw in draws))
    assert says("{{rollpick}} {{rollp::x}}") == "1 NaN"
