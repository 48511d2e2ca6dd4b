import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import InvalidCardError, LoreParseError, ParseError, PresetParseError, TavernKitError
from tavernkit.characters import load, read_card
from tavernkit.chats import read_chat
from tavernkit.lore.files import read_book
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.risuai.files import load_character, read_module_book, read_module_file, read_preset_file
from tavernkit.sillytavern import read_user_settings
from tavernkit.sillytavern.errors import InvalidContextTemplateError, InvalidInstructError, InvalidPresetError
from tavernkit.sillytavern.presets import read_preset
from tavernkit.sillytavern.regex_scripts import read_regex_scripts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


def same(a: object, b: object) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


@given(values)
def test_what_json_writes_is_read_back_nan_and_lone_surrogates_included(value: object) -> None:
    assert same(parse_json(json.dumps(value), what="it"), value)
    assert same(parse_json(b"\xef\xbb\xbf" + json.dumps(value).encode(), what="it"), value)


@given(st.text() | st.binary())
def test_anything_else_is_a_parse_error_or_a_value(source: str | bytes) -> None:
    with suppress(ParseError):
        parse_json(source, what="it")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 201 + b"1" + b"}" * 201, "nested 201 levels"),
        (b"[" + b"1," * 2_000_001 + b"1]", "more than 2,000,000 values"),
        (b"1" * 5000, "number that cannot be read"),
        (b'{"a": 1', "line 1, column"),
        (b"\x00\x01", "binary"),
        (b" " * (32 * 1024 * 1024 + 1), "at most 33,554,432"),
    ],
)
def test_hostile_json_gets_a_sentence(source: bytes, complaint: str) -> None:
    with pytest.raises(ParseError, match=complaint):
        parse_json(source, what="it")


def test_brackets_inside_strings_are_no_nesting() -> None:
    text = json.dumps(["[" * 10_000, '\\"[{', "]"])
    assert parse_json(text, what="it") == ["[" * 10_000, '\\"[{', "]"]


def loose(**fields: object) -> LooseObject:
    return LooseObject(fields, ReportBuilder(), "data")


def notes(source: LooseObject) -> list[tuple[str, str]]:
    return [(note.outcome, note.path) for note in source.report.build("x").notes]


def test_right_types_are_read_without_a_note() -> None:
    source = loose(a="x", b=["y"], c=True, d=1.5, e=3, f={"g": 1}, h=[{"i": 1}])
    assert (source.text("a"), source.texts("b"), source.flag("c"), source.number("d"), source.integer("e")) == (
        "x",
        ("y",),
        True,
        1.5,
        3,
    )
    assert source.nested("f").integer("g") == 1
    assert [item.integer("i") for item in source.objects("h")] == [1]
    assert notes(source) == []
    assert source.report.build("x").is_exact


def test_other_types_are_converted_with_a_note_that_says_where() -> None:
    source = loose(a=5, b="y", c="true", d="1.5", e=2.7, f=["p", "q"])
    assert (source.text("a"), source.texts("b"), source.flag("c"), source.number("d")) == ("5", ("y",), True, 1.5)
    assert (source.integer("e"), source.text("f")) == (2, "p\nq")
    assert notes(source) == [("converted", f"data.{key}") for key in "abcdef"]


def test_what_cannot_be_converted_is_ignored_with_a_note() -> None:
    source = loose(a={}, b=5, c=[], d="x", e=math.inf, f=3, g=3, h=[4, {}], i=["x", None])
    assert (source.text("a", default="z"), source.texts("b"), source.flag("c")) == ("z", (), False)
    assert source.number("d") == 0
    assert (source.number("e", default=7), source.object("f"), source.items("g")) == (7, {}, [])
    assert [item.path for item in source.objects("h")] == ["data.h[1]"]
    assert source.texts("i") == ("x",)
    assert [path for outcome, path in notes(source) if outcome == "ignored"] == [
        *(f"data.{key}" for key in "abcdefg"),
        "data.h[0]",
        "data.i[1]",
    ]


def test_optional_fields_tell_absent_from_empty() -> None:
    source = loose(a="", b=None, c=0)
    assert (source.optional_text("a"), source.optional_text("b"), source.optional_text("z")) == ("", None, None)
    assert (source.optional_number("c"), source.optional_flag("c"), source.optional_integer("z")) == (0, False, None)
    assert (loose(d="x").optional_integer("d"), loose(d={}).optional_text("d"), loose(d=5).optional_flag("d")) == (
        None,
        None,
        None,
    )


def test_the_first_spelling_that_is_there_wins_and_the_rest_is_kept() -> None:
    source = loose(old="o", other=1)
    assert source.text("new", "old") == "o"
    assert source.rest() == {"other": 1}
    assert source.has("new", "old")


def test_a_flood_of_notes_is_cut_off_and_says_so() -> None:
    report = ReportBuilder()
    for number in range(ReportBuilder.LIMIT + 10):
        report.ignored(str(number), "x")
    built = report.build("x")
    assert len(built.notes) == ReportBuilder.LIMIT + 1
    assert "10 further" in built.notes[-1].message
    assert len(built.ignored) == len(built.notes)


def test_a_flood_of_harmless_notes_does_not_hide_what_is_broken() -> None:
    entries = {str(number): {"key": [number], "content": "Salt."} for number in range(ReportBuilder.LIMIT + 100)}
    book = {"entries": entries | {"9999": 5}}
    assert [note.path for note in read_book(book).report.broken] == ["entries[9999]"]
    with pytest.raises(LoreParseError, match=re.escape("entries[9999]")):
        read_book(book, strict=True)


class TestReaders:
    """Every reader takes a path, bytes, text or a mapping, gives a value with its report, and can be strict."""

    CARD = {"spec": "chara_card_v2", "data": {"name": "Mira", "alternate_greetings": ["Hi", {}], "extensions": {}}}
    CASES: tuple[tuple[Callable[..., Any], dict[str, Any], str, type[TavernKitError]], ...] = (
        (read_preset, {"prompts": [], "temperature": "hot"}, "temperature", InvalidPresetError),
        (read_preset, {"input_sequence": "<", "wrap": "maybe"}, "wrap", InvalidInstructError),
        (read_preset, {"story_string": "", "use_stop_strings": [1]}, "use_stop_strings", InvalidContextTemplateError),
        (read_preset, {"instruct": {"wrap": [1]}, "preset": {}}, "instruct.wrap", InvalidInstructError),
        (read_regex_scripts, {"findRegex": "a", "trimStrings": [{}]}, "trimStrings[0]", PresetParseError),
        (read_book, {"entries": {"0": {"key": ["a"]}, "1": 5}}, "entries[1]", LoreParseError),
        (
            read_book,
            {"entries": {"0": {"key": ["a"], "probability": "often"}}},
            "entries[0].probability",
            LoreParseError,
        ),
        (load, CARD, "data.alternate_greetings[1]", InvalidCardError),
        (read_card, CARD, "data.alternate_greetings[1]", InvalidCardError),
        (load_character, CARD, "data.alternate_greetings[1]", InvalidCardError),
        (read_user_settings, {"trim_sentences": "x"}, "trim_sentences", PresetParseError),
        (read_chat, {"type": "risuChat", "data": {"message": [5]}}, "data.message[0]", ParseError),
        (read_preset_file, {"mainPrompt": "", "maxContext": [1]}, "maxContext", InvalidPresetError),
        (read_module_file, {"type": "risu", "data": [5]}, "lorebook[0]", ParseError),
        (read_module_book, {"type": "risu", "data": [{"key": "a"}, 5]}, "lorebook[1]", LoreParseError),
    )

    @pytest.mark.parametrize(("read", "document", "place", "error"), CASES)
    def test_what_is_broken_is_noted_or_refused_whatever_it_is_read_from(
        self,
        read: Callable[..., Any],
        document: dict[str, Any],
        place: str,
        error: type[TavernKitError],
        tmp_path: Path,
    ) -> None:
        file = tmp_path / "file.json"
        file.write_text(json.dumps(document))
        for source in (file, str(file), file.read_bytes(), file.read_text(), document):
            report = read(source).report
            assert [note.path for note in report.broken] == [place]
            assert report.file == (str(file) if source in (file, str(file)) else "")
            with pytest.raises(error, match=re.escape(place)) as raised:
                read(source, strict=True)
            assert type(raised.value) is error

    @pytest.mark.parametrize("read", [case[0] for case in CASES])
    def test_what_cannot_be_a_file_is_a_type_error(self, read: Callable[..., Any]) -> None:
        with pytest.raises(TypeError, match="a path, bytes, text or a mapping, not a int"):
            read(5)

    @pytest.mark.parametrize(
        ("read", "pattern"),
        [
            (load, "sillytavern/stories/*/card*/*.json"),
            (load, "sillytavern/stories/*/card.json"),
            (read_preset, "sillytavern/stories/*/preset.json"),
            (read_book, "sillytavern/stories/*/lore/*.json"),
            (read_chat, "sillytavern/stories/*/history.jsonl"),
            (load_character, "characters/risuai.charx"),
        ],
    )
    def test_files_as_the_applications_write_them_are_not_refused(self, read: Callable[..., Any], pattern: str) -> None:
        files = list(Path(__file__).parent.glob(pattern))
        assert files
        for file in files:
            read(file, strict=True)

    @given(st.sampled_from(("prompts", "temperature", "prompt_order", "seed", "stream_openai", "extensions")), values)
    def test_any_preset_is_strictly_read_just_where_nothing_is_broken(self, field: str, value: object) -> None:
        refuses_what_is_broken(read_preset, {"openai_model": "m", field: value}, InvalidPresetError)

    @given(st.sampled_from(("uid", "key", "content", "order", "position", "role", "triggers", "disable")), values)
    def test_any_book_is_strictly_read_just_where_nothing_is_broken(self, field: str, value: object) -> None:
        refuses_what_is_broken(read_book, {"entries": {"0": {"key": ["a"], field: value}, "1": value}}, LoreParseError)

    @given(st.sampled_from(("tags", "description", "assets", "creation_date", "character_book", "extensions")), values)
    def test_any_card_is_strictly_read_just_where_nothing_is_broken(self, field: str, value: object) -> None:
        card = {"spec": "chara_card_v3", "data": {"name": "Mira", "description": "", field: value}}
        refuses_what_is_broken(load, card, InvalidCardError)


def refuses_what_is_broken(read: Callable[..., Any], document: object, error: type[TavernKitError]) -> None:
    broken = read(document).report.broken
    if not broken:
        read(document, strict=True)
        return
    with pytest.raises(error) as raised:
        read(document, strict=True)
    assert broken[0].path in str(raised.value)
