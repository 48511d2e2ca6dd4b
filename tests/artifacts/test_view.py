"""The session as steps and templates see it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.artifacts.builders import HOUR, NOW, SESSION, artifact, inclusion, plan_with, record, said, version, write

from tavernkit.artifacts import (
    Artifact,
    ArtifactRecord,
    MemoryStore,
    Retention,
    RunArtifact,
    SessionArtifacts,
    Writer,
    session_artifacts,
)


def view_of(*records: ArtifactRecord, **how: Any) -> SessionArtifacts:
    given: dict[str, Any] = {"now": NOW, "turn": 9, **how}
    return session_artifacts(records, **given)


STATES = tuple(version(number, {"day": number}, turn=number, turn_id=f"t{number}") for number in (1, 2, 3))


def test_r28_the_shape_of_art() -> None:
    art = view_of(record(*STATES)).art()
    assert art["mood"]["value"] == {"day": 3}
    assert art["mood"]["history"] == [{"day": 1}, {"day": 2}]
    assert art["mood"]["meta"]["version"] == 3


def test_r28_text_is_a_text_and_json_its_value() -> None:
    art = view_of(record(version(1, "calm")), record(version(1, [1, 2]), tag="list")).art()
    assert (art["mood"]["value"], art["list"]["value"]) == ("calm", [1, 2])


def test_r28_what_was_never_written_is_not_there() -> None:
    view = view_of(record())
    assert view.art() == {}
    assert "mood" not in view
    assert view.base_version("mood") is None


def test_r30_every_step_reads_all_of_the_session() -> None:
    records = [record(version(), tag="a", owner="one", visibility="internal"), record(version(), tag="b", owner="two")]
    assert set(view_of(*records).art()) == {"a", "b"}


def test_r33_a_state_is_an_artifact_of_kind_state() -> None:
    state = view_of(record(*STATES, kind="state", visibility="prompt_and_ui"))["mood"]
    assert (state.meta["kind"], state.artifact.content_type) == ("state", "json")


def test_r34_a_step_knows_the_version_it_has_read() -> None:
    view = view_of(record(*STATES))
    assert (view["mood"].current.version, view.base_version("mood")) == (3, 3)
    assert view["mood"].meta["basedOnVersion"] is None


def test_g12_history_runs_from_the_oldest_so_that_its_last_is_the_previous_value() -> None:
    view = view_of(record(*STATES))["mood"]
    assert view.history[-1] == {"day": 2}
    assert view.previous is not None
    assert view.previous.content == {"day": 2}


def test_g17_a_regeneration_reads_the_state_before_its_turn() -> None:
    view = view_of(record(*STATES), before_turn=3)
    assert (view["mood"].value, view["mood"].history) == ({"day": 2}, [{"day": 1}])
    assert view.base_version("mood") == view["mood"].head_version == 3, "a write is still based on the latest"
    assert view_of(record(*STATES), before_turn=1).art() == {}


@pytest.mark.anyio
@pytest.mark.parametrize("retention", [
    Retention(), Retention(mode="windowed", max_versions=1), Retention(mode="windowed", max_versions=2),
    Retention(mode="windowed", max_turns=2),
])  # fmt: skip
async def test_g17_it_reads_exactly_what_the_turn_has_read_at_first(retention: Retention) -> None:
    store = MemoryStore()
    seen = {}
    for turn in range(1, 5):
        before = session_artifacts(await store.load(SESSION), now=NOW, turn=turn)
        seen[turn] = before.art()
        await store.write(write(f"day {turn}", before.base_version("mood"), turn=turn, retention=retention))
    for turn in range(1, 5):
        again = session_artifacts(
            await store.load(SESSION), now=NOW, turn=turn, before_turn=turn, archives=await store.archives(SESSION)
        )
        assert again.art() == seen[turn]


@pytest.mark.anyio
async def test_g17_a_regenerated_state_does_not_tick_twice() -> None:
    store = MemoryStore()
    await store.write(write({"clock": 1}, turn=1, turn_id="t1", variant_id="a"))
    for variant in ("a", "b", "c"):
        archives = await store.archives(SESSION)
        view = session_artifacts(await store.load(SESSION), now=NOW, turn=2, before_turn=2, archives=archives)
        ticked = {"clock": view["mood"].value["clock"] + 1}
        base = view.base_version("mood")
        overwrite = Retention(mode="windowed", max_versions=1)
        await store.write(write(ticked, base, turn=2, turn_id="t2", variant_id=variant, retention=overwrite))
    record = await store.get(SESSION, "mood")
    assert record is not None
    assert (record.latest_version, record.versions[-1].content) == (4, {"clock": 2})


@pytest.mark.anyio
async def test_g17_the_state_follows_the_chosen_swipe() -> None:
    store = MemoryStore()
    overwrite = Retention(mode="windowed", max_versions=1)
    await store.write(write("left", turn=1, turn_id="t1", variant_id="a", retention=overwrite))
    await store.write(write("right", 1, turn=1, turn_id="t1", variant_id="b", retention=overwrite))
    archives = await store.archives(SESSION)
    for variant, value in (("a", "left"), ("b", "right")):
        path = {"t1": variant}
        view = session_artifacts(await store.load(SESSION), now=NOW, turn=2, path=path, archives=archives)
        assert view["mood"].value == value
    elsewhere = session_artifacts(await store.load(SESSION), now=NOW, turn=2, path={}, archives=archives)
    assert "mood" not in elsewhere, "a branch without that turn has not got its state"


@pytest.mark.anyio
async def test_g17_what_was_reset_is_gone_from_every_view() -> None:
    store = MemoryStore()
    await store.write(write("old", turn=1))
    await store.reset(SESSION, ["mood"], now=NOW)
    archives = await store.archives(SESSION)
    assert session_artifacts(await store.load(SESSION), now=NOW, turn=2, before_turn=2, archives=archives).art() == {}


def made(tag: str | None, content: object, **fields: object) -> RunArtifact:
    usual: dict[str, object] = {"access": "run_only", "id": f"run-{tag}-{content}"}
    return RunArtifact(artifact=artifact(tag, **{**usual, **fields}), version=version(1, content))


def test_g19_what_lives_in_the_run_is_read_as_run_and_never_as_art() -> None:
    view = view_of(record(version(1, "stored"))).with_run(
        made("mood", "of this run"), made("is_combat", False), made(None, "x")
    )
    assert view.art()["mood"]["value"] == "stored"
    assert view.run_values() == {"mood": "of this run", "is_combat": False}


def test_g19_a_name_that_is_made_again_is_replaced() -> None:
    view = (
        SessionArtifacts()
        .with_run(made("plan", "first"))
        .with_run(made("plan", "second"), made(None, "a"))
        .with_run(made(None, "b"))
    )
    assert view.run_values() == {"plan": "second"}
    assert [item.version.content for item in view.run] == ["second", "a", "b"]
    with pytest.raises(ValueError, match="persisted"):
        view.with_run(RunArtifact(artifact=artifact(), version=version()))


def test_everything_with_rules_is_a_candidate_for_the_prompt() -> None:
    rules = inclusion(mode="as_message")

    def stored(tag: str, step: str) -> tuple[Artifact, Writer]:
        return artifact(tag, inclusion=rules, visibility="prompt_only"), Writer(pipeline="p", step=step)

    records = []
    for tag, step in (("a", "late"), ("b", "soon")):
        about, writer = stored(tag, step)
        records.append(record(version(1, tag.upper(), writer=writer)).with_(artifact=about))
    steps = {"soon": 0, "late": 1}
    view = view_of(*records, record(version(), tag="no_rules")).with_run(
        made("r", "R", inclusion=rules, visibility="prompt_only")
    )
    order = view.candidates(lambda writer: (0, steps[writer.step]) if writer else (9, 9))
    assert said(plan_with(*order))[-3:] == ["B", "A", "R"]
    assert len(view.candidates()) == 3


def test_pitfall_05_history_excludes_the_current_value() -> None:
    assert view_of(record(version(1, "only"))).art()["mood"]["history"] == []


@pytest.mark.anyio
async def test_pitfall_05_an_append_keeps_what_was_there() -> None:
    store = MemoryStore()
    await store.write(write("a"))
    await store.write(write("b", 1))
    art = session_artifacts(await store.load(SESSION), now=NOW + HOUR, turn=0).art()
    assert (art["mood"]["value"], art["mood"]["history"]) == ("b", ["a"])


@pytest.mark.anyio
async def test_pitfall_08_changing_the_definition_orphans_nothing() -> None:
    store = MemoryStore()
    await store.write(write({"hp": 3}, kind="state"))
    await store.reserve(artifact(id="edited", kind="stats", visibility="ui_only", content_type="json"), "weather")
    view = session_artifacts(await store.load(SESSION), now=NOW, turn=0)
    assert view["mood"].value == {"hp": 3}
