"""What an artifact is: its fields, its two axes, its name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import NOW, SESSION, artifact, inclusion, read_field, read_inclusion, version, written

from tavernkit.artifacts import (
    Anchor,
    Artifact,
    ArtifactVersion,
    Presentation,
    Retention,
    Surface,
    VersionSelector,
    check_tag,
    parse_content,
    read_artifact,
    write_artifact,
)
from tavernkit.errors import InvalidArtifactError
from tavernkit.reading import ReportBuilder


def read(**source: object) -> Artifact:
    return read_artifact(source, SESSION, ReportBuilder(), id="new")


VISIBILITIES = ["prompt_only", "ui_only", "prompt_and_ui", "internal"]
SURFACES = ["chat_history", "panel:rpg_state", "feed:commentary", "overlay:map", "internal", None]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_r3_visibility_and_surface_are_independent(visibility: str, surface: str | None) -> None:
    made = read(tag="x", visibility=visibility, uiSurface=surface)
    assert made.visibility == visibility
    assert (None if made.surface is None else str(made.surface)) == surface


@pytest.mark.parametrize(
    "wrong", ["panel", "panel:", "panel:a b", "sidebar:x", "internal:x", "chat_history:1", "feed:../x"]
)
def test_r3_a_surface_that_does_not_exist_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidArtifactError):
        Surface.parse(wrong)


def test_r3_a_visibility_outside_the_four_is_refused() -> None:
    with pytest.raises(InvalidArtifactError, match="visibility is 'both'; it must be one of internal, prompt_and_ui"):
        read(tag="x", visibility="both")


THINKING = {
    "visibility": "prompt_only",
    "uiSurface": "internal",
    "retention": "ephemeral",
    "promptInclusion": {"mode": "append_after_last_user"},
}
RPG_STATE = {
    "tag": "rpg_state",
    "kind": "state",
    "contentType": "json",
    "visibility": "prompt_and_ui",
    "uiSurface": "panel:rpg_state",
    "retentionPolicyJson": {"mode": "durable"},
    "promptInclusionJson": {"mode": "prepend_system", "format": "json"},
}
COMMENTATORS = {
    "tag": "commentary",
    "kind": "commentary",
    "visibility": "ui_only",
    "uiSurface": "feed:commentary",
    "retention": {"mode": "ttl", "ttlSeconds": 3600},
}
GM_NOTE = {
    "tag": "gm_note",
    "visibility": "prompt_and_ui",
    "uiSurface": "chat_history",
    "promptInclusion": {"mode": "as_message"},
}


def test_r5_the_four_cases_of_the_design_can_be_said() -> None:
    thinking, state, comments, note = (read(**source) for source in (THINKING, RPG_STATE, COMMENTATORS, GM_NOTE))
    assert (thinking.access, thinking.tag, thinking.retention.mode) == ("run_only", None, "ephemeral")
    assert (state.access, str(state.surface), state.retention) == ("persisted", "panel:rpg_state", Retention())
    assert (comments.inclusion, comments.retention) == (None, Retention(mode="windowed", ttl_seconds=3600))
    assert note.inclusion == inclusion(mode="as_message")


def test_r22_reasoning_is_for_people_unless_it_says_more() -> None:
    assert read(tag="thoughts", kind="reasoning").visibility == "ui_only"


def test_r23_every_field_is_read_in_both_spellings_and_written_back() -> None:
    snake = {
        "id": "a1",
        "tag": "rpg_state",
        "kind": "state",
        "access": "persisted",
        "visibility": "prompt_and_ui",
        "ui_surface": "panel:rpg_state",
        "content_type": "json",
        "prompt_inclusion": {"mode": "as_message", "depth_policy": "clamp_to_oldest_kept", "role": "system",
                             "version_selector": {"mode": "last_n", "n": 3}, "anchor": "after_message_id:m7"},
        "retention": {"mode": "windowed", "max_versions": 5, "max_turns": 9, "ttl_seconds": 60},
        "ui_presentation": {"mode": "timeline", "max_items": 7},
    }  # fmt: skip
    made = read(**snake)
    assert made.inclusion is not None
    assert made.inclusion.versions == VersionSelector(mode="last_n", n=3)
    assert made.presentation == Presentation(mode="timeline", max_items=7)
    report = ReportBuilder()
    assert read_artifact(write_artifact(made), SESSION, report) == made
    assert report.build("artifact").is_exact


def test_r23_a_field_that_nobody_knows_is_noted() -> None:
    report = ReportBuilder()
    read_artifact({"tag": "x", "colour": "red", "promptInclusion": {"mode": "none", "zeal": 1}}, SESSION, report)
    assert [note.path for note in report.build("artifact").ignored] == ["colour", "promptInclusion.zeal"]


def test_r23_a_field_inside_a_field_is_noted_at_its_place() -> None:
    report = ReportBuilder()
    anchor = {"type": "relative_to_end", "offset": -1, "rolefilter": "user"}
    inclusion = {"anchor": anchor, "versionSelector": {"mode": "last_n", "n": 2, "newest": True}}
    shown = {"mode": "timeline", "maxItems": "many"}
    read_artifact({"tag": "x", "promptInclusion": inclusion, "uiPresentation": shown}, SESSION, report)
    assert {note.path: note.message for note in report.build("artifact").ignored} == {
        "promptInclusion.anchor.rolefilter": "unknown field, not used",
        "promptInclusion.versionSelector.newest": "unknown field, not used",
        "uiPresentation.maxItems": "expected a number, found text",
    }


def test_r23_a_word_that_is_no_word_is_refused_however_deep_it_is() -> None:
    deep: object = "both"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidArtifactError, match="visibility is a list; it must be one of internal, prompt_and_ui"):
        read(tag="x", visibility=deep)


@pytest.mark.parametrize(
    "broken",
    [{"version": 0}, {"created_at": datetime(2026, 1, 1)}, {"content": 5, "content_type": "text"}],  # noqa: DTZ001 - without a zone
)
def test_r23_a_broken_version_is_refused_with_a_sentence(broken: dict[str, Any]) -> None:
    usual = {"version": 1, "content": "x", "created_at": NOW}
    with pytest.raises(InvalidArtifactError) as refused:
        ArtifactVersion(**{**usual, **broken})
    assert len(str(refused.value).split()) > 4


def test_r23_a_presentation_needs_a_mode_and_a_merge_needs_json() -> None:
    with pytest.raises(InvalidArtifactError, match="needs a mode"):
        read(tag="x", uiPresentation={"maxItems": 3})
    with pytest.raises(InvalidArtifactError, match="Make its content JSON"):
        read(tag="x", promptInclusion={"operation": "merge_section", "section": "s", "format": "json"})


def test_r24_only_what_is_persisted_must_have_a_tag() -> None:
    with pytest.raises(InvalidArtifactError, match="needs a tag"):
        read(kind="state")
    assert read(access="run_only").tag is None
    with pytest.raises(InvalidArtifactError, match="no key"):
        _ = read(access="run_only").key


def test_r24_what_lives_for_one_run_cannot_be_persisted() -> None:
    with pytest.raises(InvalidArtifactError, match="persisted and ephemeral"):
        read(tag="x", access="persisted", retention="ephemeral")


def test_r25_kind_surface_and_visibility_are_not_part_of_the_key() -> None:
    one = artifact(kind="state", visibility="ui_only")
    other = artifact(kind="stats", visibility="internal", surface=Surface.parse("panel:x"), id="other")
    assert one.key == other.key


def read_retention(value: object) -> Retention:
    return read_field("retention", value).retention


@pytest.mark.parametrize("retention", ["overwrite", {"mode": "overwrite"}, {"maxVersions": 1}])
def test_r37_overwrite_is_a_window_of_one(retention: object) -> None:
    assert read_retention(retention) == Retention(mode="windowed", max_versions=1)


def test_r37_append_is_bounded_by_count_time_or_both() -> None:
    assert read_retention({"mode": "append"}) == Retention(mode="durable")
    assert read_retention({"mode": "append", "maxVersions": 3}) == Retention(mode="windowed", max_versions=3)
    both = read_retention({"mode": "append", "maxVersions": 3, "ttl": 3600})
    assert both == Retention(mode="windowed", max_versions=3, ttl_seconds=3600)
    assert read_retention(written(artifact(retention=both))["retention"]) == both
    turns = Retention(mode="windowed", max_turns=2)
    assert read_retention(written(artifact(retention=turns))["retention"]) == turns


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "windowed"},
        {"mode": "ttl"},
        {"mode": "forever"},
        {"mode": "windowed", "maxVersions": 0},
        {"mode": "windowed", "ttlSeconds": -1},
        {"mode": "ephemeral", "maxVersions": 3},
        {"mode": "overwrite", "maxVersions": 3},
        {"mode": "overwrite", "ttlSeconds": 60},
        {"mode": "ttl", "ttlSeconds": 1e300},
        {"mode": "ttl", "ttlSeconds": -1e300},
        {"mode": "ttl", "ttlSeconds": 1e-9},
        {"mode": "windowed", "maxTurns": 0},
        7,
    ],
)
def test_r37_a_policy_that_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArtifactError):
        read_retention(wrong)


@pytest.mark.parametrize("tag", ["a", "rpg_state", "x9", "a" + "b" * 63])
def test_g20_a_tag_is_one_plain_word(tag: str) -> None:
    assert check_tag(tag) == tag


ODD = ["", "A", "9a", "_a", "a.b", "a-b", "é", "a b", "a" * 65, "a\n", "tk_anything"]
LOOK_ALIKES = ["m\u043eod", "\uff41", "a\u0664", "a\u200b"]


@pytest.mark.parametrize("tag", [*ODD, *LOOK_ALIKES])
def test_g20_anything_else_is_none(tag: str) -> None:
    with pytest.raises(InvalidArtifactError):
        check_tag(tag)


def test_pitfall_06_json_that_a_model_wrote_becomes_values() -> None:
    assert parse_content('{"hp": 3}', "json") == {"hp": 3}
    assert parse_content('{"hp": 3}', "text") == '{"hp": 3}'
    for broken in ("{", '{"hp": NaN}', ""):
        with pytest.raises(InvalidArtifactError):
            parse_content(broken, "json")


def test_content_must_be_of_its_type() -> None:
    with pytest.raises(InvalidArtifactError, match="holds text, not an object"):
        version(1, {"a": 1}, content_type="text")
    for odd in (float("nan"), {"a": [float("-inf")]}, {1: "a"}, {"a": {1, 2}}):
        with pytest.raises(InvalidArtifactError, match="not JSON"):
            version(1, {"a": odd})


@pytest.mark.parametrize("levels", [199, 201, 900, 50_000])
def test_content_is_no_deeper_than_it_could_be_read_again(levels: int) -> None:
    deep: object = "x"
    for level in range(levels):
        deep = [deep] if level % 2 else {"a": deep}
    if levels < 200:
        assert version(1, deep, content_type="json").content == deep
    else:
        with pytest.raises(InvalidArtifactError, match="more than 200 levels deep"):
            version(1, deep, content_type="json")


anchors = st.one_of(
    st.sampled_from([Anchor(selector="after_last_user"), Anchor(selector="before_last_assistant")]),
    st.builds(
        lambda id: Anchor(selector="after_message_id", message_id=id),
        st.text("abc:,()= 0-", min_size=1, max_size=12).filter(lambda id: id == id.strip()),
    ),
    st.builds(
        lambda offset, role: Anchor(selector="relative_to_end", offset=offset, role_filter=role),
        st.integers(-9, -1),
        st.sampled_from(["any", "user", "assistant"]),
    ),
)
all_anchors = anchors | st.builds(
    lambda base, offset: Anchor(selector="relative_to_anchor", base=base, offset=offset), anchors, st.integers(-9, 0)
)


@given(all_anchors)
def test_r14_every_anchor_is_read_as_it_is_written(anchor: Anchor) -> None:
    assert Anchor.parse(str(anchor)) == anchor
    read_back = read_inclusion(written(artifact(inclusion=inclusion(anchor=anchor)))["promptInclusion"])
    assert read_back is not None
    assert read_back.anchor == anchor
