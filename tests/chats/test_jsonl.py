"""SillyTavern's own files."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine, write_chat
from tavernkit.errors import ParseError
from tests.chats.chat_files import HEADER, NOW, lines, message, read, read_one, read_or_sentence
from tests.strategies import json_values, texts


def test_reads_the_header_and_the_messages() -> None:
    swiped = message("b", swipes=["a", "b"], swipe_id=1, swipe_info=[{"extra": {}}, {"send_date": NOW}])
    chat = read_one(lines(HEADER, message("Hello."), swiped))
    assert chat.header is not None
    assert (chat.header.user_name, chat.header.character_name) == ("Sam", "Mira")
    assert chat.header.chat_metadata == {"variables": {"hp": 3}}
    first, second = chat.messages
    assert (first.name, first.text, first.is_user, first.is_system, first.send_date) == (
        "Mira",
        "Hello.",
        False,
        False,
        NOW,
    )
    assert (second.swipes, second.swipe_id) == (("a", "b"), 1)
    assert second.swipe_info == ({"extra": {}}, {"send_date": NOW})


def test_the_report_is_exact_for_a_file_of_sillytavern() -> None:
    _, report = read(lines(HEADER, message(theirs={"a": [1]})))
    assert (report.format, report.is_exact) == ("sillytavern", True)


def test_a_group_is_told_by_the_cards_of_its_speakers() -> None:
    (chat,), report = read(lines(HEADER, message(original_avatar="mira.png", force_avatar="/thumb?file=mira.png")))
    assert (report.format, chat.is_group) == ("sillytavern_group", True)
    assert (chat.messages[0].original_avatar, chat.messages[0].force_avatar) == ("mira.png", "/thumb?file=mira.png")


def test_a_file_without_a_header_begins_with_its_first_message() -> None:
    source = lines(message("One"), message("Two"))
    chat = read_one(source)
    assert chat.header is None
    assert [each.text for each in chat.messages] == ["One", "Two"]
    assert write_chat(chat) == source


@pytest.mark.parametrize("header", [{"chat_metadata": {}}, {"user_name": ""}, {"name": "Mira"}])
def test_each_of_three_fields_makes_a_header(header: dict[str, Any]) -> None:
    source = lines(header, message())
    chat = read_one(source)
    assert chat.header is not None
    assert len(chat.messages) == 1
    assert write_chat(chat) == source


def test_a_chat_may_have_no_messages_yet() -> None:
    assert read_one(lines(HEADER)).messages == ()


def test_damaged_and_blank_lines_stay_in_their_places() -> None:
    source = lines(HEADER, "garbage", message("One"), "", "[1, 2]", message("Two"), '{"mes": NaN}', "")
    (chat,), report = read(source)
    assert [each.text for each in chat.messages] == ["One", "Two"]
    assert chat.strays[0] == StrayLine(before=1, text="garbage")
    assert [note.path for note in report.ignored] == ["line 2", "line 5", "line 7"]
    assert write_chat(chat) == source


def test_a_damaged_first_line_does_not_cost_the_messages() -> None:
    source = lines('{"user_name": "Sa', message("One"), message("Two"))
    chat = read_one(source)
    assert [each.text for each in chat.messages] == ["One", "Two"]
    assert write_chat(chat) == source


def test_stray_lines_of_a_shortened_chat_come_last() -> None:
    chat = read_one(lines(HEADER, message("One"), message("Two"), "garbage"))
    assert write_chat(chat.with_(messages=chat.messages[:1])).split("\n")[2:] == ["garbage"]


@pytest.mark.parametrize("mark", ["\ufeff", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_noted_and_left_out(mark: str | bytes) -> None:
    source = lines(HEADER, message())
    data = mark + source if isinstance(mark, str) else mark + source.encode()
    (chat,), report = read(data)
    assert write_chat(chat) == source
    assert "byte order mark" in report.converted[0].message


def test_utf_16_is_read() -> None:
    source = lines(HEADER, message("Žluť 😀"))
    assert write_chat(read_one(source.encode("utf-16"))) == source


def test_broken_utf_8_is_noted() -> None:
    (chat,), report = read(lines(HEADER, message("a?b")).encode().replace(b"?", b"\xff"))
    assert chat.messages[0].text == "a\ufffdb"
    assert "UTF-8" in report.converted[0].message


def test_line_breaks_of_windows_are_read_and_noted() -> None:
    source = lines(HEADER, message("One"), message("Two"))
    (chat,), report = read(source.replace("\n", "\r\n"))
    assert write_chat(chat) == source
    assert not report.is_exact


def test_only_spacing_changes_in_files_of_others() -> None:
    source = lines(HEADER, message("One", number=1.5))
    spaced = "\n".join(json.dumps(json.loads(line)) for line in source.split("\n"))
    assert write_chat(read_one(spaced)) == source


@pytest.mark.parametrize(
    "spelling",
    [
        *("0", "-1", "1.5", "1e-7", "0.000001", "1e+21", "100000000000000000000", "123456789012345678901234567890"),
        *("5e-324", "1.7976931348623157e+308", '"1.0"', '"1e5"', "null", "true", "{}", "[]"),
        *('"\\u0000\\b\\f\\u001f\x7f\u2028\\"\\\\/"', '"\\ud83d"', '"😀\\udc00"'),
    ],
)
def test_values_keep_javascripts_spelling(spelling: str) -> None:
    source = lines(HEADER, f'{{"name":"Mira","mes":"x","extra":{{"value":{spelling},"half":0.5}}}}')
    assert write_chat(read_one(source)) == source


def test_numbers_of_others_get_javascripts_spelling() -> None:
    source = lines(HEADER, '{"name":"Mira","mes":"x","a":1.0,"b":1E2,"c":-0.0,"d":1e999}')
    assert write_chat(read_one(source)).endswith('"a":1,"b":100,"c":0,"d":null}')


@pytest.mark.parametrize(
    ("field", "value", "attribute", "read_as"),
    [
        ("mes", 5, "text", "5"),
        ("mes", None, "text", ""),
        ("mes", {"message": ""}, "text", ""),
        ("name", True, "name", "true"),
        ("is_user", 1, "is_user", True),
        ("is_system", "", "is_system", False),
        ("send_date", None, "send_date", None),
        ("send_date", 1714557600000, "send_date", 1714557600000),
        ("swipes", "none", "swipes", ()),
        ("swipes", ["a", None, {"message": ""}], "swipes", ("a", "", "")),
        ("swipe_id", "1", "swipe_id", None),
        ("swipe_info", [None, {"a": 1}], "swipe_info", ({}, {"a": 1})),
        ("extra", None, "extra", {}),
        ("force_avatar", False, "force_avatar", None),
    ],
)
def test_unusual_types_are_understood_and_kept(field: str, value: Any, attribute: str, read_as: Any) -> None:
    source = lines(HEADER, message() | {field: value})
    chat = read_one(source)
    assert getattr(chat.messages[0], attribute) == read_as
    assert write_chat(chat) == source


def test_an_unusual_type_is_noted_with_its_place() -> None:
    _, report = read(lines(HEADER, message(), message(5)))
    assert [note.path for note in report.converted] == ["message 2.mes"]


def test_a_changed_field_is_written_over_an_unusual_original() -> None:
    chat = read_one(lines(HEADER, message(5)))
    changed = chat.with_(messages=(chat.messages[0].with_(text="five"),))
    assert json.loads(write_chat(changed).split("\n")[1])["mes"] == "five"


def test_changes_stay_in_place_and_new_fields_come_last() -> None:
    source = lines(HEADER, '{"mes":"a","theirs":1,"name":"Mira","swipe_id":0}')
    changed = read_one(source).messages[0].with_(text="b", swipe_id=None, is_system=True, swipes=("a", "b"))
    assert write_chat(ChatFile(messages=(changed,))) == (
        '{"mes":"b","theirs":1,"name":"Mira","is_system":true,"swipes":["a","b"]}'
    )


def test_new_chats_look_like_sillytaverns() -> None:
    chat = ChatFile(
        header=ChatHeader(user_name="unused", character_name="unused"),
        messages=(ChatMessage(name="Sam", text="Hi.", is_user=True, send_date=NOW),),
    )
    assert write_chat(chat) == lines(
        {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"},
        {"name": "Sam", "is_user": True, "is_system": False, "send_date": NOW, "mes": "Hi.", "extra": {}},
    )


@pytest.mark.parametrize("source", ["", " \n\t\n", "\ufeff", b""])
def test_an_empty_file_says_so(source: str | bytes) -> None:
    with pytest.raises(ParseError, match="The file is empty"):
        read(source)


@pytest.mark.parametrize(
    "source",
    [
        *("[]", "5", "null", '"text"'),
        lines({"foo": 1}, message()),
        lines({"name": "Mira", "first_mes": "Hm?"}),
        json.dumps([HEADER, message()]),
        json.dumps({"internal": [], "visible": [["a", "b"]]}),
    ],
)
def test_what_is_no_chat_is_refused_with_what_was_expected(source: str) -> None:
    with pytest.raises(ParseError, match="Expected a chat of SillyTavern"):
        read(source.encode())


@pytest.mark.parametrize(
    "source", ["{broken", b"once upon a time", b"\x89PNG\r\n\x1a\n\x00\x00", "garbage\n[]\n{}", "[1]\n[2]"]
)
def test_what_is_no_json_is_refused(source: str | bytes) -> None:
    with pytest.raises(ParseError):
        read(source)


def test_limits_on_the_file() -> None:
    source = lines(HEADER, message(), message())
    with pytest.raises(ParseError, match="at most 100 are read"):
        read(source, limits=ChatLimits(file_bytes=100))
    with pytest.raises(ParseError, match="has 3 lines; at most 2"):
        read(source, limits=ChatLimits(lines=2))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"mes":"' + "x" * 3000 + '"}', id="long"),
        pytest.param('{"mes":' * 300 + "1" + "}" * 300, id="deep"),
        pytest.param('{"mes":' + "9" * 5000 + "}", id="big number"),
        pytest.param('{"mes":[' + "1," * 900 + "1]}", id="many values"),
        pytest.param("[" * 100_000, id="hostile"),
    ],
)
def test_a_line_over_its_limits_counts_as_damaged(line: str) -> None:
    source = lines(HEADER, line, message("after"))
    (chat,), report = read(source, limits=ChatLimits(line_length=2500, line_values=500))
    assert [each.text for each in chat.messages] == ["after"]
    assert [note.path for note in report.ignored] == ["line 2"]
    assert write_chat(chat) == source


def test_a_long_chat_takes_time_in_proportion_to_its_length() -> None:
    def seconds(source: str) -> float:
        begin = time.process_time()
        assert write_chat(read_one(source)) == source
        return time.process_time() - begin

    short, long = (lines(HEADER, *[message("word " * 5, swipes=["a", "b"])] * count) for count in (500, 10_000))
    assert seconds(long) < 20 * min(seconds(short) for _ in range(3)) * 3


def test_messages_of_the_same_shape_share_it() -> None:
    chat = read_one(lines(HEADER, *[message()] * 3))
    assert len({id(each.keys) for each in chat.messages}) == 1


# Whatever JSON allows in a field; numbers are checked one by one above.
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    *("name", "mes", "is_user", "is_system", "send_date", "extra", "swipes", "swipe_id", "swipe_info"),
    *("force_avatar", "original_avatar"),
)
named = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, values))
records = st.tuples(named, st.dictionaries(st.text(max_size=6), values, max_size=2)).flatmap(
    lambda parts: st.permutations(list((parts[1] | parts[0]).items())).map(dict)
)
# A nested text is Chub's, and is meant to change.
plain_records = records.filter(lambda record: '"message"' not in json.dumps(record))
strays = st.text(st.characters(codec="utf-8", exclude_characters="\n{"), max_size=8)


@given(st.lists(plain_records | strays, max_size=5))
def test_every_file_comes_back_byte_for_byte(content: list[Any]) -> None:
    source = lines(HEADER, *content)
    (chat,), _ = read(source)
    assert write_chat(chat) == source
    assert read(source.encode())[0][0] == chat


@given(st.dictionaries(texts, json_values, max_size=4))
def test_what_was_written_once_is_written_again(fields: dict[str, Any]) -> None:
    once = write_chat(read_one(lines(HEADER, message(), json.dumps(fields))))
    assert write_chat(read_one(once)) == once


@given(st.binary(max_size=60) | st.text(max_size=60).map("{}\n".format) | values.map(json.dumps).map(str.encode))
def test_anything_is_a_chat_or_a_sentence(source: str | bytes) -> None:
    chats = read_or_sentence(source)
    if isinstance(chats, str):
        assert chats.endswith(".")
    else:
        assert chats
        assert all(isinstance(write_chat(chat), str) for chat in chats)
