"""Damaged and hostile files: an error of ours, in time, in bounds, and nothing else.

`TAVERNKIT_FUZZ_INPUTS` says how many mutated files are read: 500 by default, 20,000 at night.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.characters import load, read_card, to_charx, to_json, to_png
from tavernkit.errors import TavernKitError
from tests.characters import card_files as files
from tests.characters.card_files import byaf, charx, chunk, itxt, packed, png, text, v1, v2, v3, ztxt
from tests.strategies import json_values
from tests.support.hanging import not_hanging

pytestmark = pytest.mark.slow

INPUTS = int(os.environ.get("TAVERNKIT_FUZZ_INPUTS", "500"))
BATCHES = 10
MEGABYTES = 300

ASSETS = [
    {"type": "icon", "uri": "embeded://assets/main.png", "name": "main", "ext": "png"},
    {"type": "emotion", "uri": "__asset:0", "name": "joy", "ext": "png"},
]
SEEDS: dict[str, bytes] = {
    "png": png(
        text("chara", packed(v2())), text("ccv3", packed(v3(assets=ASSETS))), text("chara-ext-asset_:0", b"AAAA")
    ),
    "packed png": png(ztxt("chara", packed(v2())), itxt("ccv3", packed(v3()), compressed=True), animated=True),
    "charx": charx(v3(assets=ASSETS), **{"assets/main.png": png(), "module.risum": b"o\0"}),
    "stored charx": files.archive({"card.json": json.dumps(v3()), "a.bin": bytes(50)}, compression=0),
    "jpeg": files.JPEG + charx(v3()),
    "webp": files.webp(files.exif(json.dumps(v1()).encode(), in_subdirectory=True)),
    "webp numbers": files.webp(files.exif(",".join(map(str, json.dumps(v1()).encode())).encode(), order=">")),
    "byaf": byaf(),
    "json v1": json.dumps(v1()).encode(),
    "json v3": json.dumps(v3(assets=ASSETS, creation_date=1, nickname="Y")).encode(),
    "yaml": b"name: Ysolde\ncontext: |\n  Mends clocks.\ngreeting: 'Tick'\nlist: [1, {a: b}]\n",
}
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def use(data: bytes) -> None:
    """Read a file and do with it what an application would; only our own errors may come out."""
    sentence = "no error"
    with not_hanging():
        try:
            bundle = load(data)
            to_json(bundle.card, "v2")
            to_png(bundle.card)
            to_charx(bundle.card, bundle.image, bundle.assets)
            if bundle.image is not None:
                to_png(bundle.card, bundle.image)
        except TavernKitError as error:
            sentence = str(error)
    assert sentence


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randint(1, 40)]


def splice(data: bytearray, rng: random.Random) -> None:
    other = rng.choice(list(SEEDS.values()))
    start = rng.randrange(len(other))
    place = rng.randrange(len(data))
    data[place:place] = other[start : start + rng.randint(1, 400)]


def edit_length(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(max(1, len(data) - 4))
    data[place : place + 4] = struct.pack(rng.choice("<>") + "I", rng.choice(INTERESTING))


def edit_chunk_length(data: bytearray, rng: random.Random) -> None:
    places = [place for kind in (b"IHDR", b"tEXt", b"zTXt", b"iTXt", b"IDAT") if (place := data.find(kind)) >= 4]
    if places:
        place = rng.choice(places) - 4
        data[place : place + 4] = struct.pack(">I", rng.choice(INTERESTING))


def edit_zip_header(data: bytearray, rng: random.Random) -> None:
    kind, size = rng.choice(((b"PK\3\4", 30), (b"PK\1\2", 46), (b"PK\5\6", 22)))
    place = data.find(kind)
    if place >= 0:
        field = place + rng.randrange(4, size - 1)
        data[field : field + 2] = struct.pack("<H", rng.choice(INTERESTING) & 0xFFFF)


def duplicate(data: bytearray, rng: random.Random) -> None:
    start = rng.choice(
        [place for kind in (b"tEXt", b"zTXt", b"PK\1\2", b"PK\3\4", b'"') if (place := data.find(kind)) >= 0] or [0]
    )
    piece = data[max(0, start - 4) : start + rng.randint(1, 300)]
    place = rng.choice((start, len(data), rng.randrange(len(data))))
    data[place:place] = piece * rng.choice((1, 2, 50))


def change_text(data: bytearray, rng: random.Random) -> None:
    words = (b"null", b"[]", b"{}", b"1e999", b"NaN", b'"\\ud800"', b"-1", b'""', b"true", b"&a", b"*a", b"\0", b"../")
    place = rng.randrange(len(data))
    data[place : place + rng.randint(0, 12)] = rng.choice(words)


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip,
    truncate,
    remove,
    splice,
    edit_length,
    edit_chunk_length,
    edit_zip_header,
    duplicate,
    change_text,
)


def repaired(card: bytes, rng: random.Random) -> bytes:
    """Wrap a mutated card so that its container is sound, and the damage reaches the card reader."""
    wraps: tuple[Callable[[bytes], bytes], ...] = (
        lambda data: png(text("ccv3", base64.b64encode(data))),
        lambda data: png(ztxt("chara", base64.b64encode(data))),
        lambda data: files.archive({"card.json": data}),
        lambda data: data,
    )
    return rng.choice(wraps)(card)


ODD_VALUES = (
    None,
    True,
    0,
    -1,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    {"a": {}},
    [None],
    10**30,
)


def reshaped(value: Any, rng: random.Random) -> Any:
    """The same JSON with some values replaced, left out or moved: well written, and wrong."""
    if rng.random() < 0.03:
        return rng.choice(ODD_VALUES)
    if isinstance(value, dict):
        return {key: reshaped(item, rng) for key, item in value.items() if rng.random() > 0.02}
    if isinstance(value, list):
        return [reshaped(item, rng) for item in value for _ in range(rng.choice((1, 1, 1, 1, 0, 3)))]
    return value


def mutated(rng: random.Random) -> bytes:
    name = rng.choice(list(SEEDS))
    if name.startswith("json") and rng.random() < 0.7:
        return repaired(json.dumps(reshaped(json.loads(SEEDS[name]), rng)).encode(), rng)
    data = bytearray(SEEDS[name])
    for _ in range(rng.choice((1, 1, 2, 3))):
        if data:
            rng.choice(MUTATIONS)(data, rng)
    return repaired(bytes(data), rng) if name.startswith("json") else bytes(data)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_files(batch):
    for number in range(batch, INPUTS, BATCHES):
        data = mutated(random.Random(number))
        try:
            use(data)
        except BaseException as error:
            error.add_note(f"mutated file number {number}")
            raise


@given(st.binary(max_size=200))
def test_any_bytes(data):
    for start in (b"", files.SIGNATURE, b"PK\3\4", b"\xff\xd8\xff", b"{", b"name: "):
        use(start + data)


@given(st.lists(st.tuples(st.sampled_from((b"tEXt", b"zTXt", b"iTXt", b"acTL", b"IEND")), st.binary(max_size=60))))
def test_any_chunks(chunks):
    use(png(*(chunk(kind, b"ccv3\0" + content) for kind, content in chunks)))


@given(st.text(max_size=300))
def test_any_text(source):
    use(source.encode("utf-8", "surrogatepass"))


FIELDS = [
    *files.data(),
    "nickname",
    "source",
    "assets",
    "creation_date",
    "creator_notes_multilingual",
    "group_only_greetings",
]


@given(st.dictionaries(st.sampled_from(FIELDS), json_values), st.sampled_from((v2, v3, v1)))
def test_any_values_in_a_cards_fields(fields, build):
    source = build(**{**fields, "name": "Ysolde"})
    card, _ = read_card(source)
    again, _ = read_card(json.loads(to_json(card, "v3")))
    assert again.character == card.character
    assert again.unknown == card.unknown


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


def bomb_entries(count: int) -> bytes:
    entry = b"PK\1\2" + bytes(42)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 4, 0)
    return b"PK\3\4" + entry * count + end


BOMBS: dict[str, Callable[[], bytes]] = {
    "zip bomb as card": lambda: files.archive({"card.json": bytes(100_000_000)}),
    "zip bomb as picture": lambda: charx(v3(assets=ASSETS), **{"assets/main.png": bytes(100_000_000)}),
    "zip with a million files": lambda: bomb_entries(1_000_000),
    "zTXt bomb": lambda: png(ztxt("chara", bytes(100_000_000))),
    "iTXt bomb": lambda: png(itxt("ccv3", b"A" * 100_000_000, compressed=True)),
    "large card in a text chunk": lambda: png(
        ztxt(
            "chara",
            base64.b64encode(json.dumps(v3(description="\U0001f600" + "a" * 15_000_000), ensure_ascii=False).encode()),
        )
    ),
    "many chunks": lambda: png(*[chunk(b"teSt", b"")] * 2_000_000),
    "YAML aliases": lambda: (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 115))
    ),
    "deep YAML": lambda: b"name: " + deep(400_000).encode(),
    "wide YAML": lambda: b"name: [" + b"1," * 400_000 + b"]",
    "deep JSON": lambda: b'{"name":"x","description":"y","extensions":' + deep(5_000_000).encode() + b"}",
    "wide JSON": lambda: (
        b'{"name":"x","description":"y","extensions":{"a":[' + b",".join([b'{"a":1}'] * 240_000) + b"]}}"
    ),
    "wider JSON": lambda: b'{"name":"x","a":[' + b",".join([b"{}"] * 5_000_000) + b"]}",
    "many lore entries": lambda: json.dumps(v3(character_book={"entries": [{}] * 9_999})).encode(),
    "too many lore entries": lambda: json.dumps(v3(character_book={"entries": [{}] * 300_000})).encode(),
    "many assets": lambda: json.dumps(v3(assets=[{"type": "x"}] * 5_000)).encode(),
    "many bad values": lambda: json.dumps(v3(tags=[{}] * 200_000, alternate_greetings=[None] * 200_000)).encode(),
    "huge number": lambda: b'{"name":"x","a":' + b"9" * 10_000_000 + b"}",
    "long text of spaces": lambda: b" " * 60_000_000 + b"x",
    "long plain text": lambda: b"a: b\n" * 12_000_000,
    "backslashes": lambda: b'{"name":"' + b"\\\\" * 7_000_000 + b'"}',
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_defused_in_time_and_memory(name, tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[name]())
    tracemalloc.start()
    with not_hanging(), contextlib.suppress(TavernKitError):
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTES * 1_000_000
