"""Builders of RisuAI's files, written by hand here so that the readers are not tested against our own writers alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
from typing import Any

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tavernkit.risuai.files import encode_rpack

LORE = {
    "key": "tide",
    "comment": "T",
    "content": "Tides obey.",
    "mode": "normal",
    "insertorder": 10,
    "alwaysActive": False,
    "secondkey": "",
    "selective": False,
}
SCRIPT = {"comment": "", "in": "a", "out": "b", "type": "editdisplay", "ableFlag": False}
TRIGGER = {"comment": "t", "type": "start", "conditions": [], "effect": [{"type": "stop"}]}


def module(**fields: Any) -> dict[str, Any]:
    """A module as RisuAI stores it."""
    known = {"name": "Tidal", "description": "Sea rules", "id": "mod-1", "lorebook": [LORE], "regex": [SCRIPT]}
    return {**known, "trigger": [TRIGGER], **fields}


def risum(source: Any, *assets: bytes, type: str = "risuModule", end: bytes = b"\0") -> bytes:
    """A `.risum` file."""
    main = encode_rpack(json.dumps({"module": source, "type": type}, indent=2).encode())
    blocks = [b"\1" + struct.pack("<I", len(data)) + encode_rpack(data) for data in assets]
    return b"\x6f\0" + struct.pack("<I", len(main)) + main + b"".join(blocks) + end


def sealed(data: bytes, *, key: bytes = b"risupreset") -> bytes:
    """Bytes under AES-GCM, as RisuAI seals a preset."""
    return AESGCM(hashlib.sha256(key).digest()).encrypt(bytes(12), data, None)


def risupreset(preset: bytes, **fields: Any) -> bytes:
    """A `.risupreset` file around a sealed preset."""
    envelope = {"presetVersion": 2, "type": "preset", "preset": preset, **fields}
    return gzip.compress(msgspec.msgpack.encode(envelope), mtime=0)


def risup(preset: dict[str, Any]) -> bytes:
    """A `.risup` file."""
    return encode_rpack(risupreset(sealed(msgspec.msgpack.encode(preset))))
