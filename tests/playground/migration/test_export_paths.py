"""The paths of exported files: any names give paths that every file system can hold, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.migration.names import folded
from tavernkit.playground.story.migration.export_paths import FreePaths, name_of, stem_of, written_moment

NAMES = st.lists(
    st.text(max_size=40)
    | st.sampled_from(["", ".", "..", "CON", "Anna", "anna", "ANNA", "Å", "A\u030a", "a/b", "a" * 300]),
    max_size=30,
)


@given(NAMES, NAMES)
def test_any_names_give_safe_paths_that_no_file_system_takes_for_one(kept: list[str], new: list[str]) -> None:
    free = FreePaths()
    for name in kept:
        free.keep(f"worlds/{name}.json")
    given_ = [free.give("worlds", name, ".json") for name in new]
    assert len({folded(path) for path in given_}) == len(given_)
    assert {folded(path) for path in given_}.isdisjoint(folded(f"worlds/{name}.json") for name in kept)
    for path in given_:
        parts = PurePosixPath(path).parts
        assert (parts[0], len(parts), path[-5:]) == ("worlds", 2, ".json")
        assert len(parts[1].encode()) <= 255
        assert not set(parts[1]) & set('/?<>\\:*|"\x00')


def test_a_second_name_gets_a_number_as_in_sillytavern() -> None:
    free = FreePaths()
    assert [free.give("characters", name, ".png") for name in ("Anna", "Anna", "anna", "A?nna")] == [
        "characters/Anna.png",
        "characters/Anna1.png",
        "characters/anna2.png",
        "characters/Anna3.png",
    ]


def test_kept_paths_that_differ_only_in_case_are_known_as_twins() -> None:
    free = FreePaths()
    for path in ("worlds/Lore.json", "worlds/lore.json", "worlds/Lore.json", "worlds/other.json"):
        free.keep(path)
    assert free.twins == [("worlds/Lore.json", "worlds/lore.json")]


def test_moments_are_written_as_sillytavern_names_chats() -> None:
    assert written_moment(datetime(2024, 2, 3, 4, 5, 6, 78_000, tzinfo=UTC)) == "2024-02-03@04h05m06s078ms"


def test_names_and_stems_of_paths() -> None:
    assert (name_of("a/b.png"), stem_of("a/b.tar.gz"), stem_of("a/.hidden"), stem_of("plain")) == (
        "b.png",
        "b.tar",
        ".hidden",
        "plain",
    )
