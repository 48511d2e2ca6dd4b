"""A file of any length is read line by line, as what it is when it is read as a whole."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine, stream_chat, write_chat
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder
from tests.chats.chat_files import HEADER, lines, message, read_one, read_or_sentence


def streamed(data: bytes, **limits: int) -> tuple[ChatFile, list[str]]:
    report = ReportBuilder()
    read = list(stream_chat(BytesIO(data), report=report, limits=ChatLimits(**limits)))
    chat = ChatFile(
        header=next((one for one in read if isinstance(one, ChatHeader)), None),
        messages=tuple(one for one in read if isinstance(one, ChatMessage)),
        strays=tuple(one for one in read if isinstance(one, StrayLine)),
    )
    return chat, [str(note) for note in report.build("sillytavern").notes]


def encoded(chat: ChatFile) -> bytes:
    return write_chat(chat).encode("utf-8", "surrogateescape")


MIXED = lines(HEADER, "garbage", message("One"), "", "[1, 2]", message("Two", swipes=["a"]), '{"mes": NaN}', "")


def test_a_stream_gives_what_the_whole_file_gives() -> None:
    chat, notes = streamed(MIXED.encode())
    assert chat == read_one(MIXED)
    assert [note.partition(":")[0] for note in notes] == ["line 2", "line 5", "line 7"]
    assert encoded(chat) == MIXED.encode()


def test_a_damaged_line_that_is_not_utf8_comes_back_byte_for_byte() -> None:
    file = b"\n".join([lines(HEADER).encode(), b'{"mes": "\xff\xfe', b"\xed\xa0\x80", lines(message("One")).encode()])
    chat, _ = streamed(file)
    assert encoded(chat) == file == encoded(read_one(file))


def test_a_message_that_is_not_utf8_is_read_as_far_as_it_is() -> None:
    file = lines(HEADER, message("bad: ?")).encode().replace(b"?", b"\xff")
    chat, notes = streamed(file)
    assert [one.text for one in chat.messages] == ["bad: \ufffd"] == [one.text for one in read_one(file).messages]
    assert len(notes) == 1


def test_marks_and_line_breaks_of_windows_are_noted_once() -> None:
    file = b"\xef\xbb\xbf" + lines(HEADER, message("One"), message("Two")).replace("\n", "\r\n").encode()
    chat, notes = streamed(file)
    assert chat == read_one(file)
    assert len(notes) == 2


@pytest.mark.parametrize(
    "file", [b"", b"\n \n", b"no chat", b'{"spec": "chara_card_v2"}\n{"a": 1}', b"[1]\n[2]", b'{"user_name": "cut\n']
)
def test_what_is_no_chat_is_refused(file: bytes) -> None:
    with pytest.raises(ParseError):
        streamed(file)
    assert isinstance(read_or_sentence(file), str)


def test_long_lines_and_many_lines_are_refused() -> None:
    with pytest.raises(ParseError, match="Line 2"):
        streamed(lines(HEADER, message("x" * 500)).encode(), line_length=300)
    with pytest.raises(ParseError, match="more than 2 lines"):
        streamed(lines(HEADER, message("a"), message("b")).encode(), lines=2)


line = st.sampled_from(
    [
        lines(message("One")).encode(),
        lines(message("Two", mes=5, extra=None)).encode(),
        b"",
        b" ",
        b"\x00\x00",
        b"{cut",
        b"[1]",
        b'{"a": "\xff"',
        b'{"mes": "\xff"}',
        b'{"mes": "half \\ud83e"}',
        b'{"mes": {"message": "of Chub"}}',
    ]
)


@given(st.booleans(), st.lists(line, max_size=8))
def test_any_lines_are_the_same_both_ways(has_header: bool, more: list[bytes]) -> None:
    first = lines(HEADER if has_header else message("First")).encode()
    file = b"\n".join([first, *more])
    chat, _ = streamed(file)
    whole = read_or_sentence(file)
    assert not isinstance(whole, str)
    assert (chat,) == whole
