"""RPack: every byte stands for another one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.files import decode_rpack, encode_rpack


def test_bytes_as_risuai_disguises_them():
    assert encode_rpack(b"AAA\0\xffA") == bytes.fromhex("b4b4b4c4b8b4")


@given(data=st.binary())
def test_what_is_disguised_can_be_read_again(data):
    assert decode_rpack(encode_rpack(data)) == data
    assert encode_rpack(decode_rpack(data)) == data
