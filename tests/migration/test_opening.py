"""What can be opened, and what every file in it is."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tavernkit import Character, CharacterCard, characters
from tavernkit.errors import ParseError
from tavernkit.migration import SourceFile, open_source
from tavernkit.risuai import Module
from tavernkit.risuai.files import encode_rpack, write_risum
from tests.migration.folders import USER, contents, listed, opened_files, pack, write

KINDS = {
    "settings.json": "settings",
    "characters/Anna.png": "character",
    "chats/Anna/Anna - 2024.jsonl": "chat",
}


@pytest.mark.parametrize("below", ["", "default-user", "data/default-user", "SillyTavern/data/sam"])
def test_v01_accepts_an_installation_its_data_folder_and_the_folder_of_a_user(below: str, tmp_path: Path) -> None:
    write(tmp_path / "place", below=below)
    source = open_source(tmp_path / "place")
    assert (source.application, source.name) == ("sillytavern", "place")
    assert listed(tmp_path / "place") == KINDS
    assert contents(source) == USER


@pytest.mark.parametrize("below", ["", "default-user/", "data/default-user/", "backup/data/sam/"])
def test_v01_accepts_an_archive_of_each(below: str, tmp_path: Path) -> None:
    place = pack(tmp_path / "backup.zip", below=below)
    source = open_source(place)
    assert (source.application, source.name) == ("sillytavern", "backup.zip")
    assert contents(source) == USER
    source.close()
    assert listed(place) == KINDS


OLD = {
    "server.js": b"",
    "secrets.json": b"{}",
    "config.conf": b"",
    "thumbnails/bg/a.png": b"",
    "vectors/openai/1/index.json": b"{}",
    "backups/settings_1.json": b"{}",
    "backups/_migration/2024/secrets.json": b"{}",
    "public/index.html": b"",
    "public/script.js": b"",
    "public/img/ai4.png": b"",
    "public/css/user.css": b"",
    "public/css/main.css": b"",
    "public/scripts/extensions/third-party/Theirs/index.js": b"",
    "public/scripts/extensions/quick-reply/index.js": b"",
    **{f"public/{path}": data for path, data in USER.items()},
    "public/KoboldAI Settings/Old.settings": b"{}",
    "public/stats.json": b"{}",
}
OLD_KINDS = KINDS | {
    "KoboldAI Settings/Old.settings": "preset",
    "_css/user.css": "kept",
    "extensions/Theirs/index.js": "extension",
    "stats.json": "kept",
}


def test_v01_accepts_the_layout_before_1_12_without_the_files_of_the_application(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    assert listed(tmp_path) == OLD_KINDS | {
        "secrets.json": "secret",
        "thumbnails/bg/a.png": "derived",
        "vectors/openai/1/index.json": "derived",
        "backups/settings_1.json": "derived",
        "backups/_migration/2024/secrets.json": "secret",
    }
    assert listed(tmp_path / "public") == OLD_KINDS
    assert listed(pack(tmp_path / "old.zip", OLD, "SillyTavern/")) == listed(tmp_path)


def test_files_of_an_old_layout_are_read_under_their_new_paths(tmp_path: Path) -> None:
    write(tmp_path, {**OLD, "public/worlds/W.json": b"{1}", "vectors/v.json": b"{2}", "public/settings.json": b"{3}"})
    found = contents(open_source(tmp_path))
    assert (found["worlds/W.json"], found["vectors/v.json"], found["settings.json"]) == (b"{1}", b"{2}", b"{3}")


def test_v01_refuses_the_folder_of_several_users_and_names_them(tmp_path: Path) -> None:
    write(tmp_path / "data", below="alice")
    write(tmp_path / "data", below="bob")
    for place in (tmp_path, tmp_path / "data"):
        with pytest.raises(ParseError, match=r"2 users: alice, bob\. Import the folder of one .*data/alice"):
            open_source(place)
    assert listed(tmp_path / "data" / "bob") == KINDS
    with pytest.raises(ParseError, match="alice, bob"):
        open_source(pack(tmp_path / "users.zip", {f"{user}/{path}": b"" for user in ("alice", "bob") for path in USER}))


def test_v01_takes_the_only_user_who_has_files(tmp_path: Path) -> None:
    (tmp_path / "data" / "alice" / "characters").mkdir(parents=True)
    write(tmp_path / "data", below="bob")
    assert listed(tmp_path) == KINDS


def test_what_lies_beside_the_users_is_named(tmp_path: Path) -> None:
    write(tmp_path / "data", below="default-user")
    beside = {"_storage/1": b"", "cookie-secret.txt": b"", "_css/user.css": b"x", "_cache/a": b"", "_uploads/b": b""}
    write(tmp_path / "data", beside)
    others = {"_storage/1": "secret", "cookie-secret.txt": "secret", "_css/user.css": "kept"}
    assert listed(tmp_path) == KINDS | others
    assert contents(open_source(tmp_path)) == USER | {"_css/user.css": b"x"}


def test_v01_scanning_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    contents(open_source(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("path", "kind", "detail"),
    [
        ("characters/Anna.png", "character", ""),
        ("characters/Anna.PNG", "character", ""),
        ("characters/Old.webp", "character", ""),
        ("characters/notes.txt", "kept", ""),
        ("characters/Anna/joy.png", "sprite", "joy"),
        ("characters/Anna/joy-2.png", "sprite", "joy"),
        ("characters/Anna/summer/joy.smile.webp", "sprite", "joy"),
        ("characters/Anna/bgm/song.mp3", "kept", ""),
        ("chats/Anna/a.jsonl", "chat", ""),
        ("chats/loose.jsonl", "chat", ""),
        ("chats/Anna/deep/a.jsonl", "kept", ""),
        ("chats/Anna/a.txt", "kept", ""),
        ("groups/17.json", "group", ""),
        ("group chats/17.jsonl", "group_chat", ""),
        ("worlds/secrets.json", "world", ""),
        ("OpenAI Settings/A.json", "preset", "openai"),
        ("TextGen Settings/A.json", "preset", "textgenerationwebui"),
        ("KoboldAI Settings/A.settings", "preset", "kobold"),
        ("NovelAI Settings/A.json", "preset", "novel"),
        ("instruct/A.json", "preset", "instruct"),
        ("context/A.json", "preset", "context"),
        ("sysprompt/A.json", "preset", "sysprompt"),
        ("sysprompt/.migrated", "kept", ""),
        ("reasoning/A.json", "preset", "reasoning"),
        ("QuickReplies/A.json", "quick_replies", ""),
        ("User Avatars/sam.png", "persona_picture", ""),
        ("backgrounds/forest.jpg", "background", ""),
        ("backgrounds/rain.mp4", "background", ""),
        ("user/images/Anna/1.png", "chat_media", "images"),
        ("user/files/1_a.txt", "chat_media", "files"),
        ("user/workflows/a.json", "kept", ""),
        ("themes/Dark.json", "kept", ""),
        ("movingUI/A.json", "kept", ""),
        ("assets/bgm/a.mp3", "kept", ""),
        ("assets/temp/a.mp3", "derived", ""),
        ("stats.json", "kept", ""),
        ("image-metadata.json", "kept", ""),
        ("content.log", "derived", ""),
        ("vectors/openai/1/index.json", "derived", ""),
        ("thumbnails/avatar/Anna.png", "derived", ""),
        ("backups/chat_anna_1.jsonl", "derived", ""),
        ("backups/settings_sam_1.json", "derived", ""),
        ("backups/secrets_migration_1.json", "secret", ""),
        ("secrets.json", "secret", ""),
        ("secrets.json.bak", "secret", ""),
        ("characters/._Anna.png", "derived", ""),
        (".DS_Store", "derived", ""),
        ("extensions/Theirs/index.js", "extension", ""),
        ("something/else.bin", "kept", ""),
    ],
)
def test_the_path_of_a_file_tells_its_kind(path: str, kind: str, detail: str, tmp_path: Path) -> None:
    write(tmp_path, {**USER, path: b""})
    [file] = [file for file in opened_files(tmp_path) if file.path == path]
    assert isinstance(file, SourceFile)
    assert (file.kind, file.detail) == (kind, detail)


def test_files_have_sizes_and_times(tmp_path: Path) -> None:
    write(tmp_path)
    os.utime(tmp_path / "settings.json", (1_700_000_000, 1_700_000_000))
    [file] = [file for file in opened_files(tmp_path) if file.path == "settings.json"]
    assert file == SourceFile(
        path="settings.json",
        size=len(USER["settings.json"]),
        modified=datetime.fromtimestamp(1_700_000_000, UTC),
        kind="settings",
    )


def test_folders_in_another_spelling_are_those_that_are_missing(tmp_path: Path) -> None:
    write(tmp_path, {"Characters/A.png": b"1", "chats/A/a.jsonl": b"2", "CHATS/A/a.jsonl": b"3", "WORLDS/w.json": b"4"})
    assert listed(tmp_path) == {
        "CHATS/A/a.jsonl": "kept",
        "characters/A.png": "character",
        "worlds/w.json": "world",
        "chats/A/a.jsonl": "chat",
    }
    assert contents(open_source(tmp_path)) == {
        "CHATS/A/a.jsonl": b"3",
        "characters/A.png": b"1",
        "worlds/w.json": b"4",
        "chats/A/a.jsonl": b"2",
    }


@pytest.mark.parametrize(
    ("files", "address"),
    [
        ({"manifest.json": b'{"homePage": "https://example.invalid/x"}'}, "https://example.invalid/x"),
        (
            {
                ".git/config": b'[core]\n\tbare = false\n[remote "origin"]\n\turl = https://me:key@example.invalid/y.git\n'
            },
            "https://example.invalid/y.git",
        ),
        ({"manifest.json": b"damaged", "index.js": b""}, ""),
        ({"manifest.json": b'{"homePage": ["x"]}', ".git/config": b"url = nothing"}, ""),
    ],
)
def test_the_code_of_extensions_is_named_with_its_address_and_never_read(
    files: dict[str, bytes], address: str, tmp_path: Path
) -> None:
    write(tmp_path, {**USER, **{f"extensions/Theirs/{path}": data for path, data in files.items()}})
    source = open_source(tmp_path)
    found = [file for file in source.files() if isinstance(file, SourceFile) and file.kind == "extension"]
    assert {(file.path, file.detail) for file in found} == {(f"extensions/Theirs/{path}", address) for path in files}
    with pytest.raises(ParseError, match="never read"):
        source.open(found[0].path)


def test_v01_accepts_a_backup_of_risuai_also_alone_in_a_folder(tmp_path: Path) -> None:
    name, data = b"database.risudat", b"\0RISUSAVE\0\x08" + gzip.compress(b"\x81\xaacharacters\x90")
    sizes = (len(size).to_bytes(4, "little") for size in (name, data))
    (tmp_path / "backup.bin").write_bytes(next(sizes) + name + next(sizes) + data)
    for place in (tmp_path / "backup.bin", tmp_path):
        source = open_source(place)
        assert (source.application, source.name) == ("risuai", "backup.bin")
        assert "risuai_root" in listed(place).values()


CARD = CharacterCard(character=Character(name="Mira", first_mes="Hm?"))
WORLD = json.dumps({"entries": {"0": {"uid": 0, "key": ["boat"], "content": "Boats."}}}).encode()
CHAT = b'{"user_name":"Sam","character_name":"Mira","chat_metadata":{}}\n{"name":"Mira","is_user":false,"mes":"Hm?"}'
INSTRUCT = {"name": "x", "input_sequence": "<", "output_sequence": ">"}
MODULE = write_risum(Module(name="M"))


@pytest.mark.parametrize(
    ("name", "data", "path", "kind", "application"),
    [
        ("m.png", characters.to_png(CARD), "characters/m.png", "character", "sillytavern"),
        ("m.json", characters.to_json(CARD).encode(), "characters/m.json", "character", "sillytavern"),
        ("m.charx", characters.to_charx(CARD), "characters/m.charx", "character", "sillytavern"),
        ("w.json", WORLD, "worlds/w.json", "world", "sillytavern"),
        ("c.jsonl", CHAT, "chats/c.jsonl", "chat", "sillytavern"),
        ("c.jsonl", b"half a li\n" + CHAT, "chats/c.jsonl", "chat", "sillytavern"),
        ("c.json", b'{"type":"risuChat","data":{"name":"x","message":[]}}', "chats/c.json", "chat", "sillytavern"),
        ("p.json", b'{"prompts": [], "temperature": 1}', "OpenAI Settings/p.json", "preset", "sillytavern"),
        ("p.json", b'{"temp": 1, "rep_pen": 1, "genamt": 9}', "TextGen Settings/p.json", "preset", "sillytavern"),
        ("p.json", json.dumps(INSTRUCT).encode(), "instruct/p.json", "preset", "sillytavern"),
        ("p.json", b'{"name": "x", "content": "y"}', "sysprompt/p.json", "preset", "sillytavern"),
        ("all.json", json.dumps({"instruct": INSTRUCT}).encode(), "presets/all.json", "preset", "sillytavern"),
        ("q.json", b'{"qrList": []}', "QuickReplies/q.json", "quick_replies", "sillytavern"),
        ("x.json", USER["settings.json"], "settings.json", "settings", "sillytavern"),
        ("m.risum", MODULE, "modules/m.risum", "risuai_module", "risuai"),
        ("m.json", b'{"type": "risuModule", "module": {}}', "modules/m.json", "risuai_module", "risuai"),
        ("p.risup", encode_rpack(gzip.compress(b"", mtime=0)), "presets/p.risup", "risuai_preset", "risuai"),
        ("p.json", b'{"mainPrompt": "x", "jailbreak": ""}', "presets/p.json", "risuai_preset", "risuai"),
    ],
)
def test_v01_accepts_single_files_by_what_they_hold(
    name: str, data: bytes, path: str, kind: str, application: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_bytes(data)
    for place in (tmp_path / "folder" / name, tmp_path / "folder"):
        source = open_source(place)
        assert (source.application, source.name) == (application, name)
        assert listed(place) == {path: kind}
        assert contents(source) == {path: data}
        with pytest.raises(ParseError):
            source.open("characters/other.png")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"readme.txt": b"Hello."},
        {"a.bin": b"\x00\x01"},
        {"list.json": b"[1, 2]"},
        {"object.json": b"{}"},
        {"picture.png": b"\x89PNG\r\n\x1a\n"},
        {"empty.jsonl": b""},
        {"a/b/c/d/characters/x.png": b""},
        {"src/main.py": b"", "assets/x.png": b""},
    ],
)
def test_v01_says_what_is_expected_of_anything_else(files: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(ParseError, match="Expected the folder of SillyTavern"):
        open_source(write(tmp_path / "place", files))


def test_a_place_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="no file and no folder"):
        open_source(tmp_path / "nowhere")
