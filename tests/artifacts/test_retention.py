"""Which versions stay, and that none is ever lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import HOUR, NOW, SESSION, record, version, write

from tavernkit.artifacts import ArtifactVersion, MemoryStore, Retention, outlived, retained, session_artifacts
from tavernkit.artifacts.store import archive_rows


def kept(versions: list[ArtifactVersion], retention: Retention, *, hours: float = 0, turn: int = 0) -> list[int]:
    return [item.version for item in retained(versions, retention, now=NOW + hours * HOUR, turn=turn)]


HOURLY = [version(number, created_at=NOW + number * HOUR, turn=number) for number in range(1, 6)]


def counted() -> list[tuple[int, ArtifactVersion]]:
    """Each version with the number of newer ones."""
    return [(len(HOURLY) - item.version, item) for item in HOURLY]


def test_r39_a_window_of_versions_includes_the_latest() -> None:
    assert kept(HOURLY, Retention(mode="windowed", max_versions=2), hours=5, turn=5) == [4, 5]


def test_r39_a_window_of_turns() -> None:
    assert kept(HOURLY, Retention(mode="windowed", max_turns=2), hours=5, turn=5) == [4, 5]
    assert kept(HOURLY, Retention(mode="windowed", max_turns=2), hours=5, turn=6) == [5]


def test_r39_a_time_to_live() -> None:
    assert kept(HOURLY, Retention(mode="windowed", ttl_seconds=7200), hours=5.5, turn=5) == [4, 5]


def test_r40_durable_keeps_all_or_up_to_a_very_large_limit() -> None:
    assert kept(HOURLY, Retention(), hours=999, turn=999) == [1, 2, 3, 4, 5]
    assert kept(HOURLY, Retention(mode="durable", max_versions=4), hours=5, turn=5) == [2, 3, 4, 5]


def test_r41_the_log_can_say_what_was_removed() -> None:
    gone = outlived(counted(), Retention(mode="windowed", max_versions=2), now=NOW, turn=5)
    (row,) = archive_rows(record(*HOURLY).artifact.key, gone, ids=lambda: "r", now=NOW, step_run_id="s")
    assert (row.from_version, row.items[-1].version, row.reason) == (1, 3, "window")
    assert row.step_run_id == "s"


def test_r42_an_archive_belongs_to_its_artifact_and_to_no_generation() -> None:
    gone = outlived(counted(), Retention(mode="windowed", max_versions=2), now=NOW, turn=5)
    (row,) = archive_rows(record(*HOURLY).artifact.key, gone, ids=lambda: "r", now=NOW)
    assert (row.key.session, row.key.tag, row.run_id) == (SESSION, "mood", None)
    assert [item.content for item in row.items] == ["calm"] * 3


def test_g14_the_latest_never_expires() -> None:
    everything = Retention(mode="windowed", max_versions=1, max_turns=1, ttl_seconds=3600)
    assert kept(HOURLY, everything, hours=9999, turn=9999) == [5]


def test_g14_both_limits_must_hold() -> None:
    both = Retention(mode="windowed", max_versions=4, ttl_seconds=7200)
    assert kept(HOURLY, both, hours=5.5, turn=5) == [4, 5]


def test_g14_what_has_expired_is_not_read_even_before_the_next_write() -> None:
    stored = record(*HOURLY, retention=Retention(mode="windowed", ttl_seconds=7200))
    view = session_artifacts([stored], now=NOW + 6 * HOUR, turn=5)
    assert [item.version for item in view["mood"].versions] == [5]


def test_g14_turns_are_the_users_and_a_regeneration_is_none() -> None:
    twice = [version(1, turn=3), version(2, turn=3), version(3, turn=3)]
    assert kept(twice, Retention(mode="windowed", max_turns=1), turn=3) == [1, 2, 3]


limits = st.builds(
    lambda mode, versions, turns, ttl: Retention(
        mode=mode, max_versions=versions, max_turns=turns, ttl_seconds=None if ttl is None else ttl.total_seconds()
    ),
    st.just("durable"),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 5).map(lambda hours: hours * HOUR),
)
happenings = st.lists(
    st.tuples(st.sampled_from(["write", "write", "write", "reset"]), st.integers(0, 3), st.integers(0, 2), limits),
    max_size=14,
)


@pytest.mark.anyio
@given(happenings)
async def test_g15_every_version_is_kept_or_archived_exactly_once(
    happenings: list[tuple[str, int, int, Retention]],
) -> None:
    store, now, turn, head, written = MemoryStore(), NOW, 0, None, 0
    for what, hours, turns, retention in happenings:
        now, turn = now + timedelta(hours=hours), turn + turns
        if what == "write":
            made = await store.write(write(f"v{written + 1}", head, now=now, turn=turn, retention=retention))
            head, written = made.version.version, written + 1
            assert head == written
        else:
            await store.reset(SESSION, ["mood"], now=now)
            head = None
    stored = await store.get(SESSION, "mood")
    still = [] if stored is None else list(stored.versions)
    archived = [item for row in await store.archives(SESSION) for item in row.items]
    everything = sorted((*still, *archived), key=lambda item: item.version)
    assert [(item.version, item.content) for item in everything] == [(n, f"v{n}") for n in range(1, written + 1)]
