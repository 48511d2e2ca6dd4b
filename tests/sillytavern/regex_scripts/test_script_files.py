"""Scripts in files, cards and presets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.characters import Character
from tavernkit.errors import PresetParseError
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.presets import ChatPreset, read_preset
from tavernkit.sillytavern.regex_scripts import RegexScript, embedded_scripts, read_regex_scripts, write_regex_scripts

EXPORTED: dict[str, Any] = {
    "id": "7a1c0d9e-0000-4000-8000-000000000001",
    "scriptName": "Straight quotes",
    "findRegex": "/[“”]/g",
    "replaceString": '"',
    "trimStrings": [],
    "placement": [1, 2],
    "disabled": False,
    "markdownOnly": False,
    "promptOnly": True,
    "runOnEdit": True,
    "substituteRegex": 0,
    "minDepth": None,
    "maxDepth": 4,
}


def test_a_file_of_one_script() -> None:
    (script,), report = read_regex_scripts(json.dumps(EXPORTED))
    assert script.scriptName == "Straight quotes"
    assert script.placement == (1, 2)
    assert (script.minDepth, script.maxDepth) == (None, 4)
    assert script.promptOnly
    assert report.is_exact
    assert report.format == "regex_scripts"


def test_a_file_of_many_scripts() -> None:
    listed = [EXPORTED, "no script", {**EXPORTED, "scriptName": "Again"}]
    scripts, report = read_regex_scripts(json.dumps(listed).encode())
    assert [script.scriptName for script in scripts] == ["Straight quotes", "Again"]
    assert [note.path for note in report.ignored] == ["regex_scripts[1]"]


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b'"text"', b"3", b'{"prompts": []}', b"\x89PNG\x00"])
def test_a_file_that_holds_no_script_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(PresetParseError, match=r"\.$"):
        read_regex_scripts(data)


def test_scripts_of_a_card_and_of_a_preset() -> None:
    extensions = {"regex_scripts": [EXPORTED], "depth_prompt": {}}
    card = Character(name="Mira", extensions=extensions)
    preset, _ = read_preset({"prompts": [], "extensions": extensions})
    assert isinstance(preset, ChatPreset)
    assert [script.scriptName for script in embedded_scripts(card.extensions)] == ["Straight quotes"]
    assert embedded_scripts(preset.extensions) == embedded_scripts(card.extensions)
    assert embedded_scripts({}) == ()


def test_what_is_no_list_of_scripts_is_noted() -> None:
    report = ReportBuilder()
    assert embedded_scripts({"regex_scripts": "all of them"}, report) == ()
    assert [note.path for note in report.build("card").ignored] == ["extensions.regex_scripts"]


def test_a_script_that_was_made_here_has_every_field() -> None:
    (written,) = write_regex_scripts([RegexScript(scriptName="New", findRegex="/a/")])
    assert written.keys() == EXPORTED.keys()
    assert json.loads(json.dumps(written)) == written


def test_a_changed_field_is_written_anew_and_the_others_as_they_were() -> None:
    loose = {**EXPORTED, "maxDepth": "", "substituteRegex": "2", "disabled": 0, "ours": [1]}
    (script,), _ = read_regex_scripts(json.dumps(loose))
    assert write_regex_scripts([script.with_(disabled=True)]) == [{**loose, "disabled": True}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*EXPORTED, "other"]), JSON))
def test_whatever_stands_in_a_script_is_read_and_written_back(fields: dict[str, Any]) -> None:
    (script,) = embedded_scripts({"regex_scripts": [fields]})
    assert write_regex_scripts([script]) == [fields]
