"""Chats without their texts, and which of them were copied from which."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatLimits, read_chat
from tavernkit.errors import ParseError
from tavernkit.migration import ChatDigest, ChatLink, ChatPlace, chat_trees, common_messages, digest_chat
from tests.chats.chat_files import HEADER, lines, message
from tests.strategies import json_values
from tests.support.hanging import not_hanging

Record = dict[str, Any]


def said(number: int, *, swipes: int = 0, shown: int = 0, **fields: Any) -> Record:
    """A message that no other is like."""
    date = f"2024-05-01T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
    record = {"name": "Anna", "is_user": number % 2 == 0, "mes": f"Text {number}", "send_date": date, "extra": {}}
    if swipes:
        texts = [f"Text {number}, swipe {swipe}" for swipe in range(swipes)]
        record |= {"swipes": texts, "swipe_id": shown, "mes": texts[shown]}
    return record | fields


def digest(messages: list[Record], main_chat: str | None = None) -> ChatDigest:
    header = {"chat_metadata": {} if main_chat is None else {"main_chat": main_chat}, "user_name": "unused"}
    return digest_chat(io.BytesIO("\n".join(map(json.dumps, [header, *messages])).encode()))


def trees(**chats: ChatDigest) -> dict[str, ChatPlace]:
    found = chat_trees((f"chats/Anna/{name}.jsonl", chat) for name, chat in chats.items())
    return {path.removeprefix("chats/Anna/").removesuffix(".jsonl"): place for path, place in found.items()}


def copy_of(parent: str, fork: int, depth: int = 1, **fields: Any) -> ChatPlace:
    return ChatPlace(parent=f"chats/Anna/{parent}.jsonl", fork=fork, depth=depth, **fields)


ROOT = ChatPlace()
MESSAGES = [said(number) for number in range(10)]


def linked(at: int, **extra: Any) -> list[Record]:
    """The messages, of which one has links."""
    return [{**one, "extra": extra} if place == at else one for place, one in enumerate(MESSAGES)]


def test_v10_two_links_that_agree_are_a_branch_or_a_checkpoint() -> None:
    other = [*MESSAGES[:4], said(50)]
    found = trees(
        main=digest(linked(3, branches=["b"], bookmark_link="c")),
        b=digest(other, "main"),
        c=digest(MESSAGES[:4], "main"),
    )
    assert found == {"main": ROOT, "b": copy_of("main", 4), "c": copy_of("main", 4, kind="checkpoint")}


def test_v10_two_links_that_agree_need_no_messages_in_common() -> None:
    assert trees(main=digest(linked(3, branches=["b"])), b=digest([said(50)], "main"))["b"] == copy_of("main", 0)


def test_v10_one_link_needs_messages_in_common() -> None:
    other = [*MESSAGES[:4], said(50)]
    assert trees(main=digest(MESSAGES), b=digest(other, "main"))["b"] == copy_of("main", 4)
    assert trees(main=digest(linked(3, bookmark_link="b")), b=digest(other))["b"] == copy_of(
        "main", 4, kind="checkpoint"
    )
    assert trees(main=digest(MESSAGES), b=digest([said(50)], "main"))["b"] == ROOT


def test_v10_a_renamed_parent_is_found_by_its_own_link() -> None:
    found = trees(renamed=digest(linked(3, branches=["b"])), b=digest([*MESSAGES[:4], said(50)], "what it was called"))
    assert found["b"] == copy_of("renamed", 4)


def test_v10_links_that_were_copied_do_not_win_over_the_original() -> None:
    messages = linked(3, branches=["b"])
    found = trees(
        main=digest(messages), copy=digest([*messages[:8], said(60)], "main"), b=digest([*MESSAGES[:4], said(50)])
    )
    assert found["b"].fork == 4
    found = trees(main=digest(messages), nain=digest([*messages[:8], said(60)]), b=digest([*MESSAGES[:4], said(50)]))
    assert found["b"] == copy_of("main", 4)


def test_v10_messages_in_common_alone_are_a_guess() -> None:
    found = trees(main=digest(MESSAGES), other=digest([*MESSAGES[:4], said(50)]))
    assert found == {"main": ROOT, "other": copy_of("main", 4, certain=False)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("main - Branch #1", "branch"),
        ("main - Checkpoint #12", "checkpoint"),
        ("main Bookmark #3", "checkpoint"),
        ("Branch #3 - 2024-01-01", "branch"),
        ("Swipe #3 - 2024-01-01", "branch"),
        ("Checkpoint #3 - 2024-01-01", "checkpoint"),
        ("Bookmark #3 - 2024-01-01", "checkpoint"),
    ],
)
def test_v10_names_of_copies_tell_their_kind_and_which_is_the_copy(
    name: str, kind: Literal["branch", "checkpoint"]
) -> None:
    found = trees(**{name: digest([*MESSAGES[:4], said(50)]), "main": digest(MESSAGES)})
    assert found == {"main": ROOT, name: copy_of("main", 4, certain=False, kind=kind)}


def test_v10_a_name_alone_is_a_guess_when_there_is_such_a_chat() -> None:
    found = trees(
        **{"main": digest(MESSAGES), "main - Branch #1": digest([said(50)]), "gone - Branch #1": digest([said(60)])}
    )
    assert found["main - Branch #1"] == copy_of("main", 0, certain=False)
    assert found["gone - Branch #1"] == ROOT


def test_v10_the_same_greeting_in_the_same_minute_is_no_guess() -> None:
    greeting = said(0, send_date="June 19, 2023 2:20pm")
    assert set(trees(a=digest([greeting]), b=digest([greeting, said(1)]), c=digest([greeting, said(2)])).values()) == {
        ROOT
    }
    assert trees(a=digest([said(0), said(1)]), b=digest([said(0), said(2)]))["b"] == copy_of("a", 1, certain=False)


@pytest.mark.parametrize("info", [None, [{"send_date": "d0"}, {"send_date": "d1"}], [{}]])
def test_v10_a_branch_may_show_another_swipe(info: list[Record] | None) -> None:
    more = {} if info is None else {"swipe_info": info}
    parent = [*MESSAGES[:3], said(7, swipes=2, shown=0, **more), said(8)]
    child = [*MESSAGES[:3], said(7, swipes=2, shown=1, send_date="d1", **more), said(9)]
    swiped_later = [*MESSAGES[:3], said(7, swipes=3, shown=2, **more), said(10)]
    found = trees(main=digest(parent), b=digest(child, "main"), c=digest(swiped_later, "main"))
    if info:
        assert found["b"] == copy_of("main", 4)
    assert (found["b"].fork, found["c"].fork) == (4, 4)


def test_v10_a_message_that_was_swiped_after_the_copy_is_the_same() -> None:
    before = said(7, mes="Text 7, swipe 0")
    after = said(7, swipes=2, shown=1, swipe_info=[{"send_date": before["send_date"]}, {"send_date": "later"}])
    assert trees(main=digest([after, said(8)]), b=digest([before, said(9)], "main"))["b"] == copy_of("main", 1)


def test_v10_links_in_a_circle_are_not_believed() -> None:
    found = trees(
        a=digest([*MESSAGES[:4], said(50)], "c"), b=digest([*MESSAGES[:4], said(60)], "a"), c=digest(MESSAGES, "b")
    )
    assert found == {"a": ROOT, "b": copy_of("a", 4, certain=False), "c": copy_of("a", 4, certain=False)}
    assert set(trees(a=digest([said(1)], "b"), b=digest([said(2)], "a"), c=digest([said(3)], "c")).values()) == {ROOT}


def test_v10_a_copy_of_a_chat_in_a_circle_stays_its_copy() -> None:
    found = trees(a=digest(MESSAGES, "b"), b=digest(MESSAGES, "a"), c=digest([*MESSAGES[:4], said(50)], "b"))
    assert found["c"] == copy_of("b", 4, depth=2)


def test_v10_chats_of_other_folders_are_no_parents() -> None:
    chats = [("chats/Anna/a.jsonl", digest(MESSAGES)), ("chats/Bob/b.jsonl", digest(MESSAGES, "a"))]
    assert set(chat_trees(chats).values()) == {ROOT}


def test_v10_links_have_names_as_they_were_before_they_became_names_of_files() -> None:
    found = trees(**{"What is it": digest(MESSAGES), "b": digest([*MESSAGES[:4], said(50)], "What? is it")})
    assert found["b"] == copy_of("What is it", 4)


def test_v10_chats_without_messages() -> None:
    assert set(trees(a=digest([]), b=digest([]), c=digest([], "a"), d=digest([], "nowhere")).values()) == {ROOT}


class Model(NamedTuple):
    """A chat that a test made: what it was copied from, and how it should be found again."""

    name: str
    messages: list[Record]
    main_chat: str | None
    parent: Model | None
    fork: int
    certain: bool


LINKS = ("both", "of the child", "of the parent", "none")


@st.composite
def forests(draw: Any) -> list[Model]:
    """Chats that begin alone, and chats that were copied from others, with both links, one, or none."""
    numbers = iter(range(10**6))

    def new_messages(least: int) -> list[Record]:
        return [
            said(next(numbers), swipes=draw(st.sampled_from((0, 0, 3)))) for _ in range(draw(st.integers(least, 4)))
        ]

    chats = [Model(f"chat {number}", new_messages(2), None, None, 0, True) for number in range(draw(st.integers(1, 3)))]
    for number in range(draw(st.integers(1, 10))):
        parent = draw(st.sampled_from(chats))
        fork = draw(st.integers(1, len(parent.messages)))
        links = draw(st.sampled_from(LINKS))
        is_renamed = links == "none" and parent.parent is None and draw(st.booleans())
        name = f"{parent.name} {'and on' if is_renamed else '- Branch #'}{number}"
        messages = deepcopy(parent.messages[:fork]) + new_messages(0 if links != "none" else 1)
        last = messages[fork - 1]
        if "swipes" in last and draw(st.booleans()):
            last |= {"swipe_id": 2, "mes": last["swipes"][2]}
        if links in ("both", "of the parent"):
            parent.messages[fork - 1]["extra"].setdefault("branches", []).append(name)
        main_chat = parent.name if links in ("both", "of the child") else None
        chats.append(Model(name, messages, main_chat, parent, fork, links != "none"))
    return chats


@given(chats=forests())
def test_v10_a_forest_of_copies_is_found_again(chats: list[Model]) -> None:
    found = trees(**{chat.name: digest(chat.messages, chat.main_chat) for chat in chats})
    assert len(found) == len(chats)
    for chat in chats:
        place = found[chat.name]
        if chat.parent is None:
            assert place == ROOT
            continue
        parent = chat.parent
        assert place == copy_of(parent.name, chat.fork, found[parent.name].depth + 1, certain=chat.certain)


@given(chats=st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=4), st.integers(0, 6) | st.none()), max_size=7))
def test_v10_any_chats_make_a_forest(chats: list[tuple[list[int], int | None]]) -> None:
    names = ["a", "b", "b - Branch #1", "b - Branch #1 - Branch #1", "Branch #1 - c", "d", "e"]
    digests = {
        name: digest([said(number, extra={"branches": names[number:]}) for number in numbers], main and names[main])
        for name, (numbers, main) in zip(names, chats, strict=False)
    }
    found = trees(**digests)
    assert found.keys() == digests.keys()
    for name, place in found.items():
        if place.parent is None:
            assert place == ROOT
            continue
        parent = place.parent.removeprefix("chats/Anna/").removesuffix(".jsonl")
        assert place.depth == found[parent].depth + 1
        assert place.fork == common_messages(digests[parent], digests[name])


@not_hanging()
def test_twenty_thousand_copies_are_placed_without_comparing_all_of_them() -> None:
    common = bytes(800)
    chats = [
        (f"c/{number:05}.jsonl", ChatDigest(messages=common + number.to_bytes(8, "big"))) for number in range(20_000)
    ]
    assert chat_trees(chats)["c/19999.jsonl"] == ChatPlace(parent="c/00000.jsonl", fork=100, certain=False, depth=1)


def read_digest(data: bytes | str) -> ChatDigest:
    return digest_chat(io.BytesIO(data if isinstance(data, bytes) else data.encode()))


def test_the_digest_of_a_chat() -> None:
    header = {
        "chat_metadata": {"main_chat": "Main", "persona": "sam.png", "world_info": "Harbour"},
        "user_name": "Sam",
        "character_name": "Anna",
    }
    first = said(0, extra={"bookmark_link": "One", "branches": ["Two", "Three"]})
    found = read_digest(lines(header, first, "half a li", "", "[1, 2]", '{"mes": NaN}', said(1)))
    assert (found.user_name, found.character_name, found.main_chat) == ("Sam", "Anna", "Main")
    assert (found.persona, found.world) == ("sam.png", "Harbour")
    assert found.links == (
        ChatLink(0, "One", "checkpoint"),
        ChatLink(0, "Two", "branch"),
        ChatLink(0, "Three", "branch"),
    )
    assert (found.count, found.damaged) == (2, 3)


def test_what_stands_around_the_texts_changes_no_hash() -> None:
    plain = read_digest(lines(said(0), said(1)))
    windows = lines(HEADER, said(0), said(1)).replace("\n", "\r\n")
    assert read_digest(f"\ufeff{windows}\n\n").messages == plain.messages
    odd = said(0, extra={"branches": [1, "x"], "bookmark_link": 5}, swipe_info="none", gen_started=1)
    found = read_digest(lines(odd, said(1)))
    assert found.messages == plain.messages
    assert found.links == (ChatLink(0, "x", "branch"),)


@pytest.mark.parametrize(
    "change", [{"name": "Bob"}, {"is_user": False}, {"mes": "x"}, {"send_date": None}, {"mes": {}}]
)
def test_name_speaker_text_and_date_make_a_message(change: Record) -> None:
    assert digest([said(0) | change]).messages != digest([said(0)]).messages


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x00" * 99, b"{" * 99_999, b"\xff\xfe", b"[]\n{}\n1"])
def test_no_file_is_too_damaged(data: bytes) -> None:
    assert isinstance(read_digest(data), ChatDigest)


@given(data=st.binary(max_size=200))
def test_any_bytes_have_a_digest(data: bytes) -> None:
    assert isinstance(read_digest(data), ChatDigest)


@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from(("name", "is_user", "mes", "send_date", "swipes", "swipe_info", "extra", "chat_metadata")),
            json_values,
        )
        | st.just({})
        | st.builds(message, st.text(max_size=5)),
        max_size=4,
    )
)
def test_the_digest_counts_the_messages_that_the_reader_finds(records: list[Record]) -> None:
    data = "\n".join(map(json.dumps, records)).encode()
    found = read_digest(data)
    try:
        (chat,), _ = read_chat(data)
    except ParseError:
        return
    assert found.count == len(chat.messages)


def test_a_line_that_is_too_long_is_one_damaged_line() -> None:
    long = json.dumps(said(1, mes="x" * 1700))
    for end in ("", "\n", "\n" + json.dumps(said(2))):
        file = io.BytesIO((json.dumps(said(0)) + "\n" + long + end).encode())
        found = digest_chat(file, limits=ChatLimits(line_length=500))
        assert (found.count, found.damaged) == (2 if "2" in end else 1, 1)
