"""Who is mentioned, in whatever script a story is told."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Character
from tavernkit.sillytavern.groups import GroupMember, mentions_in_any_script


def mentioned(text: str, *names: str) -> list[str]:
    """Those of these people who are mentioned, in the order in which they are."""
    return [avatar for avatar, _ in mentions_in_any_script(people(*names), text)]


def people(*names: str) -> dict[str, GroupMember]:
    return {name: GroupMember(avatar=name, character=Character(name=name)) for name in names}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What do you say, Vesper?", "Vesper"),
        ("vesper's lamp", "Vesper"),
        ("VESPER!", "Vesper"),
        ("_Vesper_ enters, and *whispers*.", "Vesper"),
        ("Where is Neko_chan?", "Neko_chan"),
        ("Mind the Oak.", "Tamsin Oak"),
        ("Ask Zoë.", "Zoë"),
        ("Ask Zoe\N{COMBINING DIAERESIS}.", "Zoë"),
        ("Da kommt Frau STRASSE.", "Straße"),
        ("小红你好", "小红"),
        ("你看见小红了吗？", "小红"),
        ("さくらさんは元気ですか", "さくら"),
        ("アリスはどこ？", "アリス"),
        ("민수가 왔어요", "민수"),
        ("민수에게 말해 줘", "민수"),
        ("Где Зоя?", "Зоя"),
        ("зоя, ты здесь?", "Зоя"),
        ("أين ليلى؟", "ليلى"),
        ("مرحبا يا ليلى كيف حالك", "ليلى"),
        ("איפה נועה?", "נועה"),
        ("मीरा कहाँ है?", "मीरा"),
        ("Call 47 in.", "Agent 47"),
        ("the golem wakes", "the golem"),
        ("Is O’Hara in?", "O’Hara"),
    ],
)
def test_names_are_found_in_every_script(text: str, name: str) -> None:
    assert mentioned(text, "Somebody Else", name) == [name]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the weather of the day", "Kael the Tall"),
        ("van den and de la", "Ludo van den Berg"),
        ("Vesperine", "Vesper"),
        ("In Boston", "Bo"),
        ("Зоями", "Зоя"),
        ("小明你好", "小红"),
        ("", "Vesper"),
        ("Hello?", ""),
        ("Hello?", "?"),
        ("Hello?", "   "),
    ],
)
def test_small_words_and_pieces_of_words_mention_nobody(text: str, name: str) -> None:
    assert mentioned(text, name) == []


def test_everybody_comes_once_in_the_order_of_the_text() -> None:
    names = ("Kael the Tall", "小红", "Зоя", "Tamsin Oak")
    assert mentioned("Зоя, 小红! Oak? And Зоя again, with Tamsin and Kael.", *names) == [
        "Зоя",
        "小红",
        "Tamsin Oak",
        "Kael the Tall",
    ]


def test_two_of_the_same_name_are_both_mentioned() -> None:
    assert mentioned("Oak?", "Tamsin Oak", "Sam Oak") == ["Tamsin Oak", "Sam Oak"]


def test_it_is_told_by_which_word() -> None:
    assert mentions_in_any_script(people("Tamsin Oak"), "an OAK") == [("Tamsin Oak", "Oak")]


letters = st.text(st.sampled_from("aBzé ß'’_-. 1小红サ민Зяليनা\u0308\u200dİſ🦊"), max_size=8)
words = letters | st.text(max_size=8)


@given(st.lists(words, unique=True, max_size=5), st.lists(words, max_size=6).map(" ".join))
def test_whatever_people_are_called_those_who_are_mentioned_are_here_and_in_the_text(
    names: list[str], text: str
) -> None:
    here = people(*names)
    found = mentions_in_any_script(here, text)
    avatars = [avatar for avatar, _ in found]
    assert len(avatars) == len(set(avatars))
    for avatar, word in found:
        assert avatar in here
        assert word
        assert plain(word) in plain(avatar)
        assert plain(word) in plain(text)


@given(st.lists(words, min_size=1, max_size=5, unique=True))
def test_a_name_with_a_letter_mentions_whose_it_is(names: list[str]) -> None:
    for name in names:
        if any(character.isalnum() for character in name):
            assert name in mentioned(name, *names)


def plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
