"""What leaves: events, logs, snapshots."""

from __future__ import annotations

import json

import pytest
from tests.artifacts.builders import SESSION, artifact, plan_with, version, wanted

from tavernkit.artifacts import Anchor, Retention, Surface, log_entry, redacted, redacted_blocks, wire_form

SECRET = "The butler did it."


@pytest.mark.parametrize(
    ("visibility", "shown"), [("ui_only", True), ("prompt_and_ui", True), ("prompt_only", False), ("internal", False)]
)
def test_g22_events_carry_content_only_where_people_may_see_it(visibility: str, shown: bool) -> None:
    event = wire_form(artifact(visibility=visibility, surface=Surface.parse("panel:x")), version(2, SECRET))
    assert (SECRET in json.dumps(event)) is shown
    assert (event["tag"], event["version"], event["uiSurface"]) == ("mood", 2, "panel:x")
    if not shown:
        assert event["redacted"] == redacted(SECRET)


def test_g22_a_hash_tells_that_it_is_the_same_and_nothing_else() -> None:
    assert redacted({"b": 1, "a": 2}) == redacted({"a": 2, "b": 1})
    assert redacted(SECRET) != redacted(SECRET + "!")
    assert redacted(SECRET)["length"] == len(SECRET)


def test_r38_an_ephemeral_artifact_leaves_only_a_redacted_trace() -> None:
    thought = artifact("plan", access="run_only", retention=Retention(mode="ephemeral"), visibility="prompt_only")
    trace = log_entry(thought, None, version(1, SECRET))
    assert "butler" not in json.dumps(trace)
    assert (trace["artifact"], trace["change"], trace["length"]) == ("run.plan", "first version", len(SECRET))


def test_r47_a_log_says_what_was_written_without_writing_it_again() -> None:
    state = artifact("rpg", kind="state", content_type="json", visibility="prompt_and_ui")
    before, after = version(4, {"hp": 9, "foe": SECRET}), version(5, {"hp": 8, "foe": SECRET}, based_on_version=4)
    entry = log_entry(state, before, after)
    assert (entry["tag"], entry["kind"], entry["session"]) == ("rpg", "state", SESSION.session_id)
    assert (entry["basedOnVersion"], entry["version"], entry["change"]) == (4, 5, "1 change: /hp")
    assert "butler" not in json.dumps(entry)
    assert log_entry(state.with_(visibility="internal"), before, after)["change"] == "1 change"


def test_pitfall_03_a_snapshot_hides_the_whole_text_and_not_only_its_end() -> None:
    plan = plan_with(
        wanted("a", SECRET, mode="as_message"),
        wanted("b", f"{SECRET} Really.", operation="wrap", anchor=Anchor(selector="after_last_user")),
        wanted("c", f"{SECRET} Yes.", mode="prepend_system"),
        wanted("d", "Everybody knows.", mode="as_message", about={"visibility": "prompt_and_ui"}),
    )
    snapshot = [block.content for block in redacted_blocks(plan.enabled_blocks)]
    assert "butler" not in "".join(snapshot)
    assert "Everybody knows." in snapshot
    assert "one" in snapshot
    assert f"[{redacted(SECRET)['hash']}, {len(SECRET)} characters]" in snapshot


def test_pitfall_04_hidden_content_never_reaches_a_client() -> None:
    for hidden in ("prompt_only", "internal"):
        assert "content" not in wire_form(artifact(visibility=hidden), version(1, SECRET))
