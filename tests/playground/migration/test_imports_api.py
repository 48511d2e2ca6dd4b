"""Imports of whole folders over the API."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.migration.edge_support import CHAT, FILES, SECRET, open_imports, sent_chat

pytestmark = pytest.mark.anyio


async def test_a_folder_is_sent_scanned_imported_and_reported(database_url: str, tmp_path: Path) -> None:
    async with open_imports(database_url, tmp_path) as imports:
        before = await imports.names("characters")
        import_id = await imports.scanned()
        found = await imports.api("GET", f"/imports/{import_id}")
        assert found["status"] == "scanned"
        assert sum(line["count"] for line in found["totals"]) == len(FILES)
        assert {line["verdict"] for line in found["totals"]} == {None, "refused"}
        assert await imports.names("characters") == before, "a scan writes nothing"

        begun = await imports.api("POST", f"/imports/{import_id}/start", json={})
        await imports.over(begun)
        done = await imports.api("GET", f"/imports/{import_id}")
        assert (done["status"], done["error"]) == ("done", None)
        items = await imports.items(import_id)
        assert set(items) == set(FILES)
        assert all(item["verdict"] for item in items.values())
        anna = items["characters/Anna.png"]
        assert (anna["verdict"], anna["target_kind"]) == ("exact", "character")
        assert (await imports.api("GET", f"/characters/{anna['target_id']}"))["name"] == "Anna"
        chat = await imports.api("GET", f"/conversations/{items[CHAT]['target_id']}/messages")
        assert [message["content"] for message in chat["items"]] == ["Hello.", "Is it late?", "Very."]

        report = await imports.api("GET", f"/imports/{import_id}/report")
        assert [line["path"] for line in report["lines"]] == [item["path"] for item in items.values()]
        assert report["totals"]["refused"] == sum(item["verdict"] == "refused" for item in items.values())
        assert [line["id"] for line in (await imports.api("GET", "/imports"))["items"]] == [import_id]


async def test_files_keep_the_time_at_which_they_were_changed(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent({})
        named = {"path": "worlds/Sea.json", "modified": 1_700_000_000_000}
        await imports.api("PUT", f"/imports/{import_id}/files", params=named, content=FILES["worlds/Sea.json"])
        await imports.over(await imports.api("POST", f"/imports/{import_id}/scan"))
        (item,) = (await imports.items(import_id)).values()
        assert item["modified"] == "2023-11-14T22:13:20Z"


async def test_only_files_that_have_not_arrived_unchanged_are_missing(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent({})
        sea = {"path": "worlds/Sea.json", "size": len(FILES["worlds/Sea.json"]), "modified": 1_700_000_000_123}
        missing = f"/imports/{import_id}/missing_files"
        assert await imports.api("POST", missing, json={"files": [sea]}) == {"paths": ["worlds/Sea.json"]}
        named = {"path": sea["path"], "modified": sea["modified"]}
        await imports.api("PUT", f"/imports/{import_id}/files", params=named, content=FILES["worlds/Sea.json"])
        assert await imports.api("POST", missing, json={"files": [sea]}) == {"paths": []}
        others = [
            {"size": 1},
            {"modified": 1_700_000_000_124},
            {"path": "worlds"},
            {"path": "../Sea.json"},
            {"path": ""},
        ]
        asked = [{**sea, **other} for other in others]
        found = await imports.api("POST", missing, json={"files": asked})
        assert found == {"paths": [file["path"] for file in asked]}
        await imports.over(await imports.api("POST", f"/imports/{import_id}/scan"))
        refused = await imports.client.post(f"{API_PREFIX}{missing}", json={"files": [sea]})
        assert refused.status_code == 409


async def test_files_of_an_import_are_filtered_searched_and_paged(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        assert set(await imports.items(import_id, kind="character")) == {"characters/Anna.png", "characters/Broken.png"}
        assert set(await imports.items(import_id, state="refused")) == {"secrets.json"}
        assert set(await imports.items(import_id, text="SEA.js")) == {"worlds/Sea.json"}
        seen: list[str] = []
        after: dict[str, Any] = {}
        while True:
            page = await imports.api("GET", f"/imports/{import_id}/items", params={"limit": 3, **after})
            seen += [item["path"] for item in page["items"]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert sorted(seen) == sorted(FILES)


async def test_a_file_can_be_skipped_alone_and_kinds_can_be_left_out(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        sea = (await imports.items(import_id, text="Sea"))["worlds/Sea.json"]
        path = f"/imports/{import_id}/items/{sea['position']}/choice"
        assert (await imports.api("PUT", path, json={"choice": "skip"}))["choice"] == "skip"
        assert (await imports.api("PUT", path, json={"choice": None}))["choice"] is None
        await imports.api("PUT", path, json={"choice": "skip"})
        begun = await imports.api("POST", f"/imports/{import_id}/start", json={"kinds": ["world", "character"]})
        assert begun["choices"] == {"kinds": ["world", "character"], "conflict": "both", "enable_scripts": False}
        await imports.over(begun)
        verdicts = {path: item["verdict"] for path, item in (await imports.items(import_id)).items()}
        assert verdicts["worlds/Sea.json"] == verdicts[CHAT] == "skipped"
        assert verdicts["characters/Anna.png"] == "exact"
        assert "Sea" not in await imports.names("lorebooks")


async def test_an_import_again_brings_only_what_is_new(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        first = await imports.items(await imports.imported())
        longer = {**FILES, CHAT: sent_chat("Hello.", "Is it late?", "Very.", "Then good night.")}
        again = await imports.items(await imports.imported(longer))
        assert again["characters/Anna.png"]["verdict"] == "unchanged"
        assert again[CHAT]["target_id"] == first[CHAT]["target_id"]
        chat = await imports.api("GET", f"/conversations/{first[CHAT]['target_id']}/messages")
        assert [message["content"] for message in chat["items"]][-1] == "Then good night."
        assert (await imports.names("characters")).count("Anna") == 1


async def test_secrets_are_named_and_nowhere_else(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.imported()
        found = await imports.api("GET", f"/imports/{import_id}")
        assert "secrets.json" in found["summary"]["secrets"]
        assert any(secret.startswith("settings.json: ") for secret in found["summary"]["secrets"])
        report = await imports.client.get(f"{API_PREFIX}/imports/{import_id}/report")
        page = await imports.client.get(f"{API_PREFIX}/imports/{import_id}/report?format=html")
        assert SECRET not in json.dumps(found) + report.text + page.text


async def test_the_report_as_a_page_needs_nothing_else(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        hostile = {**FILES, "themes/<script>alert(1)<.json": b"{}"}
        import_id = await imports.imported(hostile)
        answer = await imports.client.get(f"{API_PREFIX}/imports/{import_id}/report?format=html")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-disposition"].startswith("attachment")
        page = answer.text
        assert page.startswith("<!doctype html>")
        assert page.rstrip().endswith("</html>")
        assert len(re.findall(r"<tr data-verdict", page)) == len(hostile)
        assert not re.search(r"<script|<link|src=|href=", page)
        assert "&lt;script&gt;alert(1)" in page


async def test_a_file_is_received_piece_by_piece_up_to_the_limit(sqlite_url: str, tmp_path: Path) -> None:
    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield bytes(1024 * 1024)

    async with open_imports(sqlite_url, tmp_path, import_bytes=8 * 1024 * 1024) as imports:
        import_id = await imports.sent({})
        path = f"{API_PREFIX}/imports/{import_id}/files?path=backup.bin"
        assert (await imports.client.put(path, content=pieces(6))).json()["size"] == 6 * 1024 * 1024
        refused = await imports.client.put(path, content=pieces(9))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        assert (await imports.client.put(path, content=pieces(1))).json()["size"] == 1024 * 1024
        left = [file for file in (tmp_path / "imports").rglob("*") if file.is_file()]
        assert [(file.name, file.stat().st_size) for file in left] == [("backup.bin", 1024 * 1024)]


@pytest.mark.parametrize("path", ["../settings.json", "/etc/passwd", "a/../../b", "a//b", "C:\\x", "a\x00b", "x" * 300])
async def test_a_path_that_is_no_file_below_the_folder_is_refused(sqlite_url: str, tmp_path: Path, path: str) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent({})
        answer = await imports.client.put(
            f"{API_PREFIX}/imports/{import_id}/files", params={"path": path}, content=b"{}"
        )
        assert answer.status_code == 422
        assert [file for file in tmp_path.rglob("*") if file.name in ("passwd", "b", "x")] == []


async def test_what_is_no_folder_of_an_application_fails_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent({"holiday.txt": b"Sun."})
        begun = await imports.api("POST", f"/imports/{import_id}/scan")
        with pytest.raises(AssertionError):
            await imports.over(begun)
        failed = await imports.api("GET", f"/imports/{import_id}")
        assert failed["status"] == "failed"
        assert failed["error"]["message"].endswith(".")


async def test_an_import_without_files_is_not_scanned(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent({})
        answer = await imports.client.post(f"{API_PREFIX}/imports/{import_id}/scan")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


async def test_a_second_person_sees_nothing_of_an_import(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        await imports.installation.owner_with_password()
        imports.client = await imports.installation.signed_in(await imports.installation.owner_with_password())
        import_id = await imports.imported()
        hugo = await imports.installation.signed_in(await imports.installation.add("Hugo"))
        assert (await hugo.get(f"{API_PREFIX}/imports")).json()["items"] == []
        for method, path in (
            ("GET", ""), ("DELETE", ""), ("POST", "/scan"), ("GET", "/items"), ("POST", "/pause"), ("GET", "/report"),
            ("GET", "/report?format=html"), ("PUT", "/files?path=a.json"),
        ):  # fmt: skip
            answer = await hugo.request(method, f"{API_PREFIX}/imports/{import_id}{path}")
            assert answer.status_code == 404, f"{method} {path}: {answer.text}"


async def test_a_discarded_import_keeps_its_report_and_what_was_imported(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        await imports.api("DELETE", f"/imports/{import_id}")
        assert (await imports.api("GET", f"/imports/{import_id}"))["status"] == "discarded"
        assert not (tmp_path / "imports" / import_id).exists()
        answer = await imports.client.post(f"{API_PREFIX}/imports/{import_id}/start", json={})
        assert answer.status_code == 409
