"""Whole stories, from the files that a user has to what each provider is sent.

Set TAVERNKIT_UPDATE_GOLDENS=1 to write the expected prompts anew, and review them in the difference.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from tests.sillytavern.stories.folder import FOLDERS, StoryFolder
from tests.sillytavern.stories.goldens import check, explained, readable

from tavernkit.prompt.plan import Plan
from tavernkit.sillytavern.presets import ChatPreset

CHAT_DIALECTS = ("openai", "anthropic", "google", "cohere", "ai21", "mistral", "xai")
STORIES = pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.name)


@cache
def told(path: Path) -> tuple[StoryFolder, Plan]:
    folder = StoryFolder(path)
    return folder, folder.build()


@STORIES
def test_every_dialect_is_sent_what_the_story_expects(path: Path) -> None:
    folder, plan = told(path)
    prompt = plan.to_messages("text")
    assert isinstance(prompt, str)
    check(path / "expected" / "text.txt", prompt)
    if folder.is_text:
        check(path / "expected" / "stop.yaml", readable(plan.llm_options["stop"]))
        return
    for dialect in CHAT_DIALECTS:
        check(path / "expected" / f"{dialect}.yaml", readable(plan.to_messages(dialect)))


@STORIES
def test_every_block_is_explained(path: Path) -> None:
    folder, plan = told(path)
    speaker = ""
    if folder.decided is not None and folder.decided.activation is not None:
        group = folder.story().group
        assert group is not None
        speaker = " ".join(folder.decided.activation.explain(group))
    check(path / "expected" / "explained.txt", explained(plan, "gpt-4o", speaker))


@STORIES
def test_a_story_is_told_twice_in_the_same_words(path: Path) -> None:
    folder, plan = told(path)
    again = folder.build()
    assert again.blocks == plan.blocks
    assert again.fingerprint() == plan.fingerprint()


@STORIES
def test_nothing_is_noticed_but_what_a_small_budget_costs(path: Path) -> None:
    folder, plan = told(path)
    assert not folder.chat.strays
    assert {warning.code for warning in plan.warnings} <= {"trimmed", "lore_over_budget"}


def test_together_the_stories_show_every_kind_of_generation_and_every_place_of_lore() -> None:
    folders = [told(path)[0] for path in FOLDERS]
    assert {folder.facts["generation_type"] for folder in folders} == {
        "normal",
        "continue",
        "impersonate",
        "swipe",
        "regenerate",
        "quiet",
    }
    books = [json.loads(file.read_text(encoding="utf-8")) for path in FOLDERS for file in path.glob("lore/*.json")]
    assert {entry["position"] for book in books for entry in book["entries"].values()} == set(range(8))
    presets = [folder.preset for folder in folders if isinstance(folder.preset, ChatPreset)]
    assert {preset.names_behavior for preset in presets} == {-1, 0, 1, 2}
