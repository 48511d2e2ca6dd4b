"""Base64 and UTF-8 that are read as far as they can be."""

from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.js_base64 import decode_base64, decode_utf8


@given(st.binary())
def test_both_alphabets_are_read(data: bytes) -> None:
    assert decode_base64(b64encode(data).decode()) == decode_base64(urlsafe_b64encode(data).decode()) == data
    assert decode_base64(b64encode(data).decode().rstrip("=")) == data


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("!!", b""),
        ("a", b""),
        ("aGVs bG8\n", b"hello"),
        ("aGVsb", b"hel"),
        ("YQ=b", b"a"),
        ("YQ==YQ==", b"a"),
    ],
)
def test_the_rest_is_passed_over(text: str, data: bytes) -> None:
    assert decode_base64(text) == data


@given(st.text())
def test_texts_are_read(text: str) -> None:
    assert decode_utf8(text.encode()) == text


@given(st.text(), st.binary())
def test_anything_is_read(text: str, data: bytes) -> None:
    assert decode_base64(text).hex() is not None
    assert len(decode_utf8(data)) <= len(data)


@pytest.mark.parametrize(
    ("data", "text"), [(b"\xe2\x82", "\ufffd\ufffd"), (b"a\xffb", "a\ufffdb"), (b"\xed\xa0\x80", "\ufffd" * 3)]
)
def test_each_byte_without_a_meaning_has_its_sign(data: bytes, text: str) -> None:
    assert decode_utf8(data) == text
