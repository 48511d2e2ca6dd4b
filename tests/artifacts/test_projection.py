"""What the page shows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.artifacts.builders import NOW, inclusion, plan_with, record, said, version

from tavernkit.artifacts import (
    Artifact,
    ArtifactView,
    Presentation,
    Projection,
    Surface,
    project,
    project_all,
    session_artifacts,
)
from tavernkit.errors import InvalidArtifactError

VERSIONS = tuple(version(number, {"hp": number}) for number in range(1, 5))


def view(surface: str | None, **fields: Any) -> ArtifactView:
    about = {"visibility": "ui_only", "surface": None if surface is None else Surface.parse(surface), **fields}
    return session_artifacts([record(*VERSIONS, **about)], now=NOW, turn=0)[str(about.get("tag", "mood"))]


def shown(surface: str, **fields: Any) -> Projection:
    projection = project(view(surface, **fields))
    assert projection is not None
    return projection


def test_r1_one_kind_of_thing_covers_prompt_page_and_both() -> None:
    rules = inclusion(mode="as_message", format="json")
    for visibility, in_prompt, on_page in (
        ("prompt_only", True, False),
        ("ui_only", False, True),
        ("prompt_and_ui", True, True),
        ("internal", False, False),
    ):
        about = {"visibility": visibility, "inclusion": rules, "surface": Surface.parse("panel:x")}
        session = session_artifacts([record(*VERSIONS, **about)], now=NOW, turn=0)
        assert ('{"hp":4}' in said(plan_with(*session.candidates()))) is in_prompt
        assert (project(session["mood"]) is not None) is on_page


def test_r2_what_stands_in_the_chat_is_a_projection_of_artifacts() -> None:
    everything = project_all([view("chat_history"), view("panel:a"), view("chat_history", tag="other")])
    assert [item.artifact.tag for item in everything["chat_history"]] == ["mood", "other"]
    assert set(everything) == {"chat_history", "panel:a"}


@pytest.mark.parametrize("surface", ["panel:rpg", "overlay:map", "chat_history"])
def test_r43_panels_show_the_latest_only(surface: str) -> None:
    projection = shown(surface)
    assert [(item.version.version, item.is_current) for item in projection.items] == [(4, True)]


def test_r43_a_feed_is_a_timeline() -> None:
    projection = shown("feed:comments")
    assert [(item.version.version, item.is_current) for item in projection.items] == [
        (1, False), (2, False), (3, False), (4, True),
    ]  # fmt: skip


def test_r43_in_the_chat_it_is_an_item_if_the_model_sees_it_and_else_a_block() -> None:
    assert shown("chat_history", visibility="prompt_and_ui").chat_form == "item"
    assert shown("chat_history", visibility="ui_only").chat_form == "block"
    assert shown("panel:x").chat_form is None


def test_r43_what_has_no_surface_is_not_shown() -> None:
    assert project(view(None)) is None
    assert project(view("internal")) is None


def test_r44_the_presentation_can_be_chosen() -> None:
    timeline = shown("panel:x", presentation=Presentation(mode="timeline", max_items=2))
    assert [item.version.version for item in timeline.items] == [3, 4]
    latest = shown("feed:x", presentation=Presentation(mode="latest_only"))
    assert [item.version.version for item in latest.items] == [4]
    (changed,) = shown("panel:x", presentation=Presentation(mode="diff")).items
    assert changed.change is not None
    assert changed.change.patch == ({"op": "replace", "path": "/hp", "value": 4},)


@pytest.mark.parametrize("wrong", [{"mode": "diff", "max_items": 3}, {"mode": "timeline", "max_items": 0}])
def test_r44_a_limit_is_for_timelines(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArtifactError):
        Presentation(**wrong)


def test_r45_stats_show_the_latest_tell_the_latest_and_can_be_worked_out_from_history() -> None:
    about: dict[str, Any] = {
        "visibility": "prompt_and_ui",
        "surface": Surface.parse("panel:stats"),
        "inclusion": inclusion(mode="as_message"),
    }
    session = session_artifacts([record(*VERSIONS, **about)], now=NOW, turn=0)
    projection = project(session["mood"])
    assert projection is not None
    assert [item.version.content for item in projection.items] == [{"hp": 4}]
    assert said(plan_with(*session.candidates()))[-1] == '{"hp":4}'
    assert session["mood"].history == [{"hp": 1}, {"hp": 2}, {"hp": 3}]


def test_a_projection_changes_no_data() -> None:
    seen: Artifact = view("panel:x").artifact
    assert shown("panel:x").artifact == seen
