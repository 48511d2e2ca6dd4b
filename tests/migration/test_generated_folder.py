"""What the library says about a generated folder is what the generator says that it wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from random import Random

import pytest

from tavernkit import characters
from tavernkit.migration import (
    RefusedFile,
    chat_folder,
    chat_trees,
    digest_chat,
    match_folder,
    open_source,
    read_user_settings_file,
)
from tavernkit.migration.files import FileSource
from tests.migration.folders import kinds
from tests.migration.folders_generator import (
    BOMB,
    FULL,
    HOSTILE_ENTRIES,
    TWICE,
    write_data_folder,
    write_public_folder,
    write_user_folder,
    write_zip,
)
from tests.migration.generator.manifest import Manifest, WrittenBranch


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return write_user_folder(tmp_path_factory.mktemp("SillyTavern") / "default-user", Random(1), FULL)


@pytest.fixture(scope="module")
def source(full: Manifest) -> Iterator[FileSource]:
    opened = open_source(full.place)
    yield opened
    opened.close()


def test_a_full_folder_has_what_the_tests_of_moving_need(full: Manifest) -> None:
    counts = Counter(file.kind for file in full.files if "refused" not in file.expected.verdicts)
    least = {"character": 60, "chat": 250, "group": 5, "world": 25, "preset": 40, "persona_picture": 3}
    assert {kind: counts[kind] for kind in least if counts[kind] < least[kind]} == {}
    assert len({file.path.partition("/")[0] for file in full.of_kind("preset")}) == 8
    assert {branch.kind for branch in full.branches} == {"branch", "checkpoint"}
    assert {branch.is_certain for branch in full.branches} == {True, False}
    paths = [file.path for file in full.files]
    names = Counter(path.casefold() for path in paths)
    assert {PurePosixPath(path).parent.name for path in names if names[path] > 1} >= {"characters", "worlds"}
    links = {path for path in paths if (full.place / path).is_symlink()}
    assert {(full.place / path).resolve().is_dir() for path in links} == {True, False}
    assert not any((full.place / path).resolve().is_relative_to(full.place) for path in links)
    halves = [full.place / path for path in paths if path.endswith(("cut last line.jsonl", "cut in the middle.jsonl"))]
    assert [len(half.read_bytes().splitlines()) for half in halves] == [6, 6]
    settings = read_user_settings_file((full.place / "settings.json").read_bytes())
    assert len(settings.personas) >= 3
    assert len(settings.regex_scripts) >= 2


def expected_kinds(manifest: Manifest) -> dict[str, str]:
    return {file.path: file.kind for file in manifest.files}


def test_v01_every_file_of_a_full_folder_is_listed_with_its_kind(full: Manifest, source: FileSource) -> None:
    files = list(source.files())
    links = {file.path for file in full.files if (full.place / file.path).is_symlink()}
    assert {file.path for file in files if isinstance(file, RefusedFile)} == links
    assert kinds(files) | {path: kind for path, kind in expected_kinds(full).items() if path in links} == (
        expected_kinds(full)
    )
    assert len(files) == len(full.files)


def test_v19_of_an_archive_of_it_nothing_is_read_that_leaves_it(full: Manifest, tmp_path: Path) -> None:
    archive = write_zip(full, tmp_path / "user.zip", prefix="data/default-user/", bomb_bytes=8_000_000)
    opened = open_source(archive.place)
    try:
        files = list(opened.files())
    finally:
        opened.close()
    links = {file.path for file in full.files if (full.place / file.path).is_symlink()}
    refused = {file.path for file in files if isinstance(file, RefusedFile)}
    assert refused == {*HOSTILE_ENTRIES, TWICE, BOMB} | links
    assert {path: kind for path, kind in kinds(files).items() if path not in refused} == {
        path: kind for path, kind in expected_kinds(full).items() if path not in links
    }


@pytest.mark.parametrize("write", [write_data_folder, write_public_folder])
def test_v01_the_other_layouts_have_the_same_files(write: type[Manifest], tmp_path: Path) -> None:
    manifest = write(tmp_path / "SillyTavern", Random(1))
    opened = open_source(manifest.place)
    found = [file for file in opened.files() if not isinstance(file, RefusedFile)]
    opened.close()
    assert kinds(found) == {file.path: file.kind for file in manifest.files if file.sha256}


def links_of(manifest: Manifest, *wanted: str) -> set[tuple[str, str, str | None]]:
    return {(link.source, link.name, link.target) for link in manifest.links if link.kind in wanted}


def test_v05_chats_belong_to_the_cards_that_the_generator_wrote_them_for(full: Manifest) -> None:
    stems = {chat_folder(file.path.removeprefix("characters/")): file.path for file in full.of_kind("character")}
    found = set()
    for file in full.of_kind("chat"):
        folder = PurePosixPath(file.path).parent.name
        if file.sha256 and folder != "chats":
            found.add((file.path, stems.get(match_folder(folder, stems) or "")))
    assert found == {(path, target) for path, _name, target in links_of(full, "chat_character")}


def test_v10_branches_are_found_where_the_generator_copied_them(full: Manifest, source: FileSource) -> None:
    digests = []
    for file in full.of_kind("chat"):
        if file.sha256:
            with source.open(file.path) as opened:
                digests.append((file.path, digest_chat(opened)))
    places = chat_trees(digests)
    found = {
        WrittenBranch(path, place.parent, place.fork, place.certain, place.kind)
        for path, place in places.items()
        if place.parent is not None
    }
    assert found == set(full.branches)
    assert all(places[root].parent is None for root in full.roots)
    assert {(path, digest.world) for path, digest in digests if digest.world} == {
        (path, name) for path, name, _target in links_of(full, "chat_book")
    }
    assert {(path, digest.persona) for path, digest in digests if digest.persona} == {
        (path, name) for path, name, _target in links_of(full, "chat_persona")
    }


def test_v11_the_settings_refer_to_what_the_generator_linked(full: Manifest, source: FileSource) -> None:
    with source.open("settings.json") as opened:
        settings = read_user_settings_file(opened.read())
    found = {(reference.kind, reference.name) for reference in settings.references}
    of_kind = {
        "world": ("global_book", "extra_book", "persona_book"),
        "group": ("persona_group",),
        "character": ("persona_character",),
        "file": ("attachment",),
    }
    for kind, wanted in of_kind.items():
        assert {(kind, name) for _path, name, _target in links_of(full, *wanted)} <= found
    targets = {"world": "worlds/{}.json", "group": "groups/{}.json"}
    paths = expected_kinds(full)
    missing = {name for kind, name in found if kind in targets and name and targets[kind].format(name) not in paths}
    assert missing == {"Not there"}


def test_v06_cards_name_the_books_that_the_generator_linked(full: Manifest, source: FileSource) -> None:
    found = set()
    for file in full.of_kind("character"):
        if not file.expected.is_exact:
            continue
        with source.open(file.path) as opened:
            card = characters.load(opened.read()).card
        if stem := card.character.extensions.get("world"):
            found.add((file.path, stem))
    assert found == {(path, name) for path, name, _target in links_of(full, "character_book")}
