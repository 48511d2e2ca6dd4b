"""The pages of imports and exports, without a browser."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from uuid import UUID, uuid4
from zipfile import ZipFile

import httpx2
import pytest

from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tests.playground.migration.edge_support import CHAT, FILES, SECRET, ImportClient, open_imports
from tests.playground.support.jobs import ended_job

pytestmark = pytest.mark.anyio


async def page_of(imports: ImportClient, path: str) -> str:
    answer = await imports.client.get(path)
    assert answer.status_code == 200, answer.text
    return text_of(answer)


def text_of(answer: httpx2.Response) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", answer.text)))


async def test_the_scan_is_a_table_with_choices(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        html = (await imports.client.get(f"/import/{import_id}")).text
        page = await page_of(imports, f"/import/{import_id}")
        assert "Nothing is imported yet. Check what was found, then select Import." in page
        assert "Found in SillyTavern" in page
        assert re.search(r"Characters 2 files, [^→]*→ characters · New: 2 characters 2 ", page)
        assert "conversations, branches and checkpoints" in page
        assert re.search(r"\d secrets are skipped", page)
        assert "1 broken link" in page
        assert 'name="kind" value="character" checked' in html
        assert 'name="kind" value="secret"' not in html, "secrets cannot be chosen"
        assert SECRET not in html
        only = await page_of(imports, f"/import/{import_id}?kind=world")
        assert "worlds/Sea.json" in only
        assert "characters/Anna.png" not in only


async def test_a_choice_for_one_file_is_saved_at_once(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        position = (await imports.items(import_id))["worlds/Sea.json"]["position"]
        path = f"/import/{import_id}/items/{position}"
        stream = await imports.client.post(path, data={"choice": "skip"}, headers={"Accept": CONTENT_TYPE})
        assert f'target="item_{position}"' in stream.text
        assert '<option value="skip" selected>' in stream.text
        assert (await imports.client.post(path, data={"choice": ""})).status_code == 303
        assert (await imports.items(import_id))["worlds/Sea.json"]["choice"] is None


async def test_an_import_is_started_followed_and_reported(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        chosen = {"kind": ["character", "chat", "world", "settings", "kept"], "conflict": "replace"}
        begun = await imports.client.post(f"/import/{import_id}/start", data=chosen)
        assert begun.headers["location"] == f"/import/{import_id}"
        shown = await imports.api("GET", f"/imports/{import_id}")
        assert shown["choices"]["conflict"] == "replace"
        await imports.over(shown)
        stream = await imports.client.get(f"/import/{import_id}/progress?after=importing")
        assert stream.headers["content-type"].startswith(CONTENT_TYPE)
        assert 'target="import_head"' in stream.text
        assert 'target="import_body"' in stream.text, "the report takes the place of the scan"
        assert 'target="import_body"' not in (await imports.client.get(f"/import/{import_id}/progress?after=done")).text
        page = await page_of(imports, f"/import/{import_id}")
        assert "The import is complete." in page
        assert "Imported. An export writes the same bytes" in page
        refused = await page_of(imports, f"/import/{import_id}?verdict=refused")
        assert "secrets.json" in refused
        assert "characters/Anna.png" not in refused
        items = await imports.items(import_id)
        html = (await imports.client.get(f"/import/{import_id}?search=Anna")).text
        assert f'href="/characters/{items["characters/Anna.png"]["target_id"]}"' in html
        assert f'href="/conversations/{items[CHAT]["target_id"]}"' in html


async def test_what_was_imported_names_its_file_and_links_to_the_report(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.imported()
        items = await imports.items(import_id)
        pages = {
            "characters/Anna.png": "/characters/{id}",
            "worlds/Sea.json": "/lorebooks/{id}",
            CHAT: "/conversations/{id}/tree",
            "OpenAI Settings/Calm.json": "/presets/{id}",
            "QuickReplies/Moves.json": "/quick-replies/{id}",
            "User Avatars/sam.png": "/personas/{id}",
            "groups/1700000000000.json": "/spaces/{id}",
        }
        for path, address in pages.items():
            answer = await imports.client.get(address.replace("{id}", items[path]["target_id"]))
            assert f"Imported from default-user: {path}." in text_of(answer), address
            report = re.search(rf'href="(/import/{import_id}\?[^"]+)"', answer.text)
            assert report is not None
            assert path in await page_of(imports, unescape(report[1]).partition("#")[0])


async def test_an_archive_is_imported_without_scripts(sqlite_url: str, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with ZipFile(archive, "w") as written:
        for path, data in FILES.items():
            written.writestr(path, data)
    async with open_imports(sqlite_url, tmp_path) as imports:
        sent = await imports.client.post("/import", files={"file": ("backup.zip", archive.getvalue())})
        assert sent.status_code == 303
        import_id = sent.headers["location"].rpartition("/")[2]
        await imports.over(await imports.api("GET", f"/imports/{import_id}"))
        assert set(await imports.items(import_id)) == set(FILES)
        assert "backup.zip" in await page_of(imports, "/import")


async def test_an_import_is_paused_resumed_and_discarded_from_its_page(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned()
        refused = await imports.client.post(f"/import/{import_id}/pause")
        assert refused.status_code == 409
        assert "Only an import that is at work can be paused." in text_of(refused)
        assert "Discard this import?" in await page_of(imports, f"/import/{import_id}")
        discarded = await imports.client.post(f"/import/{import_id}/discard")
        assert discarded.headers["location"] == "/import"
        assert "The import was discarded." in await page_of(imports, f"/import/{import_id}")


async def test_an_upload_that_was_left_can_be_scanned_or_discarded(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.sent()
        page = await page_of(imports, f"/import/{import_id}")
        assert "The upload is not complete." in page
        assert "Scan received files" in page
        assert "Choose “default-user” again." in page
        listed = await page_of(imports, "/import")
        assert "Continue uploading" in listed
        assert f"{len(FILES)} files (" in listed
        assert (await imports.client.post(f"/import/{import_id}/scan")).status_code == 303
        await imports.over(await imports.api("GET", f"/imports/{import_id}"))


async def test_single_items_are_found_chosen_and_exported(database_url: str, tmp_path: Path) -> None:
    async with open_imports(database_url, tmp_path) as imports:
        items = await imports.items(await imports.imported())
        of = {
            "character": items["characters/Anna.png"]["target_id"],
            "space": items["groups/1700000000000.json"]["target_id"],
            "lorebook": items["worlds/Sea.json"]["target_id"],
            "preset": items["OpenAI Settings/Calm.json"]["target_id"],
        }
        searches = {"character": "ann", "space": "hARB", "lorebook": "se", "preset": "cal"}
        for kind, id in of.items():
            assert f'name="{kind}_id" value="{id}">' in (await imports.client.get(f"/export?listed={kind}")).text
            found = (await imports.client.get(f"/export?listed={kind}&search={searches[kind]}")).text
            assert re.findall(r'name="\w+_id" value="([\w-]+)"', found) == [id]
            none = await page_of(imports, f"/export?listed={kind}&search=nobody")
            assert "No items match." in none
        chosen = "&".join(f"{kind}_id={id}" for kind, id in of.items())
        page = (await imports.client.get(f"/export?{chosen}&listed=preset&search=nobody")).text
        assert re.findall(r'name="(\w+)_id" value="[\w-]+" checked', page) == list(of)
        assert 'name="what" value="items" checked' in page

        ids = {f"{kind}_id": id for kind, id in of.items() if kind in ("lorebook", "preset")}
        begun = await imports.client.post("/export", data={"what": "items", **ids})
        job_id = begun.headers["location"].rpartition("/")[2]
        await ended_job(imports.installation.runtime, UUID(job_id))
        archive = await imports.client.get(f"{API_PREFIX}/exports/{job_id}/file")
        with ZipFile(io.BytesIO(archive.content)) as read:
            assert set(read.namelist()) == {"worlds/Sea.json", "OpenAI Settings/Calm.json"}
            assert read.read("worlds/Sea.json") == FILES["worlds/Sea.json"]


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"what": "some"}, "Choose at least one kind."),
        ({"what": "items"}, "Choose at least one item."),
        ({"what": "items", "preset_id": [str(uuid4()) for _ in range(101)]}, "Choose at most 100 items."),
        ({"what": "items", "lorebook_id": str(uuid4())}, "lorebook"),
    ],
)
async def test_an_export_of_nothing_too_much_or_others_is_refused(
    sqlite_url: str, tmp_path: Path, chosen: dict[str, str | list[str]], sentence: str
) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        refused = await imports.client.post("/export", data=chosen)
        assert refused.status_code in (404, 422)
        assert sentence in text_of(refused)


async def test_the_first_page_the_account_and_the_palette_lead_to_the_import(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        for address in ("/", "/account"):
            assert 'href="/import"' in (await imports.client.get(address)).text
        places = (await imports.client.get("/palette.json?q=port")).json()["places"]
        assert {"/import", "/export"} <= {place["address"] for place in places}
