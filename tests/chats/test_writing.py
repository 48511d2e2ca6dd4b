"""Plain text, and messages for building prompts."""

from tavernkit.chats import ChatFile, ChatMessage, to_messages, write_text
from tavernkit.prompt.message import Message
from tests.chats.chat_files import HEADER, NOW, lines, message, read_one


def test_plain_text_is_what_a_reader_sees() -> None:
    chat = read_one(
        lines(
            HEADER,
            message("seen"),
            message("hidden", is_system=True),
            message("raw", name="Sam", is_user=True, extra={"display_text": "shown\r\ninstead"}),
            message("", extra={"display_text": "not without a text"}),
            message("after\r\nall"),
        )
    )
    assert write_text(chat) == "Mira: seen\n\nSam: shown\ninstead\n\nMira: after\nall\n\n"


def test_plain_text_takes_what_is_no_text() -> None:
    chat = read_one(
        lines(HEADER, message(5), message(None), message("x", name=None), message("y", extra={"display_text": 1}))
    )
    assert write_text(chat) == "Mira: 5\n\nx\n\nMira: y\n\n"


def test_an_empty_chat_is_an_empty_text() -> None:
    assert write_text(ChatFile()) == ""


def test_roles_come_from_who_speaks() -> None:
    chat = read_one(
        lines(
            HEADER,
            message("a"),
            message("b", name="Sam", is_user=True),
            message("c", name="Note", extra={"type": "narrator"}),
        )
    )
    assert [(each.role, each.name, each.content) for each in to_messages(chat)] == [
        ("assistant", "Mira", "a"),
        ("user", "Sam", "b"),
        ("system", "Note", "c"),
    ]


def test_metadata_has_what_there_is_under_sillytaverns_names() -> None:
    chat = ChatFile(
        messages=(
            ChatMessage(name="Mira", text="plain", send_date=NOW),
            ChatMessage(
                text="all",
                is_system=True,
                swipes=("all", "none"),
                swipe_id=0,
                extra={"reasoning": "hm"},
                force_avatar="a.png",
                original_avatar="mira.png",
            ),
        )
    )
    plain, full = to_messages(chat)
    assert plain == Message(role="assistant", name="Mira", content="plain", send_date=NOW)
    assert full.metadata == {
        "is_system": True,
        "swipes": ("all", "none"),
        "swipe_id": 0,
        "extra": {"reasoning": "hm"},
        "force_avatar": "a.png",
        "original_avatar": "mira.png",
    }
