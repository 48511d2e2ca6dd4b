"""The manifest, the service worker and the offline page, as a browser asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image
from scripts.icons import FOLDER, ICONS, draw

from tavernkit.playground.edge.pages.installing import GROUND
from tavernkit.playground.edge.web.assets import STATIC_FOLDER, asset
from tests.playground.spaces.panel import side_panel

pytestmark = pytest.mark.anyio
FRONTEND = Path(__file__).parents[3] / "frontend"
PATHS = ("/manifest.webmanifest", "/service-worker.js", "/offline")


@pytest.fixture
async def client(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with side_panel(sqlite_url, tmp_path) as at:
        yield at.client


def kept(script: str) -> dict[str, Any]:
    """What the worker keeps, as the server has written it before the script."""
    found: dict[str, Any] = json.loads(script.split("\n", 1)[0].removeprefix("self.KEPT = "))
    return found


async def test_the_manifest_has_what_browsers_need_to_install_the_application(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/manifest.webmanifest")
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = answer.json()
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("/", "/", "standalone")
    assert manifest["lang"] == "en"
    icons = {(icon["sizes"], icon.get("purpose", "any")): icon["src"] for icon in manifest["icons"]}
    assert set(icons) == {("any", "any"), ("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")}
    for (sizes, _), address in icons.items():
        picture = await client.get(address)
        assert picture.status_code == 200
        if sizes != "any":
            with Image.open(STATIC_FOLDER / address.rpartition("/")[2]) as shown:
                assert "x".join(map(str, shown.size)) == sizes


@pytest.mark.parametrize("path", PATHS)
async def test_a_browser_asks_again_and_runs_nothing_of_others(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.headers["cache-control"] == "no-cache"
    # It holds for manifests and workers too, which have no directive of their own.
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "set-cookie" not in answer.headers


async def test_each_is_in_the_language_of_the_page_that_asks(client: httpx2.AsyncClient) -> None:
    english, russian = [
        {path: (await client.get(path, params={"language": language})).text for path in PATHS}
        for language in ("en", "ru")
    ]
    assert json.loads(russian["/manifest.webmanifest"])["lang"] == "ru"
    assert '<html lang="ru">' in russian["/offline"]
    assert kept(russian["/service-worker.js"])["offline"] == "/offline?language=ru"
    assert kept(russian["/service-worker.js"])["version"] != kept(english["/service-worker.js"])["version"]
    unknown = await client.get("/manifest.webmanifest", params={"language": "xx"})
    assert unknown.json()["lang"] == "en"
    page = (await client.get("/account")).text
    assert '<link rel="manifest" href="/manifest.webmanifest?language=en">' in page


async def test_the_worker_keeps_built_files_and_the_offline_page_alone(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/service-worker.js", params={"language": "en"})
    assert answer.headers["content-type"].startswith("text/javascript")
    keeps = kept(answer.text)
    assert {asset("app.js"), asset("app.css"), asset("theme.js")} <= set(keeps["assets"])
    assert asset("service_worker.js") not in keeps["assets"]
    for address in (keeps["offline"], *keeps["assets"]):
        assert (await client.get(address)).status_code == 200
    page = (await client.get(keeps["offline"])).text
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert asset("app.js") in files
    assert set(files) <= set(keeps["assets"])


def test_the_window_of_the_application_has_the_colours_of_the_themes() -> None:
    light, dark = re.findall(r"--color-base-100: (#\w+);", (FRONTEND / "styles/themes.css").read_text())[:2]
    page = (FRONTEND.parent / "src/tavernkit/playground/edge/web/templates/base.html").read_text()
    assert re.findall(r'name="theme-color" content="(#\w+)" media="\(prefers-color-scheme: (\w+)\)"', page) == [
        (light, "light"),
        (dark, "dark"),
    ]
    assert light == GROUND


@pytest.mark.parametrize("name", ICONS)
def test_the_icons_are_those_that_the_script_draws(name: str) -> None:
    size, is_full = ICONS[name]
    with Image.open(FOLDER / f"{name}.png") as committed:
        assert committed.convert("RGBA").tobytes() == draw(size, is_full=is_full).convert("RGBA").tobytes()
