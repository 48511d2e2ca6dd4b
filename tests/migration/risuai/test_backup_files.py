"""Backups that are written: RisuAI's container, with the database put together from its parts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.migration.files import SourceFile
from tavernkit.migration.risuai import open_risuai, write_backup
from tavernkit.migration.risuai.records import read_records
from tavernkit.values import Json
from tests.migration.risuai.backups import (
    ANNA,
    BRANCH,
    ENCODINGS,
    FIRST,
    backup,
    character,
    chat,
    database,
    encoded,
    message,
    record,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**52), 2**52) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
fields = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=4), values, max_size=3)
ids = st.sampled_from(["a", "b", "c", "", "ä/ö"]) | texts


def parts(**required: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    known = st.fixed_dictionaries(required)
    objects: st.SearchStrategy[Any] = st.builds(lambda known, more: {**more, **known}, known, fields)
    return st.lists(objects | st.none(), max_size=3)


chats = parts(id=ids, message=st.lists(st.fixed_dictionaries({"role": texts, "data": texts}), max_size=2))
databases = st.builds(
    lambda people, modules, presets, personas, more: {
        **more,
        "characters": people,
        "modules": modules,
        "botPresets": presets,
        "personas": personas,
    },
    parts(chaId=ids, chats=chats, type=st.sampled_from(["character", "group"])),
    parts(id=ids),
    parts(name=texts),
    parts(id=ids),
    fields,
)


def read_all(data: bytes, name: str = "backup.bin") -> dict[str, bytes]:
    """Every file of a backup."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        source = open_risuai(path)
        assert source is not None
        return {
            file.path: source.open(file.path).read()
            for file in source.files()
            if isinstance(file, SourceFile) and file.kind != "secret"
        }


def written(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    write_backup(file, files, files.__getitem__)
    return file.getvalue()


@given(databases, st.dictionaries(st.sampled_from(["x.png", "y.mp3", "inlay_z"]), st.binary(max_size=20)))
def test_reading_what_was_written_gives_the_same_files(story: dict[str, Json], files: dict[str, bytes]) -> None:
    before = read_all(backup(story, files))
    assert read_all(written(before)) == before


@given(databases, st.sampled_from(ENCODINGS))
def test_every_encoding_of_any_database_gives_the_same_files(story: dict[str, Json], encoding: str) -> None:
    found, expected = read_all(encoded(story, encoding), "database.risudat"), read_all(backup(story))
    # The order of lists that lie apart is not known in blocks.
    assert json.loads(found.pop("database.json")) == json.loads(expected.pop("database.json"))
    assert found == expected


@given(st.dictionaries(st.text("abc.", min_size=1, max_size=6), st.binary(max_size=30), max_size=5), st.data())
def test_a_container_that_is_cut_anywhere_keeps_its_whole_records(files: dict[str, bytes], data: st.DataObject) -> None:
    whole = [record(name, content) for name, content in files.items()]
    end = data.draw(st.integers(0, sum(map(len, whole))))
    index = read_records(io.BytesIO(b"".join(whole)[:end]))
    lengths = [sum(map(len, whole[: place + 1])) for place in range(len(whole))]
    kept = [name for name, length in zip(files, lengths, strict=True) if length <= end]
    assert list(index.records) == kept
    assert bool(index.cut) == (end not in (0, *lengths))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert isinstance(read_records(io.BytesIO(data)).records, dict)


STORY = database(character(ANNA, "Anna", chat(FIRST, message("Hi."))))


def test_v20_the_database_is_last_in_encoding_08_and_without_an_account() -> None:
    files = {**read_all(backup(STORY, {"x.png": b"x"})), "assets/y.png": b"y"}
    root = json.loads(files["database.json"])
    files["database.json"] = json.dumps({**root, "account": {"token": "SESAME"}, "openAIKey": "SESAME"}).encode()
    data = written(files)
    index = read_records(io.BytesIO(data))
    assert list(index.records) == ["x.png", "y.png", "database.risudat"]
    start = index.records["database.risudat"].start
    assert data[start : start + 11] == b"\0RISUSAVE\0\x08"
    assert json.loads(read_all(data)["database.json"]) == {**root, "openAIKey": ""}


def test_new_parts_are_added_and_those_that_are_gone_left_out() -> None:
    files = read_all(backup(STORY))
    files[f"chats/{ANNA}/{BRANCH}.json"] = json.dumps(chat(BRANCH, message("New."))).encode()
    files["characters/new.json"] = b'{"name":"New","chaId":"new"}'
    files["chats/new/first.json"] = json.dumps(chat("first")).encode()
    files["presets/made here.json"] = b'{"name":"Made here"}'
    del files[f"chats/{ANNA}/{FIRST}.json"]
    found = read_all(written(files))
    assert json.loads(found[f"characters/{ANNA}.json"])["chats"] == [BRANCH]
    assert json.loads(found["database.json"])["characters"] == [ANNA, "new"]
    assert json.loads(found["presets/0.json"]) == {"name": "Made here"}
    assert "chats/new/first.json" in found


def test_a_backup_without_a_database_part_is_one_without_settings() -> None:
    found = read_all(written({"characters/a.json": b'{"name":"Anna","chaId":"a"}'}))
    assert json.loads(found["database.json"]) == {"characters": ["a"]}


def test_large_numbers_are_written_as_javascript_writes_them() -> None:
    data = written({"database.json": b'{"time":1700000000123,"small":-5,"id":4294967295}'})
    assert json.loads(read_all(data)["database.json"])["time"] == 1700000000123
