"""The generator of folders is the same for the same seed, and its manifest names everything that it wrote."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random
from zipfile import ZipFile

import pytest

from tests.migration.folders_generator import (
    SMALL,
    FolderSize,
    write_data_folder,
    write_public_folder,
    write_user_folder,
    write_zip,
)
from tests.migration.generator.manifest import Manifest

LAYOUTS = {"user": write_user_folder, "data": write_data_folder, "public": write_public_folder}


def on_disk(place: Path) -> set[str]:
    paths = (path for path in place.rglob("*") if path.is_symlink() or path.is_file())
    return {path.relative_to(place).as_posix() for path in paths}


def hashes(manifest: Manifest) -> dict[str, str]:
    return {file.path: file.sha256 for file in manifest.files}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_manifest_names_every_file_once_with_its_bytes(layout: str, tmp_path: Path) -> None:
    manifest = LAYOUTS[layout](tmp_path / "folder", Random(1))
    paths = on_disk(manifest.place)
    assert len(hashes(manifest)) == len(manifest.files)
    assert len(paths) == len(manifest.files) + len(manifest.outside)
    tops = {
        "user": ("",),
        "data": ("data/default-user/", "data/"),
        "public": ("public/", "", "public/scripts/extensions/third-party/"),
    }
    for file in manifest.files:
        path = file.path if layout != "public" else file.path.removeprefix("extensions/")
        found = next(manifest.place / (top + path) for top in tops[layout] if top + path in paths)
        assert found.lstat().st_mtime == file.modified
        if not found.is_symlink():
            assert (sha256(found.read_bytes()).hexdigest(), found.stat().st_size) == (file.sha256, file.size)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_links_and_branches_lead_to_files_that_were_written(layout: str, tmp_path: Path) -> None:
    manifest = LAYOUTS[layout](tmp_path / "folder", Random(1))
    paths = hashes(manifest).keys()
    assert {link.source for link in manifest.links} <= paths
    assert {link.target for link in manifest.links if link.target is not None} <= paths
    assert {end for branch in manifest.branches for end in (branch.path, branch.parent)} | set(manifest.roots) <= paths


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (
        write_user_folder(tmp_path / name / "folder", Random(seed)) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again.with_(place=first.place)
    assert hashes(first)["characters/Anna.png"] != hashes(other)["characters/Anna.png"]


def test_planted_keys_are_only_in_files_that_do_not_come_back_as_they_were(tmp_path: Path) -> None:
    manifest = write_user_folder(tmp_path / "folder", Random(1))
    keys = [secret.encode() for secret in manifest.secrets]
    assert len(set(keys)) == len(keys)
    for file in manifest.files:
        if file.expected.is_exact:
            assert not any(key in (manifest.place / file.path).read_bytes() for key in keys)


def test_a_long_chat_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    manifest = write_user_folder(tmp_path / "folder", Random(1), SMALL.with_(long_chat_bytes=3_000_000))
    assert max(file.size for file in manifest.of_kind("chat")) > 3_000_000


@pytest.mark.parametrize("prefix", ["", "data/default-user/"])
def test_an_archive_has_the_same_files_and_hostile_entries(prefix: str, tmp_path: Path) -> None:
    written = write_user_folder(tmp_path / "folder", Random(1), FolderSize())
    manifest = write_zip(written, tmp_path / "folder.zip", prefix=prefix, bomb_bytes=8_000_000)
    with ZipFile(manifest.place) as archive:
        names = Counter(info.orig_filename for info in archive.infolist())
        assert archive.read(prefix + "characters/Anna.png") == (written.place / "characters/Anna.png").read_bytes()
    assert names[prefix + "worlds/Twice.json"] == 2
    assert {prefix + file.path for file in written.files} <= names.keys()
    assert {"../outside.json", "C:\\worlds\\Drive.json", prefix + "worlds/Bomb.json"} <= names.keys()
