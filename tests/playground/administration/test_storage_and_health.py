"""What takes up room, and how the application stands."""

from pathlib import Path

import pytest

from tests.playground.accounts.installation import open_installation

pytestmark = pytest.mark.anyio


async def test_storage_is_measured_by_kind_and_by_folder(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        browser = await installation.signed_in(await installation.owner_with_password())
        before = (await browser.get("/api/v1/admin/storage")).json()
        await installation.play.narrate("é" * 5000)
        (tmp_path / "exports").mkdir()
        (tmp_path / "exports" / "a.zip").write_bytes(bytes(1234))
        after = (await browser.get("/api/v1/admin/storage")).json()
        assert 'href="/retention"' in (await browser.get("/admin/storage")).text
    texts = [next(kind for kind in one["kinds"] if kind["kind"] == "texts") for one in (before, after)]
    assert texts[1]["size"] - texts[0]["size"] == 10_000
    assert texts[1]["rows"] - texts[0]["rows"] == 1
    assert next(one for one in after["folders"] if one["folder"] == "exports")["size"] == 1234
    assert after["database"] > sum(kind["size"] for kind in after["kinds"]) / 2
    assert 0 < after["disk_free"] <= after["disk_total"]


async def test_health_names_the_database_and_who_is_at_work(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        browser, play = await installation.signed_in(await installation.owner_with_password()), installation.play
        await play.say()
        async with play.working("w7"):
            await play.until(lambda run: run.status == "succeeded")
        found = (await browser.get("/api/v1/admin/health")).json()
        assert (found["health"]["database"], found["is_current"], found["workers"]) == ("ok", True, [])
        assert found["database"] == database_url.partition("+")[0].partition(":")[0]
        assert found["last_backup"] is None
