"""Where RisuAI's data is read from: backups, folders and databases in every encoding."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tavernkit.errors import ParseError, TavernKitError, UnsupportedVersionError
from tavernkit.migration.files import RefusedFile, SourceFile
from tavernkit.migration.risuai import RisuaiSource, open_risuai
from tavernkit.values import Json
from tests.migration.risuai.backups import (
    ANNA,
    BRANCH,
    ENCODINGS,
    FIRST,
    GROUP,
    MARK,
    PICTURE,
    backup,
    block,
    character,
    chat,
    database,
    encoded,
    in_blocks,
    message,
    packed,
    record,
    write_backup_file,
    write_desktop_folder,
    write_node_folder,
)

PNG = b"\x89PNG\r\n\x1a\n"
WEBP = b"RIFF\0\0\0\0WEBP"
STORY = database(
    character(
        ANNA,
        "Anna",
        chat(FIRST, message("Hi."), message("Yes?", role="user", time=1_700_000_000_123)),
        chat(BRANCH, message("Hi.")),
        image=f"assets/{PICTURE}",
    ),
    character(GROUP, "Both", type="group", characters=[ANNA]),
    modules=[{"name": "Magic", "id": "magic", "lorebook": []}],
    botPresets=[{"name": "Default", "mainPrompt": "Write."}, {"name": "Other"}],
    personas=[{"name": "Mia", "personaPrompt": "A poet.", "icon": "", "id": "mia"}],
)


def opened(place: Path) -> RisuaiSource:
    source = open_risuai(place)
    assert source is not None
    return source


def contents(source: RisuaiSource) -> dict[str, Json]:
    """Every part as JSON, and other files as bytes."""
    found: dict[str, Json] = {}
    for file in source.files():
        if isinstance(file, SourceFile) and file.kind != "secret":
            with source.open(file.path) as opened_file:
                data = opened_file.read()
            assert len(data) == file.size
            found[file.path] = json.loads(data) if file.path.endswith(".json") else data
    return found


def kinds(source: RisuaiSource) -> dict[str, str]:
    return {file.path: file.kind for file in source.files() if isinstance(file, SourceFile)}


def refused(source: RisuaiSource) -> dict[str, str]:
    return {file.path: file.sentence for file in source.files() if isinstance(file, RefusedFile)}


class TestParts:
    def test_a_backup_is_read_as_parts_and_files(self, tmp_path: Path) -> None:
        source = opened(write_backup_file(tmp_path, STORY, {PICTURE: PNG}))
        assert (source.application, source.name) == ("risuai", "risu-backup.bin")
        assert kinds(source) == {
            "database.json": "risuai_root",
            "modules/magic.json": "risuai_module",
            "presets/0.json": "risuai_preset",
            "presets/1.json": "risuai_preset",
            "personas/mia.json": "risuai_persona",
            f"characters/{ANNA}.json": "risuai_character",
            f"characters/{GROUP}.json": "risuai_character",
            f"chats/{ANNA}/{FIRST}.json": "risuai_chat",
            f"chats/{ANNA}/{BRANCH}.json": "risuai_chat",
            f"assets/{PICTURE}": "risuai_asset",
        }
        found = contents(source)
        root = found["database.json"]
        assert isinstance(root, dict)
        assert root["username"] == "Mia"
        assert root["characters"] == [ANNA, GROUP]
        anna = found[f"characters/{ANNA}.json"]
        assert isinstance(anna, dict)
        assert anna["chats"] == [FIRST, BRANCH]
        assert found[f"assets/{PICTURE}"] == PNG

    def test_parts_are_compact_json_with_the_fields_in_their_order(self, tmp_path: Path) -> None:
        source = opened(write_backup_file(tmp_path, STORY))
        with source.open(f"chats/{ANNA}/{FIRST}.json") as file:
            assert file.read().decode() == (
                '{"message":[{"role":"char","data":"Hi."},{"role":"user","data":"Yes?","time":1700000000123}],'
                f'"note":"","name":"Chat 1","localLore":[],"id":"{FIRST}"}}'
            )

    def test_files_are_the_same_whichever_part_was_read_last(self, tmp_path: Path) -> None:
        source = opened(write_backup_file(tmp_path, STORY))
        before = contents(source)
        assert {path: json.loads(source.open(path).read()) for path in reversed(before)} == before

    def test_groups_come_behind_characters_and_chats_behind_those_they_were_branched_from(self, tmp_path: Path) -> None:
        note = f"{{{{specialcomment::branchedfrom::{FIRST}::Chat::1::m::}}}}"
        story = database(
            character(GROUP, "Both", type="group", characters=[ANNA]),
            character(ANNA, "Anna", chat(BRANCH, message("Hi."), message(note, isComment=True)), chat(FIRST)),
        )
        assert list(kinds(opened(write_backup_file(tmp_path, story)))) == [
            "database.json",
            f"characters/{ANNA}.json",
            f"characters/{GROUP}.json",
            f"chats/{ANNA}/{FIRST}.json",
            f"chats/{ANNA}/{BRANCH}.json",
        ]

    def test_ids_that_are_missing_doubled_or_unsafe_get_names_of_their_own(self, tmp_path: Path) -> None:
        ids = ["../../x", "a/b", "same", "same", ""]
        people = [character(id, "Somebody") for id in ids]
        found = kinds(opened(write_backup_file(tmp_path, database(*people))))
        assert [path for path in found if path.startswith("characters/")] == [
            "characters/unnamed.json",
            "characters/a%2Fb.json",
            "characters/same.json",
            "characters/same~2.json",
            "characters/unnamed~2.json",
        ]

    def test_what_is_no_object_stays_in_its_list(self, tmp_path: Path) -> None:
        found = contents(opened(write_backup_file(tmp_path, database(modules=[None, {"id": "m"}, "text"]))))
        root = found["database.json"]
        assert isinstance(root, dict)
        assert root["modules"] == [{"kept": None}, "m", {"kept": "text"}]

    def test_values_that_json_has_not_are_what_javascript_writes_for_them(self, tmp_path: Path) -> None:
        undefined = msgspec.msgpack.Ext(0, b"\0")
        story = database(none=undefined, listed=[undefined, float("nan"), 2.0, 0.5, 2**60])
        root = contents(opened(write_backup_file(tmp_path, story)))["database.json"]
        assert isinstance(root, dict)
        assert "none" not in root
        assert root["listed"] == [None, None, 2, 0.5, 1152921504606847000]


class TestPlaces:
    def test_v14_every_encoding_gives_the_same_parts(self, tmp_path: Path) -> None:
        found = {}
        for encoding in ENCODINGS:
            path = tmp_path / f"{encoding}.risudat"
            path.write_bytes(encoded(STORY, encoding))
            found[encoding] = contents(opened(path))
        expected = found["08"]
        assert len(expected) == 9
        assert found == dict.fromkeys(ENCODINGS, expected)

    def test_v14_records_may_stand_in_any_order(self, tmp_path: Path) -> None:
        path = tmp_path / "backup.bin"
        path.write_bytes(record("database.risudat", encoded(STORY, "08")) + record(PICTURE, PNG))
        assert contents(opened(path)) == contents(opened(write_backup_file(tmp_path, STORY, {PICTURE: PNG})))

    def test_the_save_folder_of_the_node_server_is_read_without_its_passwords(self, tmp_path: Path) -> None:
        secrets = {"__password": b"sesame", "__authcode": b"sesame", "__sionyw_client_data.json": b"sesame"}
        write_node_folder(tmp_path, STORY, {f"assets/{PICTURE}": PNG, **secrets})
        (tmp_path / "save" / "notes.txt").write_text("sesame")
        source = opened(tmp_path)
        assert set(refused(source)) == {"notes.txt"}
        found = kinds(source)
        assert found[f"assets/{PICTURE}"] == "risuai_asset"
        assert {path: found[path] for path in secrets} == dict.fromkeys(secrets, "secret")
        for path in secrets:
            with pytest.raises(ParseError):
                source.open(path)
        assert opened(tmp_path / "save").name == "save"

    def test_the_folder_of_the_desktop_application_is_read(self, tmp_path: Path) -> None:
        files = {f"assets/{PICTURE}": PNG, "database/dbbackup-170.bin": encoded(STORY, "08")}
        source = opened(write_desktop_folder(tmp_path, STORY, files))
        assert contents(source)[f"assets/{PICTURE}"] == PNG
        assert "choose this file itself" in refused(source)["database/dbbackup-170.bin"]
        assert contents(opened(tmp_path / "database" / "dbbackup-170.bin"))["database.json"] is not None

    def test_links_in_folders_are_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("sesame")
        folder = tmp_path / "desktop"
        folder.mkdir()
        write_desktop_folder(folder, STORY, {})
        (folder / "assets").mkdir()
        (folder / "assets" / "link.png").symlink_to(tmp_path / "secret.txt")
        assert "not followed" in refused(opened(folder))["assets/link.png"]

    def test_characters_that_lie_beside_the_database_are_found(self, tmp_path: Path) -> None:
        link = block(6, ANNA, {"v": 1, "type": 2, "name": ANNA})
        gone = block(6, GROUP, {"v": 1, "type": 2, "name": GROUP})
        data = in_blocks(database()) + link + gone
        write_desktop_folder(
            tmp_path, STORY, {f"remotes/remotes/{ANNA}.local.bin": json.dumps(character(ANNA, "Anna")).encode()}
        )
        (tmp_path / "database" / "database.bin").write_bytes(data)
        source = opened(tmp_path)
        assert f"characters/{ANNA}.json" in kinds(source)
        assert "beside the database" in refused(source)[f"database/{GROUP}"]

    def test_blocks_that_are_listed_and_not_there_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "database.bin"
        path.write_bytes(in_blocks(database(character(ANNA, "Anna"), __directory=["preset", "somebody"])))
        assert "does not contain it" in refused(opened(path))["database/somebody"]

    @pytest.mark.parametrize(
        "data",
        [b"", b"PK\x03\x04", b"{}", b"\0\0\0\0\0\0\0\0", b"\x05\0\0\0hello\xff\xff\xff\xff", PNG],
    )
    def test_other_files_are_none_of_risuais(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "file.bin"
        path.write_bytes(data)
        assert open_risuai(path) is None

    def test_other_folders_are_none_of_risuais(self, tmp_path: Path) -> None:
        (tmp_path / "characters").mkdir()
        assert open_risuai(tmp_path) is None

    def test_memory_stays_flat_however_large_the_database_is(self, tmp_path: Path) -> None:
        texts = [f"{number} " + "word " * 100_000 for number in range(60)]
        chats = [chat(f"c{number}", message(text)) for number, text in enumerate(texts)]
        place = write_backup_file(tmp_path, database(character(ANNA, "Anna", *chats)), encoding="07")
        del texts, chats
        tracemalloc.start()
        source = opened(place)
        sizes = [len(source.open(file.path).read()) for file in source.files() if isinstance(file, SourceFile)]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sum(sizes) > 30_000_000
        assert peak < 10_000_000


class TestWhatIsMissing:
    def test_v14_a_cut_backup_keeps_whole_records(self, tmp_path: Path) -> None:
        whole = backup(STORY, {PICTURE: PNG, "second.png": WEBP})
        path = tmp_path / "cut.bin"
        path.write_bytes(whole[: len(record(PICTURE, PNG)) + 20])
        source = opened(path)
        assert contents(source) == {f"assets/{PICTURE}": PNG}
        assert "cut off" in refused(source)["cut.bin"]
        assert "no database" in refused(source)["database.risudat"]

    def test_v14_missing_assets_cold_chats_and_inlays_are_named(self, tmp_path: Path) -> None:
        cold = chat(FIRST, message(f"{MARK}11111111-2222-4333-8444-555555555555"), name="Old one")
        shown = chat(BRANCH, message("Look: {{inlay::picture-1}} {{inlayed::kept-1}}"), name="Pictures")
        story = database(character(ANNA, "Anna", cold, shown, image="assets/gone.png"))
        source = opened(write_backup_file(tmp_path, story, {"inlay_kept-1.risuinlay": b"x"}))
        found = refused(source)
        assert "“Anna” uses this file" in found["assets/gone.png"]
        assert "“Old one”" in found["coldstorage/11111111-2222-4333-8444-555555555555.json"]
        assert "“Pictures”" in found["inlays/picture-1"]
        assert "inlays/kept-1" not in found
        assert kinds(source)[f"chats/{ANNA}/{FIRST}.json"] == "kept"

    @pytest.mark.parametrize("name", ["coldstorage_{}.json", "{}.json", "coldstorage/{}.json"])
    @pytest.mark.parametrize("is_packed", [True, False])
    def test_chats_in_cold_storage_are_filled_in(self, tmp_path: Path, name: str, is_packed: bool) -> None:
        key = "11111111-2222-4333-8444-555555555555"
        moved = {"message": [message("Once."), message("Yes.", role="user")], "scriptstate": {"$mood": "glad"}}
        data = json.dumps(moved).encode()
        story = database(character(ANNA, "Anna", chat(FIRST, message(MARK + key), scriptstate={})))
        files = {name.format(key): gzip.compress(data) if is_packed else data}
        source = opened(write_backup_file(tmp_path, story, files))
        found = contents(source)[f"chats/{ANNA}/{FIRST}.json"]
        assert isinstance(found, dict)
        assert (found["message"], found["scriptstate"]) == (moved["message"], moved["scriptstate"])
        assert refused(source) == {}

    def test_a_chat_that_cannot_be_read_does_not_keep_others_from_being_read(self, tmp_path: Path) -> None:
        key = "11111111-2222-4333-8444-555555555555"
        story = database(character(ANNA, "Anna", chat(FIRST, message(MARK + key)), chat(BRANCH, message("Hi."))))
        source = opened(write_backup_file(tmp_path, story, {f"{key}.json": b"{ broken"}))
        assert "not valid JSON" in refused(source)[f"chats/{ANNA}/{FIRST}.json"]
        assert f"chats/{ANNA}/{BRANCH}.json" in contents(source)

    def test_half_a_surrogate_pair_is_read_in_every_encoding(self, tmp_path: Path) -> None:
        story = database(character(ANNA, "Anna", chat(FIRST, message("½"))))
        for encoding in ("07", "blocks"):
            broken = b'"\\ud83d"' if encoding == "blocks" else b"\xa3\xed\xa0\xbd"
            whole = '"½"'.encode() if encoding == "blocks" else packed("½")
            path = tmp_path / f"{encoding}.risudat"
            data = encoded(story, encoding)
            if encoding == "blocks":
                person = json.dumps(story["characters"][0], ensure_ascii=False).encode()  # type: ignore[index]
                longer = struct.pack("<I", len(person) + len(broken) - len(whole))
                data = data.replace(struct.pack("<I", len(person)), longer)
            path.write_bytes(data.replace(whole, broken))
            found = contents(opened(path))[f"chats/{ANNA}/{FIRST}.json"]
            assert isinstance(found, dict)
            assert found["message"] == [{"role": "char", "data": "\ud83d"}]


class TestWhatIsRefused:
    def test_v15_a_backup_that_an_account_has_encrypted_is_refused_with_advice(self, tmp_path: Path) -> None:
        path = tmp_path / "backup.bin"
        path.write_bytes(record("encryption.risudat", b'{"type":"account"}') + record("database.risudat", b"\x99" * 40))
        with pytest.raises(ParseError, match="make a backup without account encryption"):
            open_risuai(path)

    @pytest.mark.parametrize(
        ("code", "advice"),
        [*((code, "PocketRisu, make a backup in RisuAI's format") for code in (10, 11, 12)), (99, "Make a backup")],
    )
    def test_encodings_that_are_not_known_are_refused_with_advice(self, tmp_path: Path, code: int, advice: str) -> None:
        path = tmp_path / "database.bin"
        path.write_bytes(b"\0RISUSAVE\0" + bytes([code]) + b"x" * 20)
        with pytest.raises(
            UnsupportedVersionError,
            match="PocketRisu, make a backup in RisuAI.s format" if code in (10, 11, 12) else "Make a backup",
        ):
            open_risuai(path)

    def test_a_bomb_is_refused_before_it_is_unpacked(self, tmp_path: Path) -> None:
        path = tmp_path / "database.bin"
        path.write_bytes(b"\0RISUSAVE\0\x08" + gzip.compress(bytes(300 * 1024 * 1024), 9))
        tracemalloc.start()
        with pytest.raises(ParseError, match="times its size"):
            open_risuai(path)
        assert tracemalloc.get_traced_memory()[1] < 50 * 1024 * 1024
        tracemalloc.stop()

    def test_a_list_in_a_list_without_end_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "database.risudat"
        path.write_bytes(b"\0RISUSAVE\0\x07" + b"\x81\xaacharacters" + b"\x91" * 100_000 + b"\xc0")
        with pytest.raises(ParseError, match="nested too deeply"):
            open_risuai(path)

    def test_a_part_that_is_nested_too_deeply_is_refused(self, tmp_path: Path) -> None:
        deep: Json = "x"
        for _ in range(300):
            deep = [deep]
        source = opened(write_backup_file(tmp_path, database(character(ANNA, "Anna", chat(FIRST, deep=deep)))))
        assert "200 levels deep" in refused(source)[f"chats/{ANNA}/{FIRST}.json"]

    @pytest.mark.parametrize("encoding", ENCODINGS)
    def test_a_database_that_is_cut_anywhere_is_read_or_refused(self, tmp_path: Path, encoding: str) -> None:
        whole = encoded(STORY, encoding)
        path = tmp_path / "database.risudat"
        for end in range(0, len(whole), 37):
            path.write_bytes(whole[:end])
            with suppress(TavernKitError):
                source = open_risuai(path)
                assert source is None or isinstance(contents(source), dict)

    def test_unsafe_names_of_records_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "backup.bin"
        names = ["../../etc/passwd.png", "/root.png", "a/../b.png", "C:\\x.png"]
        path.write_bytes(b"".join(record(name, PNG) for name in names) + backup(database()))
        source = opened(path)
        assert set(refused(source)) == set(names)
        assert set(contents(source)) == {"database.json"}


class TestSecrets:
    def test_v12_planted_secrets_are_in_no_part_and_are_named(self, tmp_path: Path) -> None:
        story = database(
            character(ANNA, "Anna", chat(FIRST, message("Hi."))),
            account={"token": "SESAME", "id": "1", "data": {"refresh_token": "SESAME"}},
            openAIKey="SESAME",
            claudeAPIKey="SESAME",
            palmAPI="SESAME",
            NAIApiKey="SESAME",
            falToken="SESAME",
            mancerHeader="SESAME",
            proxyKey="SESAME",
            forceReplaceUrl="https://SESAME/",
            novelai={"token": "SESAME", "model": "clio"},
            hordeConfig={"apiKey": "SESAME", "model": "m"},
            deeplOptions={"key": "SESAME", "freeApi": True},
            google={"accessToken": "SESAME", "projectId": "p"},
            vertexPrivateKey="SESAME",
            vertexClientEmail="SESAME",
            OaiCompAPIKeys={"deepseek": "SESAME"},
            customModels=[{"id": "m", "key": "SESAME", "params": "top_k=1\nheader::Authorization=SESAME\ntop_p=1"}],
            authRefreshes=[{"url": "u", "refreshToken": "SESAME", "clientSecret": "SESAME"}],
            additionalParams=[["header::Authorization", "SESAME"], ["seed", "1"]],
            plugins=[{"name": "p", "script": "run()", "realArg": {"key": "SESAME"}}],
            pluginCustomStorage={"api_key": "SESAME", "note": "kept"},
            hotkeys=[{"key": "Enter", "action": "send"}],
            loreBook=[{"name": "Old", "data": [{"key": "dragon", "content": "Green."}]}],
            hideApiKey=True,
            botPresets=[{"name": "P", "openAIKey": "SESAME", "proxyKey": "SESAME", "mainPrompt": "Write."}],
        )
        source = opened(write_backup_file(tmp_path, story))
        found = contents(source)
        assert "SESAME" not in json.dumps(found)
        root = found["database.json"]
        assert isinstance(root, dict)
        assert "account" not in root
        assert root["novelai"] == {"token": "", "model": "clio"}
        assert root["hotkeys"] == [{"key": "Enter", "action": "send"}]
        assert root["loreBook"] == story["loreBook"]
        assert root["pluginCustomStorage"] == {"api_key": "", "note": "kept"}
        assert root["customModels"] == [{"id": "m", "key": "", "params": "top_k=1\n\ntop_p=1"}]
        assert root["hideApiKey"] is True
        named = {path for path, kind in kinds(source).items() if kind == "secret"}
        assert {"database.json/account", "database.json/openAIKey", "presets/0.json/proxyKey"} <= named
        assert "database.json/plugins.realArg" in named
