import os
from pathlib import Path

import pytest

from tavernkit.cli.errors import FileError
from tavernkit.cli.files import check_free, write_output


def test_a_new_file_is_whole_and_alone(tmp_path: Path) -> None:
    write_output(tmp_path / "a" / "b.txt", b"new", force=False)
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"new"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with pytest.raises(FileError):
        write_output(target, b"new", force=False)
    with pytest.raises(FileError):
        check_free([target], force=False)
    assert target.read_bytes() == b"old"
    write_output(target, b"new", force=True)
    assert target.read_bytes() == b"new"


def test_who_has_the_old_file_open_keeps_it(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        write_output(target, b"new", force=True)
        assert reader.read() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "a.txt", tmp_path / "link.txt"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_output(link, b"new", force=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_output(Path(os.devnull), b"new", force=False)
    assert not Path(os.devnull).is_file()


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        write_output(tmp_path, b"new", force=True)
    assert isinstance(caught.value.cause, OSError)
    assert list(tmp_path.iterdir()) == []
