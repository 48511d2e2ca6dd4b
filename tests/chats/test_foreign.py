"""Chats of other applications."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatFile, write_chat
from tavernkit.errors import ParseError
from tests.chats.chat_files import HEADER, NOW, lines, read, read_one, read_or_sentence
from tests.strategies import json_values


def said(chat: ChatFile) -> list[tuple[str, bool, str]]:
    return [(message.name, message.is_user, message.text) for message in chat.messages]


def test_every_import_has_sillytaverns_header_and_the_current_date() -> None:
    (chat,), report = read({"data_visible": [["Hi", "Hello"]]})
    assert report.format == "ooba"
    assert write_chat(chat) == lines(
        {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"},
        {"name": "Sam", "is_user": True, "send_date": NOW, "mes": "Hi", "extra": {}},
        {"name": "Mira", "is_user": False, "send_date": NOW, "mes": "Hello", "extra": {}},
    )


def test_names_are_filled_in_where_none_are_given() -> None:
    chat = read_one({"data_visible": [["Hi", "Hello"]]}, user_name="", character_name="")
    assert [message.name for message in chat.messages] == ["User", "Character"]


def test_names_are_taken_as_they_are() -> None:
    chat = read_one({"data_visible": [["Hi", "Hello"]]}, user_name="J. R.", character_name="A/B?")
    assert [message.name for message in chat.messages] == ["J. R.", "A/B?"]


def test_a_pretty_printed_document_is_the_same() -> None:
    document = {"messages": [{"msg": "m"}]}
    assert read_one(json.dumps(document, indent=2)) == read_one(document)


def test_ooba_leaves_out_empty_halves_of_pairs() -> None:
    chat = read_one({"data_visible": [["", "Hello"], ["Solo", ""], ["", ""], ["one"], [], ["a", "b", "third"]]})
    assert said(chat) == [
        ("Mira", False, "Hello"),
        ("Sam", True, "Solo"),
        ("Sam", True, "one"),
        ("Sam", True, "a"),
        ("Mira", False, "b"),
    ]


def test_agnai_knows_the_user_by_an_id() -> None:
    document = {"name": "Exported", "messages": [{"msg": "m", "handle": "Mira"}, {"msg": "u", "userId": "anon"}, {}]}
    (chat,), report = read(document)
    assert report.format == "agnai"
    assert said(chat) == [("Mira", False, "m"), ("Sam", True, "u"), ("Mira", False, "")]
    assert "mes" not in chat.messages[2].keys
    assert {note.path for note in report.ignored} == {"name", "messages[].handle"}


def test_cai_has_one_chat_for_each_history() -> None:
    document = {
        "histories": {
            "histories": [
                {"msgs": [{"src": {"is_human": True}, "text": "Hi"}, {"src": {"is_human": False}, "text": "Hello"}]},
                {"msgs": [{"src": {}, "text": "Again"}, {"text": "?"}]},
            ]
        }
    }
    chats, report = read(document)
    assert report.format == "cai"
    assert [said(chat) for chat in chats] == [
        [("Sam", True, "Hi"), ("Mira", False, "Hello")],
        [("Mira", False, "Again"), ("Mira", False, "?")],
    ]


@pytest.mark.parametrize("histories", [{}, {"histories": []}, None, 5, []])
def test_cai_without_conversations_says_so(histories: Any) -> None:
    with pytest.raises(ParseError, match="no conversation"):
        read({"histories": histories, "data_visible": [["a", "b"]]})


def test_kobold_lite_brings_its_names_and_marks() -> None:
    document = {
        "savedsettings": {"chatname": "Me", "chatopponent": "Bot||$||Other"},
        "prompt": " Once. ",
        "actions": ["{{[INPUT]}}\nHello\n{{[OUTPUT]}}\n", "Hi.{{[OUTPUT]}}\n", ""],
        "memory": "kept nowhere",
    }
    (chat,), report = read(document)
    assert report.format == "kobold_lite"
    assert said(chat) == [("Bot", False, "Once."), ("Me", True, "Hello"), ("Bot", False, "Hi."), ("Bot", False, "")]
    assert [note.path for note in report.ignored] == ["memory"]


def test_kobold_lite_without_names_calls_speakers_what_sillytavern_calls_them() -> None:
    chat = read_one({"savedsettings": {"chatopponent": None}, "actions": ["{{[INPUT]}}a", "b"]})
    assert [message.name for message in chat.messages] == ["undefined", "null"]


def test_risuai_brings_names_and_times() -> None:
    document = {
        "type": "risuChat",
        "ver": 2,
        "data": {
            "message": [
                {"role": "user", "data": "Hi", "time": 1714557600000},
                {"role": "char", "data": "Hello", "time": "1714557600999.9", "name": "Tamsin", "chatId": "x"},
                {"role": "char"},
                {"role": "char", "data": "When?", "time": "noon"},
                {"role": "char", "data": "Then", "time": 9e15},
            ],
            "note": "n",
        },
    }
    (chat,), report = read(document)
    assert report.format == "risuai"
    assert said(chat)[:3] == [("Sam", True, "Hi"), ("Tamsin", False, "Hello"), ("Mira", False, "")]
    assert [message.send_date for message in chat.messages] == [
        "2024-05-01T10:00:00.000Z",
        "2024-05-01T10:00:00.999Z",
        NOW,
        NOW,
        NOW,
    ]
    assert {note.path for note in report.ignored} == {"data.note", "data.message[].chatId"}
    assert len(report.converted) == 2


def test_chub_nests_texts_which_are_made_plain() -> None:
    nested = {"name": "V", "is_user": False, "mes": {"message": "a", "id": 4}, "swipes": [{"message": "a"}, "b", None]}
    (chat,), report = read(lines(HEADER, nested))
    assert report.format == "chub"
    assert (chat.messages[0].text, chat.messages[0].swipes) == ("a", ("a", "b", ""))
    assert write_chat(chat) == lines(HEADER, {"name": "V", "is_user": False, "mes": "a", "swipes": ["a", "b", None]})
    assert report.converted[0].path == "line 2"


@pytest.mark.parametrize(
    ("document", "format"),
    [
        ({"savedsettings": {}, "actions": [], "histories": {}, "messages": []}, "kobold_lite"),
        ({"histories": [{"msgs": []}], "data_visible": []}, "cai"),
        ({"data_visible": [["a", "b"]], "messages": []}, "ooba"),
        ({"data_visible": "no list", "messages": []}, "agnai"),
        ({"messages": [], "type": "risuChat", "data": {"message": []}}, "agnai"),
        ({"user_name": "a", "type": "risuChat", "data": {"message": []}}, "risuai"),
    ],
)
def test_formats_are_asked_in_sillytaverns_order(document: Any, format: str) -> None:
    assert read(document)[1].format == format


@pytest.mark.parametrize(
    "document",
    [
        {"savedsettings": None, "actions": []},
        {"savedsettings": {}},
        {"savedsettings": {}, "actions": "text"},
        {"histories": [{"msgs": None}]},
        {"type": "risuChat"},
        {"type": "risuChat", "data": []},
        {"type": "risuChat", "data": {"message": {}}},
    ],
)
def test_a_file_without_its_messages_is_refused(document: Any) -> None:
    with pytest.raises(ParseError, match="must be"):
        read(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"data_visible": [None, ["a"]]}, "data_visible[0]"),
        ({"messages": [None, {"msg": "a"}]}, "messages[0]"),
        ({"savedsettings": {}, "prompt": 5, "actions": ["a"]}, "prompt"),
        ({"histories": [{"msgs": ["x", {"text": "a"}]}]}, "histories[0].msgs[0]"),
        ({"type": "risuChat", "data": {"message": [5, {"data": "a"}]}}, "data.message[0]"),
    ],
)
def test_an_item_that_is_no_message_is_noted_and_passed_over(document: Any, path: str) -> None:
    (chat,), report = read(document)
    assert [message.text for message in chat.messages] == ["a"]
    assert [note.path for note in report.ignored] == [path]


documents = st.one_of(
    st.fixed_dictionaries({"savedsettings": json_values, "prompt": json_values, "actions": json_values}),
    st.fixed_dictionaries({"histories": st.fixed_dictionaries({"histories": st.lists(json_values, max_size=3)})}),
    st.fixed_dictionaries({"data_visible": st.lists(json_values | st.lists(json_values, max_size=2), max_size=3)}),
    st.fixed_dictionaries({"messages": st.lists(json_values, max_size=3)}),
    st.fixed_dictionaries(
        {
            "type": st.just("risuChat"),
            "data": st.fixed_dictionaries(
                {
                    "message": st.lists(
                        st.fixed_dictionaries({"role": json_values, "time": json_values, "data": json_values}),
                        max_size=3,
                    )
                }
            ),
        }
    ),
)


@given(documents)
def test_any_document_is_a_chat_or_a_sentence(document: Any) -> None:
    chats = read_or_sentence(document)
    if isinstance(chats, str):
        assert chats.endswith(".")
        return
    for chat in chats:
        written = write_chat(chat)
        assert write_chat(read_one(written)) == written
