"""A chat of RisuAI as a chat file, and back."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tavernkit.chats import read_chat, write_chat
from tavernkit.migration.risuai import ChatNames, branch_link, chat_to_file, encode_part, file_to_chat
from tavernkit.migration.risuai.branches import parents_first
from tavernkit.values import Json
from tests.migration.risuai.backups import BRANCH, FIRST, chat, message
from tests.strategies import json_objects, json_values, texts

NAMES = ChatNames(user="Mia", character="Anna", members={"b": "Ben"})
GREETINGS = ("I am Anna.", "", "Hello again.")

messages: st.SearchStrategy[Any] = st.builds(
    lambda known, more: {**more, **known},
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "char"]), "data": texts},
        optional={
            "time": st.integers(0, 2**45),
            "disabled": st.sampled_from([True, False, "allBefore"]),
            "isComment": st.booleans(),
            "saying": st.sampled_from(["a", "b"]),
            "name": texts,
        },
    ),
    json_objects,
)
chats: st.SearchStrategy[Any] = st.builds(
    lambda known, more: {**more, **known},
    st.fixed_dictionaries(
        {"message": st.lists(messages | json_values, max_size=4)},
        optional={
            "note": texts,
            "fmIndex": st.integers(-2, 5),
            "scriptstate": st.dictionaries(texts.map(lambda key: f"${key}") | texts, json_values, max_size=3),
            "localLore": st.lists(json_objects, max_size=2),
            "hypaV3Data": json_objects,
        },
    ),
    json_objects,
)


@given(chats, st.lists(texts, max_size=3))
def test_a_chat_that_became_a_file_comes_back_the_same(story: dict[str, Json], greetings: list[str]) -> None:
    assert file_to_chat(chat_to_file(story, greetings, NAMES), story) == story


@example({"message": [], "scriptstate": {"$": [4.131246462278953e16], "": None}})
@given(chats.filter(lambda one: "chat_metadata" not in one))
def test_it_comes_back_the_same_by_way_of_sillytaverns_file(story: dict[str, Json]) -> None:
    (file,), _ = read_chat(write_chat(chat_to_file(story, GREETINGS, NAMES)))
    assert encode_part(file_to_chat(file, story)) == encode_part(story)


def test_the_greeting_is_the_first_message_with_the_others_as_versions() -> None:
    file = chat_to_file(chat(FIRST, message("Hi.", time=1_700_000_000_000), fmIndex=1), GREETINGS, NAMES)
    first, second = file.messages
    assert (first.text, first.swipes, first.swipe_id) == ("Hello again.", ("I am Anna.", "Hello again."), 1)
    assert second.text == "Hi."
    other = first.with_(text="I am Anna.", swipe_id=0)
    assert file_to_chat(file.with_(messages=(other, second)), chat(FIRST, fmIndex=1))["fmIndex"] == -1


def test_speakers_times_comments_and_disabled_messages_are_kept_apart() -> None:
    file = chat_to_file(
        chat(
            FIRST,
            message("One.", saying="b", time=5),
            message("Two.", role="user", disabled=True),
            message("A note.", isComment=True),
            message("Three.", role="user", name="Zoe"),
        ),
        (),
        NAMES,
    )
    assert [(one.name, one.is_user, one.is_system, one.is_narrator, one.send_date) for one in file.messages] == [
        ("Ben", False, False, False, 5),
        ("Mia", True, True, False, None),
        ("Anna", False, True, True, None),
        ("Zoe", True, False, False, None),
    ]


def test_a_message_that_cuts_off_all_before_it_hides_them_and_the_greeting() -> None:
    story = chat(FIRST, message("One."), message("Two.", disabled="allBefore"), message("Three."))
    file = chat_to_file(story, GREETINGS, NAMES)
    assert [one.is_system for one in file.messages] == [True, True, True, False]
    shown = tuple(one.with_(is_system=False) if one.text == "One." else one for one in file.messages)
    assert file_to_chat(file.with_(messages=shown), story)["message"] == [
        message("One."),
        message("Two.", disabled=True),
        message("Three."),
    ]


def test_what_was_changed_is_written_and_the_rest_kept() -> None:
    story = chat(
        FIRST,
        message("Hi.", chatId="m1", generationInfo={"model": "x"}),
        note="Old.",
        scriptstate={"$mood": "glad", "other": 1},
        hypaV3Data={"summaries": []},
    )
    file = chat_to_file(story, (), NAMES)
    assert file.header is not None
    metadata = {"note_prompt": "New.", "variables": {"mood": "sad", "gold": 3}}
    new = file.messages[0].with_(text="Hi there.", unknown={}, is_user=True, send_date="1970-01-01T00:00:01.000Z")
    changed = file.with_(
        header=file.header.with_(chat_metadata=metadata),
        messages=(file.messages[0].with_(text="Hello."), new, new.with_(name="Ben", is_user=False, send_date=None)),
    )
    lore: list[Json] = [{"key": "x"}]
    assert file_to_chat(changed, story, members={"Ben": "b"}, lore=lore) == {
        **story,
        "message": [
            message("Hello.", chatId="m1", generationInfo={"model": "x"}),
            {"role": "user", "data": "Hi there.", "time": 1000},
            {"role": "char", "data": "Hi there.", "saying": "b"},
        ],
        "note": "New.",
        "scriptstate": {"other": 1, "$mood": "sad", "$gold": 3},
        "localLore": lore,
    }


def test_the_greeting_of_a_chat_that_was_begun_here_is_not_written_as_a_message() -> None:
    begun = chat_to_file(chat(FIRST, fmIndex=1), GREETINGS, NAMES)
    here = tuple(one.with_(unknown={}) for one in begun.messages)
    assert file_to_chat(begun.with_(messages=here), chat(BRANCH), greetings=GREETINGS) == chat(BRANCH, fmIndex=1)


class TestBranches:
    def test_a_branch_names_the_chat_that_it_was_copied_from(self) -> None:
        note = f"{{{{specialcomment::branchedfrom::{FIRST}::A::name::m2::}}}}"
        story = chat(BRANCH, message("One."), message("Two."), message(note, isComment=True, disabled=True))
        assert branch_link(story) == (FIRST, "A::name", "m2", 2)
        shown = chat_to_file(story, (), NAMES).messages[-1]
        assert (shown.text, shown.is_system, shown.is_narrator) == ("Branch of “A::name”", True, True)

    def test_of_a_branch_of_a_branch_the_last_comment_counts(self) -> None:
        notes = [f"{{{{specialcomment::branchedfrom::{id}::A::m::}}}}" for id in (FIRST, BRANCH)]
        link = branch_link(chat("x", *map(message, notes)))
        assert link is not None
        assert (link.chat_id, link.messages) == (BRANCH, 1)

    def test_a_chat_without_such_a_comment_is_no_branch(self) -> None:
        assert branch_link(chat(FIRST, message("specialcomment::branchedfrom::"))) is None
        assert branch_link({"message": None}) is None

    @given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdefx"), max_size=6))
    def test_parents_come_first_and_circles_lose_nobody(self, links: dict[str, str]) -> None:
        found = parents_first("abcdef", links)
        assert sorted(found) == list("abcdef")
        for child, parent in links.items():
            seen, at = {child}, parent
            while at in links and at not in seen:
                seen.add(at)
                at = links[at]
            if at not in seen and parent in found:
                assert found.index(parent) < found.index(child)
