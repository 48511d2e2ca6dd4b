"""The built files, by name and over HTTP."""

import json

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from tavernkit.playground.edge.web.assets import STATIC_FOLDER, STATIC_URL, AssetError, HashedFiles, asset


@pytest.mark.parametrize("name", ["app.js", "app.css", "theme.js", "icon.svg"])
def test_a_file_is_found_by_its_name_and_kept_for_good(name: str) -> None:
    client = TestClient(Starlette(routes=[Mount(STATIC_URL, HashedFiles())]))
    response = client.get(asset(name))
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]


def test_what_has_no_hash_in_its_name_is_not_kept() -> None:
    client = TestClient(Starlette(routes=[Mount(STATIC_URL, HashedFiles())]))
    assert "cache-control" not in client.get(f"{STATIC_URL}/manifest.json").headers


def test_an_unknown_name_is_an_error_that_says_what_there_is() -> None:
    with pytest.raises(AssetError, match=r"no file 'typo\.js'; it made .*app\.js"):
        asset("typo.js")


def test_everything_built_is_small() -> None:
    names = json.loads((STATIC_FOLDER / "manifest.json").read_text()).values()
    sizes = {name: (STATIC_FOLDER / name).stat().st_size for name in names}
    assert sum(size for name, size in sizes.items() if name.endswith(".woff2")) < 400_000
    assert sum(size for name, size in sizes.items() if not name.endswith(".woff2")) < 450_000
    assert not list(STATIC_FOLDER.glob("*.map"))
