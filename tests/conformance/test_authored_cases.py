"""Cases of kinds that the recorded files have no open example of, written from the facts and replayed like those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tavernkit.conformance import read_vectors, run_file

MUSE = {
    "prefix": "<muse>",
    "suffix": "</muse>",
    "separator": "\n",
    "auto_parse": True,
    "add_to_prompts": True,
    "max_additions": 1,
}
NO_LORE: dict[str, Any] = {
    "worldInfoBefore": "",
    "worldInfoAfter": "",
    "depth_entries": [],
    "examples": [],
    "an_before": [],
    "an_after": [],
    "outlets": {},
    "timed_effects_after": {"sticky": {}, "cooldown": {}},
    "local_vars_after": {},
}


def assert_agrees(folder: Path, kind: str, **case: Any) -> None:
    path = folder / f"{kind}.json"
    path.write_text(json.dumps({"source": "SillyTavern", "group": kind, "cases": [{"id": "one", **case}]}))
    result = run_file(read_vectors(path))
    assert (result.total, result.failures) == (1, ())


def test_a_hidden_message_is_not_sent_and_its_thought_takes_nobodys_place(tmp_path: Path) -> None:
    chat = [
        {"is_user": False, "mes": "seen", "extra": {"reasoning": "visible thought"}},
        {"is_user": False, "is_system": True, "mes": "unseen", "extra": {"reasoning": "hidden thought"}},
        {"is_user": True, "mes": "go on"},
    ]
    sent = [
        {"role": "assistant", "content": "<muse>visible thought</muse>\nseen"},
        {"role": "user", "content": "go on"},
    ]
    assert_agrees(
        tmp_path,
        "reasoning",
        group="prompt",
        user="Orrin",
        char="Vesper",
        reasoning_settings=MUSE,
        chat=chat,
        type="normal",
        expected={"history_messages": sent},
    )


def test_a_depth_that_is_given_as_text_is_no_depth(tmp_path: Path) -> None:
    script = {"findRegex": "/a/g", "replaceString": "X", "placement": [2], "minDepth": "2", "maxDepth": 3}
    for depth, expected in ((1, "aba"), (2, "XbX"), ("1", "XbX"), ("9", "XbX"), (True, "XbX"), (None, "XbX")):
        assert_agrees(
            tmp_path,
            "regex_scripts",
            env={"user": "Orrin", "char": "Vesper"},
            call="getRegexedString",
            scripts={"global": [script], "preset": [], "scoped": []},
            allowed={"preset": True, "scoped": True},
            text="aba",
            placement=2,
            params={"depth": depth},
            expected=expected,
        )


def test_a_world_info_entry_whose_depth_is_null_keeps_it(tmp_path: Path) -> None:
    entries = [
        {"uid": 0, "key": ["gull"], "content": "null", "position": 4, "depth": None, "order": 200},
        {"uid": 1, "key": ["gull"], "content": "four", "position": 4},
        {"uid": 2, "key": ["gull"], "content": "after four", "position": 4, "depth": None, "order": 50},
    ]
    depths = [
        {"depth": None, "entries": ["null"], "role": 0},
        {"depth": 4, "entries": ["after four", "four"], "role": 0},
    ]
    assert_agrees(
        tmp_path,
        "world_info",
        max_context=4096,
        books=[{"name": "B", "scope": "global", "entries": entries}],
        chat=["a gull"],
        context={},
        expected={**NO_LORE, "activated": ["B.0", "B.1", "B.2"], "depth_entries": depths},
    )


def test_a_world_info_entry_is_activated_from_outside_unless_something_keeps_it_out(tmp_path: Path) -> None:
    entries = [
        {"uid": 0, "key": ["nowhere"], "content": "forced"},
        {"uid": 1, "key": [], "content": "without keys"},
        {"uid": 2, "key": ["nowhere"], "content": "disabled", "disable": True},
        {"uid": 3, "key": ["nowhere"], "content": "@@dont_activate\nkept out"},
        {"uid": 4, "key": ["nowhere"], "content": "not forced"},
    ]
    names = [f"B.{uid}" for uid in range(4)]
    for given in (names, [{"world": "B", "uid": uid} for uid in range(4)]):
        assert_agrees(
            tmp_path,
            "world_info",
            max_context=4096,
            books=[{"name": "B", "scope": "global", "entries": entries}],
            chat=["a gull"],
            context={"external_activations": given},
            expected={**NO_LORE, "activated": ["B.0", "B.1"], "worldInfoBefore": "without keys\nforced"},
        )
