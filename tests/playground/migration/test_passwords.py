"""Cards that RisuAI has encrypted with a password: who is asked for it, and where it is not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tests.playground.characters.builders import locked_card, png_card
from tests.playground.migration.edge_support import ImportClient, open_imports

pytestmark = pytest.mark.anyio

PASSWORD = "open-sesame-4711"
CARD = "characters/Ada.png"
FILES = {CARD: locked_card(PASSWORD, name="Ada"), "characters/Ben.png": png_card(name="Ben")}


async def ended(imports: ImportClient, import_id: str) -> dict[str, object]:
    await imports.over(await imports.api("POST", f"/imports/{import_id}/start", json={}))
    item: dict[str, object] = (await imports.items(import_id))[CARD]
    return item


async def test_v15_a_password_opens_a_card_and_is_stored_and_logged_nowhere(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned(FILES)
        items = await imports.items(import_id)
        assert {path: item["password"] for path, item in items.items()} == {CARD: "needed", "characters/Ben.png": None}
        path = f"/imports/{import_id}/items/{items[CARD]['position']}/choice"
        wrong = await imports.client.put(f"{API_PREFIX}{path}", json={"choice": None, "password": "sesame"})
        assert (wrong.status_code, "The password is wrong, or the file is damaged." in wrong.text) == (422, True)
        given = await imports.api("PUT", path, json={"choice": None, "password": PASSWORD})
        assert given["password"] == "given"
        done = await ended(imports, import_id)
        assert (done["verdict"], done["notes"]) == (
            "converted",
            ["The card was encrypted with a password, and is stored without it."],
        )
        assert (await imports.api("GET", f"/characters/{done['target_id']}"))["name"] == "Ada"
        again = await imports.scanned(FILES)
        assert (await imports.items(again))[CARD]["state"] == "same"
        summary = (await imports.api("GET", f"/imports/{again}"))["summary"]
        assert summary["locked"] == [], "nobody is asked for a card that is here"
    assert PASSWORD not in caplog.text
    database = Path(sqlite_url.rpartition("///")[2])
    files = [file for file in (database, *tmp_path.rglob("*")) if file.is_file()]
    assert any(b"Ada" in file.read_bytes() for file in files)
    assert not [file for file in files if PASSWORD.encode() in file.read_bytes()]


async def test_v15_the_page_asks_for_the_password_beside_the_card(sqlite_url: str, tmp_path: Path) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned({CARD: FILES[CARD]})
        page = (await imports.client.get(f"/import/{import_id}")).text
        assert "1 card needs a password" in page
        position = (await imports.items(import_id))[CARD]["position"]
        path = f"/import/{import_id}/items/{position}"
        wrong = await imports.client.post(path, data={"password": "sesame"}, headers={"Accept": CONTENT_TYPE})
        assert "The password is wrong, or the file is damaged. Try again." in wrong.text
        assert 'value="sesame"' not in wrong.text
        right = await imports.client.post(path, data={"password": PASSWORD}, headers={"Accept": CONTENT_TYPE})
        assert "Opened with the password." in right.text


async def test_v15_without_its_password_a_card_is_refused_and_asked_for_at_the_next_import(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_imports(sqlite_url, tmp_path) as imports:
        import_id = await imports.scanned(FILES)
        done = await ended(imports, import_id)
        assert done["verdict"] == "refused"
        assert "Import the folder again and give the password" in str(done["notes"])
        assert (await imports.items(await imports.scanned(FILES)))[CARD]["password"] == "needed"
