"""Changing values in the text of JSON files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import ParseError
from tavernkit.migration.json_edit import REMOVED, EditableJson, JsonPath, edit_json
from tests.strategies import json_values, texts

SPACES = st.sampled_from(("", "", " ", "\n", "\n    ", "\t", "\r\n  "))


class Pairs(list[Any]):
    """An object as it stands in a text: with keys that may be there twice."""


documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(("a", "b", "é\ud800")) | texts, inner), max_size=4).map(Pairs)
    ),
    max_leaves=12,
)


def spelt(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """JSON in any spelling: with spaces anywhere, escapes where they are not needed, and keys that are there twice."""
    before, after = draw(SPACES), draw(SPACES)
    match value:
        case Pairs():
            members = (f"{spelt(key, draw)}:{spelt(item, draw)}" for key, item in value)
            return f"{before}{{{draw(SPACES)}{','.join(members)}}}{after}"
        case list():
            return f"{before}[{draw(SPACES)}{','.join(spelt(item, draw) for item in value)}]{after}"
        case _:
            is_ascii = draw(st.booleans()) or (isinstance(value, str) and not is_storable(value))
            return f"{before}{json.dumps(value, ensure_ascii=is_ascii)}{after}"


def is_storable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


@st.composite
def files(draw: Any) -> bytes:
    mark = "\ufeff" if draw(st.booleans()) else ""
    return (mark + spelt(draw(documents), draw)).encode()


def parsed(data: bytes) -> Any:
    return json.loads(data.decode("utf-8-sig"))


def as_read(value: Any) -> Any:
    """A value as JavaScript has it: numbers of one kind, and halves of a surrogate pair joined."""
    return json.loads(json.dumps(value), parse_int=float)


def paths(value: Any, path: JsonPath = ()) -> list[JsonPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths(item, (*path, key)))]


def changed(value: Any, path: JsonPath, new: Any) -> Any:
    """The value with something else at a path, by the plainest means."""
    if not path:
        return new
    key, *rest = path
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if new is REMOVED and not rest:
        del copy[key]
    else:
        copy[key] = changed(copy[key], tuple(rest), new)
    return copy


@given(data=files(), new=json_values, choose=st.data())
def test_an_edit_changes_the_value_at_its_path_and_no_other(data: bytes, new: Any, choose: st.DataObject) -> None:
    before = parsed(data)
    path = choose.draw(st.sampled_from(paths(before)))
    edited = edit_json(data, {path: new})
    assert as_read(parsed(edited)) == as_read(changed(before, path, new))


@given(data=files(), new=json_values, choose=st.data())
def test_an_edit_leaves_the_bytes_before_and_behind_the_value(data: bytes, new: Any, choose: st.DataObject) -> None:
    path = choose.draw(st.sampled_from(paths(parsed(data))))
    source = EditableJson(data, what="The file")
    # Of keys that are there twice, the last is meant.
    spot = {at: found for at, found in source.walk() if at == path}[path]
    behind = len(source.text) - spot.end
    edited = EditableJson(edit_json(data, {path: new}), what="The file").text
    assert edited[: spot.start] == source.text[: spot.start]
    assert edited[len(edited) - behind :] == source.text[len(source.text) - behind :]


@given(data=files(), choose=st.data())
def test_what_is_removed_is_gone_however_often_it_was_there(data: bytes, choose: st.DataObject) -> None:
    before = parsed(data)
    inner = [path for path in paths(before) if path]
    if not inner:
        return
    path = choose.draw(st.sampled_from(inner))
    assert parsed(edit_json(data, {path: REMOVED})) == changed(before, path, REMOVED)


@given(data=files(), key=texts, new=json_values, choose=st.data())
def test_a_new_member_comes_behind_the_others(data: bytes, key: str, new: Any, choose: st.DataObject) -> None:
    before = parsed(data)
    objects = [path for path in paths(before) if isinstance(at(before, path), dict) and key not in at(before, path)]
    if not objects:
        return
    path = choose.draw(st.sampled_from(objects))
    after = parsed(edit_json(data, {(*path, key, "deep"): new}))
    assert as_read(list(at(after, path).items())) == as_read([*at(before, path).items(), (key, {"deep": new})])
    assert as_read(changed(after, (*path, as_read(key)), REMOVED)) == as_read(before)


def at(value: Any, path: JsonPath) -> Any:
    for key in path:
        value = value[key]
    return value


@given(data=files())
def test_values_that_are_there_already_change_no_byte(data: bytes) -> None:
    before = parsed(data)
    for path in paths(before):
        assert edit_json(data, {path: at(before, path)}) == data


@given(data=files())
def test_every_value_of_a_file_is_found_with_its_text(data: bytes) -> None:
    source = EditableJson(data, what="The file")
    for _path, spot in source.walk():
        json.loads(source.text[spot.start : spot.end])
    assert {path for path, _ in source.walk()} >= set(paths(parsed(data)))


FILE = b"""{
    "name": "Sam",
    "personas": {
        "sam.png": "Sam"
    },
    "empty": {},
    "list": [1, 2]
}
"""


def test_new_members_are_indented_as_the_file_is() -> None:
    changes: dict[JsonPath, Any] = {
        ("personas", "kim.png"): "Kim",
        ("empty", "one"): {"two": [1]},
        ("list", 2): 3,
        ("more", "deep"): True,
    }
    assert edit_json(FILE, changes) == (
        b'{\n    "name": "Sam",\n    "personas": {\n        "sam.png": "Sam",\n        "kim.png": "Kim"\n    },\n'
        b'    "empty": {\n        "one": {\n            "two": [\n                1\n            ]\n        }\n    },\n'
        b'    "list": [1, 2, 3],\n    "more": {\n        "deep": true\n    }\n}\n'
    )


def test_removed_members_take_their_commas_along() -> None:
    changes: dict[JsonPath, Any] = {("name",): REMOVED, ("personas", "sam.png"): REMOVED, ("list",): REMOVED}
    assert edit_json(FILE, changes) == b'{\n    "personas": {},\n    "empty": {}\n}\n'


def test_a_file_in_one_line_stays_in_one_line() -> None:
    assert edit_json(b'{"a":1}', {("b",): {"c": [1, "\u00e9"]}}) == '{"a":1,"b":{"c":[1,"é"]}}'.encode()


def test_bytes_that_are_not_utf8_stay() -> None:
    assert edit_json(b'{"a": "\xff\xfe", "b": 1}', {("b",): 2}) == b'{"a": "\xff\xfe", "b": 2}'


def test_what_is_null_becomes_an_object() -> None:
    assert edit_json(b'{"a":null}', {("a", "b"): 1}) == b'{"a":{"b":1}}'


@pytest.mark.parametrize(
    "changes",
    [
        {("a", "b"): 1},
        {("list", 5): 1},
        {("list", "x"): 1},
        {(0,): 1},
        {("list",): 1, ("list", 0): 1},
        {("list", 0): 1, ("list",): 1},
        {("new", 0): 1},
    ],
)
def test_paths_that_lead_nowhere_are_errors(changes: dict[JsonPath, Any]) -> None:
    with pytest.raises(ValueError, match="path"):
        edit_json(b'{"a": 1, "list": [0]}', changes)


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1', b"\xff\xfe{\x00}\x00", b"{" * 999])
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        edit_json(data, {("a",): 1})
