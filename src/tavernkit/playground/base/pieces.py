"""A JSON document in pieces that are named by their content, so that documents that are alike share most of them.

Long texts and lists are cut where their own content says so: what is put in, taken out or moved changes the pieces
around it, and no others. A piece names others in the order in which they stand in it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tavernkit.values import Json, Value

KEY_BYTES = 16
"""So much of a SHA-256 names a piece."""

LONG_TEXT = 120
LONG_LIST = 400
"""From how many characters on a text, or a list as JSON, is in pieces of its own."""

PIECE_CHARACTERS = 600
"""About how long the pieces of a text or a list are."""

MOST_NAMES = 12
NAMES = 5
"""How many pieces one names at most; more are named through others, with about so many each."""

JOINED = "$"
"""Stands, with a number, for as many of the next pieces, one after the other; keys that begin so have another."""

USUAL = (
    '"platform":"sillytavern","stages":[{"name":"duration_ms":0.0"trimming":{"strategy":"budget_tokens":"evictions":['
    '{"slot":"history","tokens":1,"reason":"budget_exceeded","group":"history","source":{"stage":"history","id":"message:'
    '"sentence":"none of its keys was found; “” was found in message 1; would match at scan depth 1",'
    '"reason":"no_key"},'
    '"probability","cooldown","warnings":[],"generation_type":"normal","temperature":"max_tokens":"stop":["options":{'
    '{"kind":"card","character":"","field":"description"}{"kind":"persona","user":"}{"kind":"template","what":"separator"}'
    '{"kind":"lore","book":"","entry":"1","name":"","cause":"key","key":"","found":{"message":1,"offset":1}}'
    '"through":[{"kind":"macro","name":"user","inside":{"kind":"preset","prompt":"main"}}]{"kind":"artifact","version":1}'
    '{"kind":"macro","name":"char","arguments":[],"inside":{"kind":"regex","script":"'
    '{"content":"","role":"system","name":null,"slot":"source":{"stage":"compilation","id":""},"lore":[],"tokens":1,'
    '"pictures":[]}{"role":"assistant","content":"'
    '{"content":{"$":1},"role":"assistant","name":null,"slot":"history","source":{"stage":"history","id":"message:1"},'
    '"lore":[],"tokens":100,"pictures":[]},{"role":"user","content":{"$":1}},{"role":"assistant","content":{"$":1}},'
    '{"role":"user","content":{"$":1},"spans":[{"text":100,"source":{"kind":"history","message":10,"swipe":1}}]},'
).encode()
"""What pieces often say, for the compression of short ones. Pieces are read with what they were kept with: it stays."""


class Piece(Value, frozen=True):
    """A part of a document: `links` are the keys of the pieces in it, `data` is its JSON, compressed."""

    links: bytes
    data: bytes


class Packed(Value, frozen=True, kw_only=True):
    """A document in pieces: the key of the whole, and the pieces by their keys."""

    root: bytes
    pieces: Mapping[bytes, Piece]


class _Written(NamedTuple):
    text: str
    links: bytes = b""


def packed(document: Json) -> Packed:
    """The document in pieces."""
    packer = _Packer()
    root = packer.kept(packer.written(document))
    return Packed(root=root, pieces=packer.pieces)


def linked(links: bytes) -> list[bytes]:
    """The keys of the pieces that a piece names."""
    return [links[at : at + KEY_BYTES] for at in range(0, len(links), KEY_BYTES)]


def unpacked(root: bytes, pieces: Mapping[bytes, Piece]) -> Json:
    """The document again; raises KeyError where a piece is missing."""
    piece = pieces[root]
    links = iter(linked(piece.links))
    return _put_together(json.loads(text_of(piece.data)), links, pieces)


def text_of(data: bytes) -> str:
    """The JSON of a piece."""
    return zlib.decompressobj(-zlib.MAX_WBITS, USUAL).decompress(data).decode("utf-8", "surrogatepass")


def _compressed(text: bytes) -> bytes:
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS, zdict=USUAL)
    return compressor.compress(text) + compressor.flush()


def _put_together(value: Json, links: Iterator[bytes], pieces: Mapping[bytes, Piece]) -> Json:
    if isinstance(value, list):
        return [_put_together(item, links, pieces) for item in value]
    if not isinstance(value, dict):
        return value
    count = value.get(JOINED)
    if isinstance(count, int):
        return _concatenated([unpacked(next(links), pieces) for _ in range(count)])
    return {
        key[1:] if key.startswith(JOINED) else key: _put_together(item, links, pieces) for key, item in value.items()
    }


def _concatenated(parts: Sequence[Json]) -> Json:
    if isinstance(parts[0], str):
        return "".join(part for part in parts if isinstance(part, str))
    return [item for part in parts if isinstance(part, list) for item in part]


class _Packer:
    def __init__(self) -> None:
        self.pieces: dict[bytes, Piece] = {}

    def kept(self, written: _Written) -> bytes:
        """The key of a new piece, or of the one that is the same."""
        data = written.text.encode("utf-8", "surrogatepass")
        key = hashlib.sha256(written.links + data).digest()[:KEY_BYTES]
        if key not in self.pieces:
            self.pieces[key] = Piece(written.links, _compressed(data))
        return key

    def written(self, value: Json) -> _Written:
        match value:
            case str() if len(value) > LONG_TEXT:
                return self._in_pieces(map(_quoted, value.splitlines(keepends=True)), _text)
            case list() | tuple():
                items = [self.written(item) for item in value]
                if sum(len(item.text) for item in items) <= LONG_LIST:
                    return _list(items)
                return self._in_pieces(items, _list)
            case Mapping():
                fields = [(_key(name), self.written(item)) for name, item in value.items()]
                text = ",".join(f"{name}:{item.text}" for name, item in fields)
                return _Written(f"{{{text}}}", b"".join(item.links for _, item in fields))
            case _:
                return _quoted(value)

    def _in_pieces(self, items: Iterable[_Written], join: Callable[[Sequence[_Written]], _Written]) -> _Written:
        keys = [self.kept(join(group)) for group in _grouped(items, lambda item: len(item.text), PIECE_CHARACTERS)]
        while len(keys) > MOST_NAMES:
            named = [_Written("", key) for key in keys]
            keys = [self.kept(_joined(group)) for group in _grouped(named, lambda _: 1, NAMES)]
        return _joined([_Written("", key) for key in keys])


def _grouped(
    items: Iterable[_Written], size_of: Callable[[_Written], int], wanted: int
) -> Iterator[Sequence[_Written]]:
    """The items in groups of about the wanted size, each of which ends where its last item says so."""
    group: list[_Written] = []
    for item in items:
        group.append(item)
        if zlib.crc32(item.text.encode("utf-8", "surrogatepass") + item.links) % wanted < size_of(item):
            yield group
            group = []
    if group:
        yield group


def _quoted(value: Json) -> _Written:
    return _Written(json.dumps(value, ensure_ascii=False))


def _key(name: str) -> str:
    return json.dumps(f"{JOINED}{name}" if name.startswith(JOINED) else name, ensure_ascii=False)


def _text(lines: Sequence[_Written]) -> _Written:
    # Each is JSON already, between quotation marks.
    return _Written(f'"{"".join(line.text[1:-1] for line in lines)}"')


def _list(items: Sequence[_Written]) -> _Written:
    return _Written(f"[{','.join(item.text for item in items)}]", b"".join(item.links for item in items))


def _joined(names: Sequence[_Written]) -> _Written:
    return _Written(f'{{"{JOINED}":{len(names)}}}', b"".join(name.links for name in names))
