"""Damaged and hostile files: an error of ours or a value, and nothing else, and never more memory than is fair."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.characters.card_files import charx, v3
from tests.risuai.files.builders import module, risum, risup, risupreset, sealed

from tavernkit.errors import TavernKitError
from tavernkit.risuai.files import (
    encode_rpack,
    load_character,
    read_module_book,
    read_module_file,
    read_preset_file,
    read_risum,
)

READERS: dict[str, Callable[[bytes], Any]] = {
    "risum": read_risum,
    "module": read_module_file,
    "book": read_module_book,
    "preset": read_preset_file,
    "sealed preset": lambda data: read_preset_file(risupreset(sealed(data))),
    "envelope": lambda data: read_preset_file(encode_rpack(data)),
    "character": load_character,
    "character with a module": lambda data: load_character(charx(v3(), **{"module.risum": data})),
}
SEEDS = (
    risum(module(assets=[["lamp", "", "png"]]), b"glow"),
    risup({"mainPrompt": "x", "promptTemplate": [{"type": "plain"}]}),
    b'{"type": "risuModule", "lorebook": [{"key": 1}]}',
    b'{"mainPrompt": 1, "promptTemplate": [1, {"type": []}], "promptSettings": []}',
    b"\x81\xaamainPrompt\xd4\0\0",
)

changes = st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=4)


def changed(seed: bytes, edits: list[tuple[int, bytes]]) -> bytes:
    for place, piece in edits:
        seed = seed[:place] + piece + seed[place + len(piece) :]
    return seed


def read(reader: str, data: bytes) -> None:
    with contextlib.suppress(TavernKitError):
        READERS[reader](data)


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=60) | st.builds(bytes.__add__, st.just(b"o\0"), st.binary(max_size=60)))
def test_any_bytes(reader, data):
    read(reader, data)


@pytest.mark.parametrize("reader", READERS)
@given(seed=st.sampled_from(SEEDS), edits=changes)
def test_any_damage(reader, seed, edits):
    read(reader, changed(seed, edits))


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        ("risum", b"o\0" + b"\xff" * 4),
        ("risum", risum(module(), end=b"\1" + b"\0" * 4) * 10_000),
        ("sealed preset", b"\xdd\xff\xff\xff\xff"),
        ("sealed preset", b"\xdd\x00\x10\x00\x00" + b"\x90" * 0x100000),
        ("sealed preset", b"\xdf\xff\xff\xff\xff" + b"\xa1a\xc0" * 1000),
        ("preset", b'{"mainPrompt":' + b"[" * 100_000),
    ],
    ids=["long", "many", "list", "lists", "map", "deep"],
)
def test_memory_is_bounded(reader, data):
    tracemalloc.start()
    try:
        read(reader, data)
        assert tracemalloc.get_traced_memory()[1] < 300 * 1024 * 1024
    finally:
        tracemalloc.stop()
