"""Markdown, RisuAI's files and plain text: written, and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatFile, ChatLimits, ChatMessage, read_chat, write_markdown, write_risuai, write_text
from tavernkit.errors import ParseError
from tests.chats.chat_files import HEADER, NOW, lines, message, read, read_one, read_or_sentence

CHAT = read_one(
    lines(
        HEADER,
        message("Hello.\n\n### Not a heading", swipes=["Hello.", "Hm?"], swipe_id=0),
        message("Hi *there*.", name="Sam", is_user=True, send_date=1714557600000),
        message("(aside)", is_system=True),
        message("", name="Sam", is_user=True, extra={"media": [{"url": "/user/a b.png", "title": "A [fox]"}]}),
        message("Night falls.", name="The *voice*", extra={"type": "narrator"}),
    )
)


def said(chat: ChatFile) -> list[tuple[str, bool, str]]:
    return [(message.name, message.is_user, message.text) for message in chat.messages]


def test_markdown_has_a_heading_for_each_message_and_no_swipes() -> None:
    assert write_markdown(CHAT, title="An evening") == (
        "<!-- TavernKit chat -->\n\n# An evening\n\n"
        "### Mira\n\nHello.\n\n\\### Not a heading\n\n"
        "### Sam <!-- user -->\n\nHi *there*.\n\n"
        "### Sam <!-- user -->\n\n![A \\[fox\\]](</user/a b.png>)\n\n"
        "### The \\*voice\\* <!-- narrator -->\n\nNight falls.\n\n"
    )


def test_markdown_comes_back_with_names_roles_and_pictures() -> None:
    (chat,), report = read(write_markdown(CHAT, title="An evening"))
    shown = [message for message in CHAT.messages if not message.is_system]
    assert report.format == "markdown"
    assert said(chat) == said(CHAT.with_(messages=tuple(shown)))
    assert chat.messages[2].extra["media"] == [{"url": "/user/a b.png", "type": "image", "title": "A [fox]"}]
    assert chat.messages[3].is_narrator
    assert {message.send_date for message in chat.messages} == {NOW}


def test_markdown_names_pictures_without_their_data() -> None:
    shown = ChatMessage(name="Mira", text="See.", extra={"image": "data:image/png;base64,AAAA", "title": "Fox"})
    assert "### Mira\n\nSee.\n\n![Fox](<>)\n\n" in write_markdown(ChatFile(messages=(shown,)))


def test_risuai_gets_every_message_by_role_name_and_time() -> None:
    document = json.loads(write_risuai(CHAT, title="An evening"))
    assert (document["type"], document["ver"], document["data"]["name"]) == ("risuChat", 2, "An evening")
    assert document["data"]["message"][1] == {
        "role": "user",
        "data": "Hi *there*.",
        "name": "Sam",
        "time": 1714557600000,
    }
    assert document["data"]["message"][2]["disabled"] is True
    (chat,), report = read(write_risuai(CHAT))
    assert (report.format, report.notes) == ("risuai", ())
    assert said(chat) == said(CHAT)
    assert [message.is_system for message in chat.messages] == [message.is_system for message in CHAT.messages]
    assert chat.messages[1].send_date == "2024-05-01T10:00:00.000Z"


def test_all_chats_of_a_character_are_read_from_one_file_of_risuai() -> None:
    chats = [{"message": [{"role": "user", "data": text}]} for text in ("One", "Two")]
    found, report = read({"type": "risuAllChats", "ver": 2, "data": chats})
    assert report.format == "risuai"
    assert [chat.messages[0].text for chat in found] == ["One", "Two"]


def test_plain_text_comes_back_with_names_and_roles() -> None:
    chat = read_one(lines(HEADER, message("A.\n\nB.\nSam: quoted"), message("C.", name="Sam", is_user=True)))
    (found,), report = read(write_text(chat))
    assert (report.format, report.notes) == ("text", ())
    assert said(found) == said(chat)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mira: Hi.\nSam: Ho.\nMira: Hm.", [("Mira", False, "Hi."), ("Sam", True, "Ho."), ("Mira", False, "Hm.")]),
        ("Mira: Hi.\r\nSam: Ho.\r\n", [("Mira", False, "Hi."), ("Sam", True, "Ho.")]),
        ("Bo: Hi.\nand more\nKim: Ho.", [("Bo", False, "Hi.\nand more"), ("Kim", True, "Ho.")]),
        ("Mira:\nHi.\n\nSam:\nHo.", [("Mira", False, "Hi."), ("Sam", True, "Ho.")]),
        ("**Mira:** Hi.\n\n**Sam**: Ho.", [("Mira", False, "Hi."), ("Sam", True, "Ho.")]),
        ("# Tale\n\n### Mira\nHi.\n### Sam\nHo.", [("Mira", False, "Hi."), ("Sam", True, "Ho.")]),
        ("Mira: Hi.\n\nSam: Ho.\n\nNote: no name.", [("Mira", False, "Hi."), ("Sam", True, "Ho.\n\nNote: no name.")]),
    ],
)
def test_lines_that_begin_with_a_name_are_messages(text: str, expected: list[Any]) -> None:
    assert said(read_one(text)) == expected


def test_a_file_that_does_not_say_who_the_user_is_gets_a_note() -> None:
    _, report = read("Bo: Hi.\n\nKim: Ho.")
    assert [note.message for note in report.converted] == [
        "the file does not say who the user is; messages of Kim are read as the user's"
    ]


@pytest.mark.parametrize(
    "text", ["?", "A story.\n\nIt ends.", "error: not found", "- a: b\n- c: d", '"a": "b"\n"c": 1']
)
def test_text_without_speakers_is_no_chat(text: str) -> None:
    assert isinstance(read_or_sentence(text.encode()), str)


def test_a_text_of_too_many_lines_is_refused() -> None:
    with pytest.raises(ParseError, match="at most 3 are read"):
        read_chat("Sam: a\n" * 5, limits=ChatLimits(lines=3))


def test_an_empty_chat_comes_back_empty() -> None:
    assert read_one(write_markdown(ChatFile(), title="Nothing")).messages == ()
    assert read_one(write_risuai(ChatFile())).messages == ()


names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff"), max_size=30)
messages = st.builds(ChatMessage, name=names, text=texts, is_user=st.booleans(), send_date=st.just(NOW))
marks = st.sampled_from(["###", "### a", "\\### a", "\\", "# a", "**Sam:** x", "Sam: x", "<!-- user -->"])
tricky = st.builds(ChatMessage, name=names, text=st.lists(marks, max_size=3).map("\n".join), is_user=st.booleans())
chats = st.lists(messages | tricky, max_size=5).map(lambda found: ChatFile(messages=tuple(found)))


@given(chats)
def test_risuai_keeps_every_text_and_role(chat: ChatFile) -> None:
    assert said(read_one(write_risuai(chat, title="x"))) == said(chat)


@given(chats)
def test_markdown_keeps_every_text_and_role_but_blank_lines_around_it(chat: ChatFile) -> None:
    found = read_one(write_markdown(chat, title="x"))
    assert said(found) == [(name, is_user, text.strip("\n")) for name, is_user, text in said(chat) if text]


@given(st.text(max_size=60) | st.lists(marks | names.map("{}: x".format), max_size=6).map("\n".join))
def test_any_text_is_a_chat_or_a_sentence(text: str) -> None:
    read_or_sentence(text.encode(errors="replace"))
