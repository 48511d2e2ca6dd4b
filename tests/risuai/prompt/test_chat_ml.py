"""Messages written as ChatML."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai import ChatMLMessage, parse_chat_ml


def test_each_start_begins_a_message() -> None:
    assert parse_chat_ml("<|im_start|>system hello<|im_end|>\n<|im_start|>assistant\nok") == [
        ChatMLMessage(role="system", content="hello"),
        ChatMLMessage(role="assistant", content="ok"),
    ]


def test_a_separator_may_part_role_and_text() -> None:
    assert parse_chat_ml("<|im_start|>system<|im_sep|>S<|im_end|>") == [ChatMLMessage(role="system", content="S")]


def test_a_role_that_nobody_knows_is_text_of_the_user() -> None:
    assert parse_chat_ml("<|im_start|>bogus\ny<|im_end|>") == [ChatMLMessage(role="user", content="bogus\ny")]


def test_thoughts_are_taken_out() -> None:
    assert parse_chat_ml("<|im_start|>assistant\n<Thoughts>hm</Thoughts>ok") == [
        ChatMLMessage(role="assistant", content="ok", thoughts=("hm",))
    ]


def test_other_text_is_none() -> None:
    assert parse_chat_ml("plain") is None
    assert parse_chat_ml("<|im_start|>") == []


said = st.text("abc {}\n", min_size=1).filter(str.strip)


@given(st.lists(st.tuples(st.sampled_from(["user", "system", "assistant"]), said), max_size=5))
def test_what_is_written_is_read(messages: list[tuple[str, str]]) -> None:
    text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
    read = parse_chat_ml(text)
    assert [(m.role, m.content) for m in read or ()] == [(role, content.lstrip()) for role, content in messages]


@given(st.text("<|im_startendp>userym \n"))
def test_any_text_is_read_or_refused(text: str) -> None:
    read = parse_chat_ml(text)
    assert read is None or all(message.role in ("user", "system", "assistant") for message in read)
