"""Names in pages: whatever somebody is called, the lines of others keep their height and direction."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    Provider,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.names import initials, shown_name
from tests.playground.accounts.installation import Installation, open_installation

PILE = "\u0315" * 30
NAME = f"\u202eMirror\u2066 Z{PILE} of\u2028Glass"
SHOWN = f"Mirror Z{PILE[:6]} of Glass"
BREAKING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028]|\u0315{7}")
# What is typed, and what a model is sent, stays as it is.
EXACT = re.compile(
    r'<input[^>]*>|<textarea.*?</textarea>|<pre.*?</pre>|<(\w+) class="(?:block|traced|reason)-(?:line|text)".*?</\1>',
    re.DOTALL,
)


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Ottoline Marsh", "OM"), ("Abel", "A"), ("mr abel of the tram", "MT"), ("\u202eנועה", "נ"), ("\u200b", "U")],
)
def test_initials_are_the_letters_of_what_is_shown(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_a_name_that_is_shown_is_not_changed_again() -> None:
    assert shown_name(NAME) == SHOWN
    assert shown_name(SHOWN) == SHOWN


@pytest.mark.anyio
async def test_no_page_shows_a_name_that_breaks_a_line(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        browser = installation.browser()
        for path in await pages(installation, browser):
            answer = await browser.get(path)
            assert answer.status_code == 200, path
            page = EXACT.sub("", answer.text)
            assert "Mirror" in page, path
            assert BREAKING.search(page) is None, (path, around(page))


async def pages(installation: Installation, browser: httpx2.AsyncClient) -> list[str]:
    """The pages of an installation in which everything has this name."""
    play = installation.play
    async with play.working():
        await play.say()
        run = await play.until(lambda run: run.status == "succeeded")
    persona = await made(browser, "/personas", json={"name": NAME})
    book = {"entries": {"0": {"uid": 0, "key": [NAME], "comment": NAME, "content": "Glass."}}}
    lorebook = await made(browser, "/lorebooks/import", files=file(book))
    preset = await made(browser, "/presets/import", files=file({"prompts": [], "prompt_order": []}))
    await browser.post("/account/keys", data={"name": NAME})
    async with installation.runtime.database.write() as session:
        for table, column in (
            (User, "name"),
            (Character, "name"),
            (Space, "name"),
            (Conversation, "title"),
            (SpaceMembership, "cached_display_name"),
            (Provider, "name"),
        ):
            await session.execute(update(table).values({column: NAME}))
        character = (await session.scalars(select(Character.id))).one()
        space = (await session.scalars(select(Space.id))).one()
        provider = (await session.scalars(select(Provider.id).limit(1))).one()
        message = (await session.scalars(select(Message.id).limit(1))).one()
    story = f"/conversations/{play.conversation_id}"
    return [
        "/",
        "/spaces/new",
        f"/spaces/{space}",
        story,
        f"{story}/tree",
        f"{story}/preview",
        f"{story}/round",
        *(f"{story}/panel/{tab}" for tab in ("members", "settings", "lore", "runs")),
        f"/runs/{run.id}",
        f"/messages/{message}/edit",
        "/characters",
        *(f"/characters/{character}{page}" for page in ("", "/edit", "/delete", "/versions")),
        "/personas",
        f"/personas/{persona}",
        "/lorebooks",
        f"/lorebooks/{lorebook}",
        "/presets",
        f"/presets/{preset}",
        "/models",
        f"/models/{provider}",
        "/account",
        "/palette.json",
    ]


async def made(browser: httpx2.AsyncClient, path: str, **request: Any) -> UUID:
    answer = await browser.post(f"/api/v1{path}", **request)
    assert answer.status_code == 201, answer.text
    found = answer.json()
    return UUID(found["id"] if "id" in found else next(one["id"] for one in found.values() if "id" in one))


def file(content: object) -> dict[str, tuple[str, bytes, str]]:
    return {"file": (f"{NAME}.json", json.dumps(content).encode(), "application/json")}


def around(page: str) -> str:
    found = BREAKING.search(page)
    return "" if found is None else page[max(0, found.start() - 200) : found.end() + 50]
