"""What any artifact store must do.

Subclass `StoreContract` in a test module, give it a fixture `make_store` that returns a factory of empty stores, and
all of these run against it. The sessions are `SESSION` and `ELSEWHERE`; all ids are UUIDs.

class TestMyStore(StoreContract):
    @pytest.fixture
    def make_store(self) -> StoreFactory:
        return lambda ids: MyStore(ids=ids)
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.artifacts.builders import HOUR, NOW, SESSION, artifact, id_of, write

from tavernkit.artifacts import ArtifactStore, Retention, Session, Writer, session_artifacts
from tavernkit.errors import ArtifactConflict, ArtifactPolicyError, InvalidArtifactError
from tavernkit.prompt.context import IdSource

StoreFactory: TypeAlias = Callable[[IdSource], ArtifactStore]

ELSEWHERE = Session(owner_id=SESSION.owner_id, session_id=id_of("chat-2"))
LAST_TWO = Retention(mode="windowed", max_versions=2)
OVERWRITE = Retention(mode="windowed", max_versions=1)


def counted() -> IdSource:
    numbers = itertools.count(1)
    return lambda: id_of(f"row-{next(numbers)}")


@pytest.mark.anyio
class StoreContract:
    @pytest.fixture
    def make_store(self) -> StoreFactory:
        raise NotImplementedError("give the contract a store")

    @pytest.fixture
    def store(self, make_store: StoreFactory) -> ArtifactStore:
        return make_store(counted())

    async def test_r23_what_is_written_is_read_back_in_full(self, store: ArtifactStore) -> None:
        turn_id, variant_id = id_of("t4"), id_of("swipe-2")
        state = {"hp": 3, "name": "Zoë", "gone": None}
        made = write(state, turn=4, turn_id=turn_id, variant_id=variant_id, kind="state")
        commit = await store.write(made)
        record = await store.get(SESSION, "mood")
        assert record is not None
        assert (record.artifact, record.owner, record.versions) == (made.artifact, "weather", (commit.version,))
        assert (commit.artifact, commit.owner, commit.archived) == (made.artifact, "weather", ())
        stored = commit.version
        assert (stored.version, stored.content, stored.based_on_version) == (1, made.content, None)
        assert (stored.turn, stored.turn_id, stored.variant_id) == (4, turn_id, variant_id)
        assert (stored.created_at, stored.writer) == (NOW, Writer(pipeline="weather", step="look"))

    async def test_r25_the_key_is_owner_session_and_tag(self, store: ArtifactStore) -> None:
        await store.write(write("here"))
        await store.write(write("there", session=ELSEWHERE))
        await store.write(write("another", tag="weather"))
        assert [item.artifact.tag for item in await store.load(SESSION)] == ["mood", "weather"]
        assert [item.versions[-1].content for item in await store.load(ELSEWHERE)] == ["there"]
        assert await store.get(SESSION, "nothing") is None

    async def test_r26_a_tag_cannot_be_had_twice(self, store: ArtifactStore) -> None:
        await store.reserve(artifact(), "weather")
        with pytest.raises(ArtifactPolicyError, match="belongs to the pipeline 'weather'"):
            await store.reserve(artifact(id="second"), "combat")

    async def test_r26_its_owner_can_change_the_properties(self, store: ArtifactStore) -> None:
        await store.write(write("calm"))
        changed = await store.reserve(artifact(id="other", visibility="ui_only"), "weather")
        assert (changed.visibility, changed.id) == ("ui_only", "id-mood")
        (record,) = await store.load(SESSION)
        assert (record.artifact, [item.content for item in record.versions]) == (changed, ["calm"])

    async def test_g16_a_new_profile_does_not_turn_what_is_written_into_a_state(self, store: ArtifactStore) -> None:
        await store.reserve(artifact(kind="note"), "weather")
        await store.reserve(artifact(kind="state"), "weather")
        await store.write(write("calm", kind="note"))
        assert (await store.reserve(artifact(kind="state"), "weather")).kind == "note"
        as_state = write("angry", 1, kind="state")
        with pytest.raises(ArtifactPolicyError, match="is of kind 'note'"):
            await store.write(as_state.with_(permissions=frozenset({"state_write"})))
        assert (await store.write(as_state)).artifact.kind == "state"

    async def test_r27_one_artifact_has_many_versions_and_one_latest(self, store: ArtifactStore) -> None:
        for number in range(3):
            await store.write(write(f"mood {number}", number or None))
        record = await store.get(SESSION, "mood")
        assert record is not None
        assert [item.version for item in record.versions] == [1, 2, 3]
        assert record.latest is not None
        assert record.latest.content == "mood 2"

    async def test_r29_only_the_owner_writes_a_tag(self, store: ArtifactStore) -> None:
        await store.write(write("calm"))
        with pytest.raises(ArtifactPolicyError) as refused:
            await store.write(write("angry", 1, writer=Writer(pipeline="combat")))
        assert (refused.value.code, refused.value.tag) == ("artifact_policy_error", "mood")
        record = await store.get(SESSION, "mood")
        assert record is not None
        assert record.latest_version == 1

    async def test_r32_the_session_reads_latest_and_history(self, store: ArtifactStore) -> None:
        await store.write(write("a", retention=OVERWRITE, tag="latest"))
        await store.write(write("b", 1, retention=OVERWRITE, tag="latest"))
        await store.write(write("a", tag="whole"))
        await store.write(write("b", 1, tag="whole"))
        view = session_artifacts(await store.load(SESSION), now=NOW, turn=0)
        assert (view["latest"].value, view["latest"].history) == ("b", [])
        assert (view["whole"].value, view["whole"].history) == ("b", ["a"])

    async def test_r35_a_write_from_an_old_version_is_refused(self, store: ArtifactStore) -> None:
        await store.write(write("a"))
        await store.write(write("b", 1))
        with pytest.raises(ArtifactConflict) as conflict:
            await store.write(write("c", 1))
        assert conflict.value.code == "artifact_conflict"
        assert (conflict.value.based_on_version, conflict.value.latest_version) == (1, 2)

    async def test_r35_of_two_writers_with_one_base_exactly_one_succeeds(self, store: ArtifactStore) -> None:
        await store.write(write("a"))
        outcomes = await asyncio.gather(
            *(store.write(write(f"writer {number}", 1)) for number in range(5)), return_exceptions=True
        )
        losers = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert [type(loser) for loser in losers] == [ArtifactConflict] * 4
        record = await store.get(SESSION, "mood")
        assert record is not None
        assert [item.version for item in record.versions] == [1, 2]

    async def test_r35_a_repeated_write_is_refused(self, store: ArtifactStore) -> None:
        once = write("a")
        await store.write(once)
        with pytest.raises(ArtifactConflict):
            await store.write(once)

    async def test_r36_a_refused_write_changes_nothing(self, store: ArtifactStore) -> None:
        await store.write(write("a", retention=OVERWRITE))
        before = await store.load(SESSION)
        with pytest.raises(ArtifactConflict):
            await store.write(write("b", 7, retention=OVERWRITE))
        assert await store.load(SESSION) == before
        assert await store.archives(SESSION) == ()

    async def test_r38_what_lives_in_one_run_is_never_stored(self, store: ArtifactStore) -> None:
        thought = artifact(access="run_only", retention=Retention(mode="ephemeral"))
        with pytest.raises(InvalidArtifactError, match="not stored"):
            await store.write(write("a").with_(artifact=thought))
        with pytest.raises(InvalidArtifactError):
            await store.reserve(thought, "weather")
        assert await store.load(SESSION) == ()

    async def test_r39_what_leaves_the_window_is_in_the_archive(self, store: ArtifactStore) -> None:
        for number in range(5):
            await store.write(write(f"mood {number}", number or None, retention=LAST_TWO))
        record = await store.get(SESSION, "mood")
        assert record is not None
        archived = [item for row in await store.archives(SESSION, "mood") for item in row.items]
        assert [item.version for item in record.versions] == [4, 5]
        assert [(item.version, item.content) for item in archived] == [(1, "mood 0"), (2, "mood 1"), (3, "mood 2")]

    async def test_r40_a_durable_artifact_keeps_every_version(self, store: ArtifactStore) -> None:
        for number in range(20):
            await store.write(write(f"comment {number}", number or None, retention=Retention(mode="durable")))
        record = await store.get(SESSION, "mood")
        assert record is not None
        assert len(record.versions) == 20
        assert await store.archives(SESSION) == ()

    async def test_r46_a_state_permission_is_for_states(self, store: ArtifactStore) -> None:
        narrow = frozenset({"state_write"})
        await store.write(write({"hp": 1}, kind="state", permissions=narrow))
        with pytest.raises(ArtifactPolicyError, match="for states only"):
            await store.write(write("a", tag="comments", kind="commentary", permissions=narrow))
        with pytest.raises(ArtifactPolicyError, match="no artifact_write"):
            await store.write(write("a", tag="comments", permissions=frozenset()))

    async def test_g13_the_first_write_has_no_base(self, store: ArtifactStore) -> None:
        with pytest.raises(ArtifactConflict, match="there is none yet"):
            await store.write(write("a", 1))
        await store.write(write("a"))
        with pytest.raises(ArtifactConflict, match="from no version, but the latest is 1"):
            await store.write(write("b", None))

    async def test_g13_an_overwrite_counts_versions_too(self, store: ArtifactStore) -> None:
        for number in range(3):
            commit = await store.write(write(f"{number}", number or None, retention=OVERWRITE))
        assert commit.version.version == 3
        assert commit.version.based_on_version == 2
        assert [item.version for item in (await store.load(SESSION))[0].versions] == [3]

    async def test_g14_two_limits_must_both_hold(self, store: ArtifactStore) -> None:
        limits = Retention(mode="windowed", max_versions=3, ttl_seconds=7200)
        for number in range(4):
            await store.write(write(f"{number}", number or None, retention=limits, now=NOW + number * 1.5 * HOUR))
        assert [item.version for item in (await store.load(SESSION))[0].versions] == [3, 4]
        assert [row.reason for row in await store.archives(SESSION)] == ["ttl", "ttl"]

    async def test_g14_by_turns_the_one_of_the_oldest_turn_goes_wherever_it_stands(self, store: ArtifactStore) -> None:
        limits = Retention(mode="windowed", max_turns=2)
        for number, turn in enumerate((5, 4, 6)):
            commit = await store.write(write(f"{number}", number or None, retention=limits, turn=turn))
        assert [(row.reason, row.from_version, row.items[-1].version) for row in commit.archived] == [("turns", 2, 2)]
        assert [item.version for item in (await store.load(SESSION))[0].versions] == [1, 3]

    async def test_g14_narrower_limits_end_all_that_is_beyond_them_at_the_next_write(
        self, store: ArtifactStore
    ) -> None:
        for number in range(6):
            await store.write(write(f"{number}", number or None))
        limits = Retention(mode="windowed", max_versions=3)
        commit = await store.write(write("6", 6, retention=limits))
        (row,) = commit.archived
        assert [(item.version, item.content) for item in row.items] == [(1, "0"), (2, "1"), (3, "2"), (4, "3")]
        assert [item.version for item in (await store.load(SESSION))[0].versions] == [5, 6, 7]

    async def test_g15_an_archive_row_tells_all(self, store: ArtifactStore) -> None:
        await store.write(write("a", retention=OVERWRITE, turn=1))
        later, run_id, step_run_id = NOW + HOUR, id_of("run-2"), id_of("step-run-7")
        commit = await store.write(
            write("b", 1, retention=OVERWRITE, now=later, run_id=run_id, step_run_id=step_run_id, turn=2)
        )
        (row,) = await store.archives(SESSION, "mood")
        assert (row,) == commit.archived
        assert (row.key.session, row.key.tag, row.from_version, row.items[-1].version) == (SESSION, "mood", 1, 1)
        assert (row.reason, row.pruned_at, row.run_id, row.step_run_id) == ("window", later, run_id, step_run_id)
        (item,) = row.items
        assert (item.content, item.content_type, item.created_at, item.turn) == ("a", "text", NOW, 1)
        assert item.writer == Writer(pipeline="weather", step="look")

    async def test_g15_prune_and_archive_are_one_transaction(self, make_store: StoreFactory) -> None:
        def broken() -> str:
            raise OSError("the archive cannot be written")

        store = make_store(broken)
        await store.write(write("a", retention=OVERWRITE))
        before = await store.load(SESSION)
        with pytest.raises(OSError, match="archive"):
            await store.write(write("b", 1, retention=OVERWRITE))
        assert await store.load(SESSION) == before
        assert await store.archives(SESSION) == ()

    async def test_g15_a_reset_archives_everything_and_goes_on_counting(self, store: ArtifactStore) -> None:
        await store.write(write("a"))
        await store.write(write("b", 1))
        (row,) = await store.reset(SESSION, ["mood", "nothing"], now=NOW + HOUR)
        assert (row.reason, [item.content for item in row.items]) == ("reset", ["a", "b"])
        with pytest.raises(ArtifactPolicyError):
            await store.write(write("c", writer=Writer(pipeline="combat")))
        commit = await store.write(write("c"))
        assert commit.version.version == 3

    async def test_g16_a_tag_has_an_owner_before_its_first_write(self, store: ArtifactStore) -> None:
        await store.reserve(artifact(), "weather")
        with pytest.raises(ArtifactPolicyError):
            await store.write(write("angry", writer=Writer(pipeline="combat")))
        await store.write(write("calm"))

    async def test_g16_what_was_never_written_can_be_given_up(self, store: ArtifactStore) -> None:
        await store.reserve(artifact(), "weather")
        await store.write(write("kept", tag="written"))
        await store.release(SESSION, "weather")
        await store.reserve(artifact(), "combat")
        with pytest.raises(ArtifactPolicyError):
            await store.reserve(artifact("written"), "combat")

    async def test_g16_the_stored_kind_counts_too(self, store: ArtifactStore) -> None:
        await store.write(write("a", kind="commentary"))
        with pytest.raises(ArtifactPolicyError, match="'commentary'"):
            await store.write(write({"hp": 1}, 1, kind="state", permissions=frozenset({"state_write"})))

    async def test_pitfall_16_the_base_is_what_the_step_has_read(self, store: ArtifactStore) -> None:
        await store.write(write("a"))
        view = session_artifacts(await store.load(SESSION), now=NOW, turn=0)
        await store.write(write("somebody was faster", 1))
        with pytest.raises(ArtifactConflict):
            await store.write(write("b", view.base_version("mood")))
