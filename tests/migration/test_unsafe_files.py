"""Names, links, archives and files that must not be trusted."""

from __future__ import annotations

import io
import os
import socket
import stat
import struct
import unicodedata
import warnings
import zipfile
from pathlib import Path
from random import Random

import pytest

from tavernkit.errors import ParseError
from tavernkit.migration import FileSource, RefusedFile, SourceFile, open_source
from tests.migration.folders import USER, contents, listed, pack, write


def refused(source: FileSource) -> dict[str, str]:
    return {file.path: file.sentence for file in source.files() if isinstance(file, RefusedFile)}


def refused_in_archive(place: Path) -> dict[str, str]:
    source = open_source(place)
    assert contents(source) == USER
    found = refused(source)
    source.close()
    return found


@pytest.mark.parametrize("to", ["../outside", "characters", "settings.json", "/", "nowhere", "."])
def test_v19_links_are_refused_wherever_they_lead(to: str, tmp_path: Path) -> None:
    write(tmp_path / "user")
    write(tmp_path / "outside")
    (tmp_path / "user" / "worlds").symlink_to(to)
    source = open_source(tmp_path / "user")
    assert list(refused(source)) == ["worlds"]
    assert "link" in refused(source)["worlds"]
    assert contents(source) == USER


@pytest.mark.parametrize(
    "path", ["worlds/settings.json", "worlds", "../outside/settings.json", "/etc/passwd", "", "x/"]
)
def test_v19_nothing_outside_of_the_folder_can_be_opened(path: str, tmp_path: Path) -> None:
    write(tmp_path / "user")
    write(tmp_path / "outside")
    (tmp_path / "user" / "worlds").symlink_to("../outside")
    with pytest.raises(ParseError):
        open_source(tmp_path / "user").open(path)


def test_v19_a_data_folder_that_is_a_link_is_named(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", below="default-user")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "data").symlink_to("../elsewhere")
    with pytest.raises(ParseError, match="data: This is a link"):
        open_source(tmp_path / "root")
    assert listed(tmp_path / "root" / "data")


def test_v19_devices_pipes_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    os.mkfifo(tmp_path / "characters" / "pipe.png")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("characters/socket.png")
        source = open_source(tmp_path)
        assert list(refused(source)) == ["characters/pipe.png", "characters/socket.png"]
        assert all("not a file" in sentence for sentence in refused(source).values())
        with pytest.raises(ParseError, match="not a file"):
            source.open("characters/pipe.png")


@pytest.mark.parametrize("name", [b"a\\b.png", b"C:a.png", b"\xff\xfe.png"])
def test_v19_unsafe_names_in_folders_are_refused(name: bytes, tmp_path: Path) -> None:
    write(tmp_path)
    Path(os.fsdecode(os.fsencode(tmp_path / "characters") + b"/" + name)).write_bytes(b"")
    source = open_source(tmp_path)
    [(path, sentence)] = refused(source).items()
    assert path.startswith("characters/")
    assert path.encode()
    assert "name" in sentence
    assert contents(source) == USER


def test_v19_names_that_differ_in_case_or_accents_are_all_there(tmp_path: Path) -> None:
    names = ["Anna", "anna", "ANNA", "Zoë", unicodedata.normalize("NFD", "Zoë")]
    files = {f"characters/{name}.png": name.encode() for name in names}
    assert contents(open_source(write(tmp_path / "folder", files))) == files
    source = open_source(pack(tmp_path / "a.zip", files))
    assert contents(source) == files
    source.close()


def test_v19_a_file_that_vanishes_is_an_error_of_that_file_alone(tmp_path: Path) -> None:
    source = open_source(write(tmp_path))
    files = source.files()
    assert [file.path for file in (next(files),)] == ["characters/Anna.png"]
    (tmp_path / "chats" / "Anna" / "Anna - 2024.jsonl").unlink()
    assert [file.path for file in files] == ["settings.json"]
    with pytest.raises(ParseError, match="cannot be read: No such file"):
        source.open("chats/Anna/Anna - 2024.jsonl")
    assert source.open("settings.json").read() == USER["settings.json"]


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_v19_a_file_that_changes_while_it_is_read_is_an_error(change: str, tmp_path: Path) -> None:
    write(tmp_path, {**USER, "worlds/Large.json": bytes(2_000_000)})
    with open_source(tmp_path).open("worlds/Large.json") as file:
        assert file.read(10) == bytes(10)
        with (tmp_path / "worlds" / "Large.json").open("r+b") as written:
            written.truncate(3_000_000 if change == "grows" else 1_000)
        with pytest.raises(ParseError, match="changed while it was read"):
            file.read()


def test_v19_a_folder_that_cannot_be_listed_is_refused_alone(tmp_path: Path) -> None:
    write(tmp_path, {**USER, "worlds/a.json": b"", "worlds/deep/b.json": b""})
    source = open_source(tmp_path)
    found: list[str] = []
    for file in source.files():
        found.append(file.path)
        if file.path == "worlds/a.json":
            (tmp_path / "worlds" / "deep" / "b.json").unlink()
            (tmp_path / "worlds" / "deep").rmdir()
    assert found[-2:] == ["worlds/a.json", "worlds/deep"]


UNSAFE = [
    "../outside.json",
    "worlds/../../outside.json",
    "/etc/passwd",
    "worlds\\..\\a.json",
    "C:/worlds/a.json",
    "worlds/./a.json",
    "worlds//a.json",
    "worlds/nul\0.json",
    f"worlds/{'ä' * 130}.json",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_v19_unsafe_names_in_archives_are_refused(name: str, tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip")
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr(info, b"x")
    assert list(refused_in_archive(place)) == [name.replace("\0", "\\x00")]


def test_v19_of_two_files_of_one_name_in_an_archive_none_is_read(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip")
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(place, "a") as archive:
        for number in range(3):
            archive.writestr("worlds/Twice.json", str(number))
    assert "several files of this name" in refused_in_archive(place)["worlds/Twice.json"]


def test_v19_a_file_and_a_folder_of_one_name_in_an_archive(tmp_path: Path) -> None:
    for number, names in enumerate((("worlds", "worlds/a.json"), ("worlds/a.json", "worlds"))):
        place = pack(tmp_path / f"{number}.zip", {**USER, **dict.fromkeys(names, b"")})
        source = open_source(place)
        assert list(refused(source)) == [names[1]]
        source.close()


def test_v19_links_and_devices_in_archives_are_refused(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip")
    with zipfile.ZipFile(place, "a") as archive:
        for name, mode in (("worlds/link.json", stat.S_IFLNK), ("worlds/device", stat.S_IFCHR)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode | 0o777) << 16
            archive.writestr(info, "../../outside.json")
    assert list(refused_in_archive(place)) == ["worlds/device", "worlds/link.json"]


def test_v19_encrypted_and_unknown_entries_of_archives_are_refused(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip", {**USER, "worlds/a.json": b"x"})
    data = place.read_bytes()
    entry = data.rindex(b"worlds/a.json") - 46
    for name, place_of_field, value in (("encrypted", 8, 1), ("compressed", 10, 9)):
        changed = bytearray(data)
        struct.pack_into("<H", changed, entry + place_of_field, value)
        place.write_bytes(changed)
        assert name in refused_in_archive(place)["worlds/a.json"]


def test_v19_a_file_that_is_compressed_too_well_is_refused(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip", {**USER, "worlds/Bomb.json": bytes(4_000_000)})
    assert "more than 250 to 1" in refused_in_archive(place)["worlds/Bomb.json"]


def test_v19_an_archive_whose_files_share_their_bytes_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("characters/0.png", Random(1).randbytes(4_000_000))
        info = archive.infolist()[0]
        for number in range(1, 400):
            copy = zipfile.ZipInfo(f"characters/{number}.png")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "external_attr"):
                setattr(copy, name, getattr(info, name))
            archive.filelist.append(copy)
    with pytest.raises(ParseError, match="more than 250 to 1"):
        open_source(place)


def test_v19_reading_stops_at_the_size_that_the_archive_says(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip", {**USER, "worlds/a.json": b"x" * 1000})
    data = bytearray(place.read_bytes())
    struct.pack_into("<I", data, data.rindex(b"worlds/a.json") - 46 + 24, 10)
    place.write_bytes(data)
    source = open_source(place)
    with source.open("worlds/a.json") as file, pytest.raises(ParseError, match="damaged"):
        file.read()
    source.close()


def test_v19_a_damaged_file_of_an_archive_is_an_error_of_that_file_alone(tmp_path: Path) -> None:
    noise = Random(1).randbytes(5000)
    place = pack(tmp_path / "a.zip", {**USER, "worlds/a.json": noise})
    data = bytearray(place.read_bytes())
    data[data.index(noise[100:200])] ^= 1
    place.write_bytes(data)
    source = open_source(place)
    with source.open("worlds/a.json") as file, pytest.raises(ParseError, match="damaged"):
        file.read()
    assert source.open("settings.json").read() == USER["settings.json"]
    source.close()


def test_v19_an_archive_with_too_many_entries_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    entry = (
        struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *(20, 3, 20, 0), *(0, 0, 0, 0), 0, 0, 0, *(1, 0, 0, 0, 0), 0, 0)
        + b"a"
    )
    directory = entry * 400_001
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(directory), 4, 0)
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + directory + end)
    with pytest.raises(ParseError, match="more than 400,000 files"):
        open_source(tmp_path / "a.zip")


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"PK\x03\x04" + bytes(1000)])
def test_v19_damaged_archives_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(ParseError):
        open_source(tmp_path / "a.zip")


def test_names_in_utf8_that_an_archive_does_not_call_so(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("characters/Zoë.png", b"x")
    # The flag for UTF-8, in the header of the file and in the list.
    data = bytearray(packed.getvalue())
    for header, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(header) + place, 0)
    (tmp_path / "a.zip").write_bytes(data)
    assert listed(tmp_path / "a.zip") == {"characters/Zoë.png": "character"}


def test_times_of_archives_that_no_calendar_has(tmp_path: Path) -> None:
    place = pack(tmp_path / "a.zip", {"settings.json": USER["settings.json"]})
    data = bytearray(place.read_bytes())
    struct.pack_into("<HH", data, data.index(b"PK\x01\x02") + 12, 0, 0)
    place.write_bytes(data)
    source = open_source(place)
    assert [file.modified for file in source.files() if isinstance(file, SourceFile)] == [None]
    source.close()
