"""Builders of card files, written by hand here so that the readers are not tested against our own writers alone."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def v1(**fields: Any) -> dict[str, Any]:
    card = {
        "name": "Ysolde",
        "description": "Mends clocks.",
        "personality": "exact",
        "scenario": "A shop.",
        "first_mes": "Tick.",
        "mes_example": "<START>\n{{user}}: Time?",
    }
    return {**card, **fields}


def v2(**fields: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data(**fields)}


def v3(**fields: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"group_only_greetings": [], **data(**fields)}}


def data(**fields: Any) -> dict[str, Any]:
    rest = {
        "creator_notes": "Notes",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": ["Tock."],
        "tags": ["clock"],
        "creator": "me",
        "character_version": "1.0",
        "extensions": {"vendor/x": {"a": [1, None]}},
        "character_book": {
            "name": "Lore",
            "extensions": {"b": 1},
            "entries": [
                {
                    "keys": ["gear"],
                    "content": "Brass.",
                    "extensions": {"depth": 3},
                    "enabled": True,
                    "insertion_order": 1,
                }
            ],
        },
    }
    return {**v1(), **rest, **fields}


def chunk(kind: bytes, content: bytes, *, crc: int | None = None) -> bytes:
    checksum = zlib.crc32(kind + content) if crc is None else crc
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def packed(card: Any) -> bytes:
    return base64.b64encode(json.dumps(card).encode())


def sealed(card: Any, word: bytes = b"RISU_NONE", **about: bool) -> bytes:
    """A card as RisuAI encrypts it."""
    data = AESGCM(hashlib.sha256(word).digest()).encrypt(bytes(12), json.dumps(card).encode(), None)
    parts = (base64.b64encode(data), hashlib.sha256(data).hexdigest().encode(), packed(about))
    return b"||".join((b"rcc", b"rccv1", *parts))


def text(keyword: str, payload: bytes, **options: int) -> bytes:
    return chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + payload, **options)


def ztxt(keyword: str, payload: bytes) -> bytes:
    return chunk(b"zTXt", keyword.encode() + b"\0\0" + zlib.compress(payload))


def itxt(keyword: str, payload: bytes, *, compressed: bool = False) -> bytes:
    body = zlib.compress(payload) if compressed else payload
    return chunk(b"iTXt", keyword.encode() + b"\0" + bytes([compressed, 0]) + b"en\0title\0" + body)


HEADER = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
PIXELS = chunk(b"IDAT", zlib.compress(b"\0\0"))
END = chunk(b"IEND", b"")


def png(*chunks: bytes, animated: bool = False) -> bytes:
    control = chunk(b"acTL", struct.pack(">II", 1, 0)) if animated else b""
    return SIGNATURE + HEADER + control + b"".join(chunks) + PIXELS + END


def archive(files: Mapping[str, bytes | str] | Sequence[tuple[str, bytes | str]], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pairs = files.items() if isinstance(files, Mapping) else files
    with zipfile.ZipFile(buffer, "w", **{"compression": zipfile.ZIP_DEFLATED, **options}) as zipped:
        for name, content in pairs:
            zipped.writestr(zipfile.ZipInfo(name), content, zipped.compression)
    return buffer.getvalue()


def charx(card: Any, **files: bytes) -> bytes:
    return archive({"card.json": json.dumps(card), **files})


def exif(comment: bytes, *, order: str = "<", in_subdirectory: bool = False, kind: int = 7) -> bytes:
    """EXIF data with a UserComment, among the first fields as TavernAI wrote it, or in the directory below."""
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8)
    sub = struct.pack(f"{order}HHHII", 1, 0x8769, 4, 1, 26) + b"\0" * 4 if in_subdirectory else b""
    place = 8 + len(sub) + 18
    field = struct.pack(f"{order}HHHII", 1, 0x9286, kind, len(comment), place) + b"\0" * 4
    return head + sub + field + comment


def webp(exif_data: bytes | None, *, mark: bytes = b"") -> bytes:
    chunks = [(b"VP8 ", b"\0" * 9), *([] if exif_data is None else [(b"EXIF", mark + exif_data)])]
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000") + b"\0" * 64 + b"\xff\xd9"


def byaf(**changes: Any) -> bytes:
    manifest = {
        "schemaVersion": 1,
        "createdAt": "2025-06-06T00:00:00Z",
        "characters": ["characters/c1/character.json"],
        "scenarios": ["scenarios/s1.json", "scenarios/s2.json"],
        "author": {"name": "me", "backyardURL": "https://example.invalid/me"},
    }
    character = {
        "schemaVersion": 1,
        "id": "c1",
        "name": "Ysolde",
        "displayName": "Ysolde the Exact",
        "isNSFW": False,
        "persona": "{character} mends clocks for {user}. Macro: {{user}}.",
        "loreItems": [{"key": "gear, spring", "value": "{character} loves brass."}],
        "images": [{"path": "images/a.png", "label": ""}],
    }
    first = {
        "formattingInstructions": "Speak as {character}.",
        "narrative": "A dusty shop.",
        "firstMessages": [{"characterID": "c1", "text": "Tick, {user}."}],
        "exampleMessages": [{"characterID": "c1", "text": "#{user}: Time?\n#{character}: Late."}],
        "temperature": 1.2,
        "messages": [{"type": "human", "text": "hi"}],
    }
    second = {**first, "narrative": "The roof.", "firstMessages": [{"characterID": "c1", "text": "Up here!"}]}
    files: dict[str, Any] = {
        "manifest.json": manifest,
        "characters/c1/character.json": character,
        "scenarios/s1.json": first,
        "scenarios/s2.json": second,
    }
    files = {**files, "characters/c1/images/a.png": png(), **changes}
    return archive({name: value if isinstance(value, bytes) else json.dumps(value) for name, value in files.items()})
