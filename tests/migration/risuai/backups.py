"""RisuAI's files, written as it writes them, for tests that read them."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tavernkit.values import Json, JsonObject

ANNA, GROUP = "a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000009"
FIRST, BRANCH = "c0000000-0000-4000-8000-000000000001", "c0000000-0000-4000-8000-000000000002"
PICTURE = f"{'ab' * 32}.png"
MARK = "\uef01COLDSTORAGE\uef01"


def packed(value: Json) -> bytes:
    return msgspec.msgpack.encode(value)


def block(kind: int, name: str, value: Json, *, is_packed: bool = False) -> bytes:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    data = gzip.compress(data) if is_packed else data
    return bytes([kind, is_packed, len(name.encode())]) + name.encode() + struct.pack("<I", len(data)) + data


def in_blocks(database: JsonObject, *, is_packed: bool = False) -> bytes:
    apart = ("characters", "botPresets", "modules")
    root = {key: value for key, value in database.items() if key not in apart}
    blocks = [block(1, "root", root, is_packed=is_packed)]
    for kind, name, key in ((4, "preset", "botPresets"), (5, "modules", "modules")):
        if key in database:
            blocks.append(block(kind, name, database[key], is_packed=is_packed))
    characters = database["characters"]
    assert isinstance(characters, list)
    blocks += [block(2, f"character-{place}", one, is_packed=is_packed) for place, one in enumerate(characters)]
    blocks.append(block(0, "config", {"version": 1}, is_packed=is_packed))
    return b"RISUSAVE\0" + b"".join(blocks)


def encoded(database: JsonObject, encoding: str) -> bytes:
    """A database in one of RisuAI's encodings."""
    match encoding:
        case "07":
            return b"\0RISUSAVE\0\x07" + packed(database)
        case "08" | "09":
            return b"\0RISUSAVE\0" + bytes([int(encoding)]) + gzip.compress(packed(database))
        case "blocks" | "packed blocks":
            return in_blocks(database, is_packed=encoding == "packed blocks")
        case "bare":
            return packed(database)
        case "old":
            return b"\0\0RISU" + packed(database)
        case "json":
            return zlib.compress(json.dumps(database).encode())
        case _:
            raise ValueError(encoding)


ENCODINGS = ("07", "08", "09", "blocks", "packed blocks", "bare", "old", "json")


def record(name: str, data: bytes) -> bytes:
    return struct.pack("<I", len(name.encode())) + name.encode() + struct.pack("<I", len(data)) + data


def backup(database: JsonObject, files: Mapping[str, bytes] | None = None, *, encoding: str = "08") -> bytes:
    """A `.bin` file, with the database last."""
    records = [record(name, data) for name, data in (files or {}).items()]
    return b"".join([*records, record("database.risudat", encoded(database, encoding))])


def write_backup_file(
    folder: Path, database: JsonObject, files: Mapping[str, bytes] | None = None, *, encoding: str = "08"
) -> Path:
    path = folder / "risu-backup.bin"
    path.write_bytes(backup(database, files, encoding=encoding))
    return path


def write_node_folder(folder: Path, database: JsonObject, files: Mapping[str, bytes]) -> Path:
    """The `save` folder of the Node server; files are under RisuAI's names, those of the server begin with `__`."""
    save = folder / "save"
    save.mkdir()
    for name, data in {"database/database.bin": encoded(database, "blocks"), **files}.items():
        (save / (name if name.startswith("__") else name.encode().hex())).write_bytes(data)
    return folder


def write_desktop_folder(folder: Path, database: JsonObject, files: Mapping[str, bytes]) -> Path:
    for name, data in {"database/database.bin": encoded(database, "09"), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def message(data: str, *, role: str = "char", **fields: Json) -> dict[str, Json]:
    return {"role": role, "data": data, **fields}


def chat(id: str, *messages: JsonObject, **fields: Json) -> dict[str, Json]:
    return {"message": list(messages), "note": "", "name": f"Chat {id[-1]}", "localLore": [], "id": id, **fields}


def character(id: str, name: str, *chats: JsonObject, **fields: Json) -> dict[str, Json]:
    return {
        "type": "character",
        "name": name,
        "desc": f"{name} is kind.",
        "firstMessage": f"I am {name}.",
        "alternateGreetings": ["Hello again."],
        "globalLore": [],
        "customscript": [],
        "triggerscript": [],
        "emotionImages": [],
        "chats": list(chats),
        "chatPage": 0,
        "chaId": id,
        **fields,
    }


def database(*characters: JsonObject, **fields: Json) -> dict[str, Json]:
    return {
        "username": "Mia",
        "personaPrompt": "",
        "selectedPersona": 0,
        "personas": [],
        "modules": [],
        "enabledModules": [],
        "botPresets": [],
        "botPresetsId": 0,
        "globalChatVariables": {},
        "characters": list(characters),
        **fields,
    }
