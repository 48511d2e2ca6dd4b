"""Recorded imports of card files, read and written again by us.

Compared are the fields of the card as the application stored it; what it adds of its own (favourite, talkativeness,
world, depth prompt, dates) is not. What the file had in `extensions` must still be there. Where the application drops
a field that the file had, keeping it counts as agreement; where it refuses a file, we may read it or refuse it.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping

from tavernkit.characters import Bundle, CharacterCard, load, read_card, to_charx, to_json, to_png
from tavernkit.characters.encode import write_data
from tavernkit.characters.png_chunks import make_chunk
from tavernkit.conformance.vectors import Case, Outcome
from tavernkit.errors import TavernKitError
from tavernkit.values import Json

EMPTY: tuple[Json, ...] = (None, "", [], {})


def check(case: Case) -> Outcome:
    """What was recorded for the case, and what we make of its file, before and after writing it in every format."""
    recorded = case["expected"]
    stored = (recorded.get("loaded") or {}).get("data")
    if not isinstance(stored, Mapping):
        return "read, or refused with an error of ours", _read_or_refuse(case)
    given = _given_card(case)
    bundle = load(_file(case))
    expected = _expected(stored, given)
    actual = {
        "read": _fields(bundle, expected),
        **{name: _fields(load(file), expected) for name, file in _exports(bundle).items()},
    }
    return dict.fromkeys(actual, expected), actual


def _read_or_refuse(case: Case) -> str:
    with contextlib.suppress(TavernKitError):
        load(_file(case))
    return "read, or refused with an error of ours"


def _file(case: Case) -> bytes:
    """The file that the case describes; archives are given as base64, or as the card that is in them."""
    kind, given = case["kind"], case["input"]
    if kind == "png":
        return _png(given)
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass") if kind in ("json", "yaml") else base64.b64decode(given)
    text = json.dumps(given).encode()
    return _archive(text) if kind == "charx" else text


def _archive(card: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("card.json", card)
    return buffer.getvalue()


def _png(chunks: Iterable[tuple[str, Json]]) -> bytes:
    """A picture of one pixel with these text chunks: an object is written as base64 JSON, a text as it is."""
    blank = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
    )
    texts = [make_chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + _payload(value)) for keyword, value in chunks]
    return blank[:-12] + b"".join(texts) + blank[-12:]


def _payload(value: Json) -> bytes:
    return value.encode() if isinstance(value, str) else base64.b64encode(json.dumps(value).encode())


def _given_card(case: Case) -> Case:
    """The card inside the file, as far as it can be seen without reading the file."""
    given = case["input"]
    if case["kind"] == "png":
        texts = [(str(keyword).lower(), value) for keyword, value in given]
        for wanted in ("ccv3", "chara"):
            card = next((value for keyword, value in texts if keyword == wanted), None)
            if isinstance(card, Mapping):
                return card
        return {}
    return given if isinstance(given, Mapping) else {}


def _expected(stored: Case, given: Case) -> dict[str, Json]:
    data = given["data"] if isinstance(given.get("data"), Mapping) else given
    extensions = data.get("extensions")
    dropped = {key for key, value in stored.items() if value in EMPTY and data.get(key) not in EMPTY}
    typed = _data(read_card({"spec": "chara_card_v3", "data": {"name": "-", **stored}})[0])
    fields = {
        # The application stores values of a wrong type as they are; we compare what they mean.
        key: value if type(value) is type(typed.get(key)) or value in EMPTY else typed.get(key)
        for key, value in stored.items()
        if key != "extensions" and key not in dropped
    }
    return {**fields, "extensions": dict(extensions) if isinstance(extensions, Mapping) else {}}


def _fields(bundle: Bundle, expected: Case) -> dict[str, Json]:
    """Our card's fields, as far as the recording has them."""
    data = _data(bundle.card)
    fields = {key: _like(data.get(key), value) for key, value in expected.items() if key != "extensions"}
    if "name" in fields and _file_name(fields["name"]) == expected["name"]:
        fields["name"] = expected["name"]
    kept = {key: data["extensions"].get(key) for key in expected["extensions"]}
    return {**fields, "extensions": kept}


def _data(card: CharacterCard) -> Case:
    return write_data(card.character, "v3")


def _like(ours: Json, recorded: Json) -> Json:
    """A missing value of ours and an empty one of the recording, or the reverse, are the same."""
    return recorded if ours in EMPTY and recorded in EMPTY else ours


def _file_name(name: Json) -> str:
    """A name as the application stores it for version 1 cards, where it becomes a file's name."""
    return re.sub(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]', "", str(name)).rstrip(". ")


def _exports(bundle: Bundle) -> dict[str, bytes]:
    return {
        "json v2": to_json(bundle.card, "v2").encode(),
        "json v3": to_json(bundle.card, "v3").encode(),
        "png": to_png(bundle.card, bundle.image),
        "charx": to_charx(bundle.card),
    }
