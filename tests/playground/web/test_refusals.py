"""One way to say why nothing was done, on every page."""

import re
from pathlib import Path
from uuid import UUID

import pytest

from tests.playground.spaces.panel import STREAMS, side_panel

pytestmark = pytest.mark.anyio

NOBODY = UUID(int=7)
PAGES = ["/", "/characters", "/lorebooks", "/presets", "/personas", "/personas/new", "/models", "/spaces/new"]
FORMS: dict[str, dict[str, str]] = {
    f"/lorebooks/{NOBODY}/delete": {},
    f"/lorebooks/{NOBODY}/entries/{NOBODY}/duplicate": {},
    f"/presets/{NOBODY}/duplicate": {},
    f"/personas/{NOBODY}/delete": {},
    f"/personas/{NOBODY}/default": {"settings_version": "0"},
    f"/characters/{NOBODY}/delete": {},
    f"/models/{NOBODY}/switch": {"disabled": "true"},
    f"/conversations/{NOBODY}/delete": {},
    f"/conversations/{NOBODY}/messages": {"content": "Good evening."},
    "/spaces": {"character_id": str(NOBODY)},
    # Not even a form that could be read.
    "/spaces/new": {"character_id": "somebody"},
}


async def test_every_page_has_one_place_for_it(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        here = f"/conversations/{at.conversation_id}"
        for path in (*PAGES, f"/spaces/{at.space_id}", here, f"{here}/tree", f"{here}/round", f"{at.panel}/members"):
            page = await at.see(path)
            assert page.count('id="problem"') == 1, path
        assert (await at.see(f"{at.panel}/members")).count('id="panel_problem"') == 1


async def test_a_page_with_scripts_stays_and_one_without_is_replaced_by_the_same_sentence(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        for path, form in FORMS.items():
            update = await at.client.post(path, data=form, headers=STREAMS)
            assert 400 <= update.status_code < 500, path
            assert update.headers["content-type"].startswith("text/vnd.turbo-stream.html"), path
            found = re.fullmatch(
                r'<turbo-stream action="update" target="problem"><template><p class="problem">([^<]+)</p>\s*'
                r"</template></turbo-stream>",
                update.text,
            )
            assert found, (path, update.text)
            page = await at.client.post(path, data=form)
            assert page.status_code == update.status_code, path
            assert f'<p class="error-sentence">{found[1]}</p>' in page.text, path


async def test_the_panel_has_a_place_of_its_own(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        answer = await at.client.post(f"{at.panel}/members/{NOBODY}/remove", headers=STREAMS)
        assert answer.status_code == 404
        assert answer.text.startswith('<turbo-stream action="update" target="panel_problem">')
