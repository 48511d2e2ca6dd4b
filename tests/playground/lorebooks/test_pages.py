"""The pages about lorebooks, as a browser without scripts uses them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.playground.accounts.installation import open_installation

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}
WORLD = json.dumps(
    {
        "entries": {
            "0": {"uid": 0, "key": ["ice", "/fro(st|zen)/i"], "comment": "Ice", "content": "It freezes.", "order": "7"},
            "1": {"uid": 1, "key": [], "content": "Gulls.", "constant": True, "theirs": [1]},
        }
    }
).encode()


@pytest.fixture
async def browser(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation.browser()


async def new_entry(browser: httpx2.AsyncClient, book: str, **fields: str) -> str:
    """The address of a new entry."""
    made = await browser.post(f"{book}/entries", data={"enabled": "on", **fields})
    assert made.status_code == 303, made.text
    return f"{book}/entries/{made.headers['location'].partition('#entry_')[2]}"


async def exported(browser: httpx2.AsyncClient, book: str) -> dict[str, dict[str, object]]:
    """The entries of a book as its file has them."""
    entries: dict[str, dict[str, object]] = (await browser.get(f"/api/v1{book}/export")).json()["entries"]
    return entries


async def test_a_book_is_made_filled_and_deleted_with_plain_forms(browser: httpx2.AsyncClient) -> None:
    assert "No lorebooks yet" in (await browser.get("/lorebooks")).text
    book = (await browser.post("/lorebooks", data={"name": "Harbour <b>"})).headers["location"]
    entry = await new_entry(browser, book, comment="Ice", keys="ice\r\nfrost\r\n", content="It\r\nfreezes.")
    page = (await browser.get(book)).text
    assert "Harbour &lt;b&gt;" in page
    assert "1 entry," in page
    saved = await browser.post(entry, data={"revision": "1", "enabled": "on", "comment": "Ice", "position": "4",
                                            "keys": "ice", "content": "It\nfreezes.", "sticky": "3"})  # fmt: skip
    assert (saved.status_code, saved.headers["location"]) == (303, entry)
    [stored] = (await exported(browser, book)).values()
    assert stored["key"] == ["ice"]
    assert (stored["content"], stored["position"], stored["sticky"]) == ("It\nfreezes.", 4, 3)
    switched = await browser.post(f"{entry}/enabled", data={"enabled": "false"})
    assert switched.status_code == 303
    assert 'aria-checked="false"' in (await browser.get(book)).text
    assert (await browser.post(f"{entry}/delete", data={"revision": "3"})).headers["location"] == book
    assert (await browser.post(f"{book}/delete")).headers["location"].startswith("/lorebooks?trashed=")
    assert (await browser.get(book)).status_code == 404


async def imported_book(browser: httpx2.AsyncClient) -> str:
    made = await browser.post("/lorebooks/import", files={"file": ("Coast.json", WORLD)})
    assert made.status_code == 303, made.text
    return str(made.headers["location"])


async def entry_addresses(browser: httpx2.AsyncClient, book: str) -> list[str]:
    items = (await browser.get(f"/api/v1{book}/entries")).json()["items"]
    return [f"{book}/entries/{item['id']}" for item in items]


async def test_every_file_says_what_became_of_it(browser: httpx2.AsyncClient) -> None:
    files = [("file", ("Coast.json", WORLD)), ("file", ("broken.json", b"{"))]
    told = (await browser.post("/lorebooks/import", files=files, headers=STREAMS)).text
    assert "Coast.json" in told
    assert "broken.json</strong> was not imported." in told
    assert "is not valid JSON" in told
    assert "2 entries" in told
    alone = await browser.post("/lorebooks/import", files={"file": ("broken.json", b"{")})
    assert alone.status_code == 422
    assert "is not valid JSON" in alone.text
    nothing = (await browser.post("/lorebooks/import", files={"file": ("", b"")}, headers=STREAMS)).text
    assert 'class="problem"' in nothing


async def test_what_nobody_changed_stays_as_the_file_wrote_it(browser: httpx2.AsyncClient) -> None:
    book = await imported_book(browser)
    [ice, _] = await entry_addresses(browser, book)
    form = {"revision": "1", "enabled": "on", "comment": "Ice", "keys": "ice\r\n/fro(st|zen)/i", "order": "7",
            "position": "1", "use_probability": "on",
            "content": "It thaws."}  # fmt: skip
    assert (await browser.post(ice, data=form)).status_code == 303
    before = json.loads(WORLD)["entries"]
    now = await exported(browser, book)
    assert now["0"] == {**before["0"], "content": "It thaws."}
    assert now["1"] == before["1"]


async def test_who_was_faster_is_shown_and_nothing_typed_is_lost(browser: httpx2.AsyncClient) -> None:
    book = await imported_book(browser)
    [ice, _] = await entry_addresses(browser, book)
    assert (await browser.post(ice, data={"revision": "1", "content": "It cracks.", "keys": "ice"})).status_code == 303
    late = await browser.post(ice, data={"revision": "1", "content": "It <i>sings</i>.", "keys": "ice"})
    assert late.status_code == 409
    assert "It &lt;i&gt;sings&lt;/i&gt;." in late.text
    assert '<dd dir="auto">It cracks.</dd>' in late.text
    assert 'name="revision" value="2"' in late.text
    assert (await browser.post(f"{ice}/delete", data={"revision": "1"})).status_code == 409


async def test_a_field_that_makes_no_sense_is_named(browser: httpx2.AsyncClient) -> None:
    book = await imported_book(browser)
    for field, value, sentence in (
        ("depth", "deep", "Depth must be a whole number"),
        ("probability", "101", "from 0 to 100"),
        ("position", "9", "Choose a value of “Position” from the list."),
        ("sticky", "-1", "Sticky (messages) must be a whole number"),
    ):
        refused = await browser.post(f"{book}/entries", data={"content": "Typed with care.", field: value})
        assert refused.status_code == 422, field
        assert sentence in refused.text, field
        assert "Typed with care." in refused.text, field


async def test_a_text_shows_which_entries_fire_and_why_others_do_not(browser: httpx2.AsyncClient) -> None:
    book = await imported_book(browser)
    await new_entry(browser, book, comment="Tide", keys="tide")
    for headers in ({}, STREAMS):
        told = (await browser.post(f"{book}/test", data={"text": "A FROZEN rope."}, headers=headers)).text
        assert "2 entries activated" in told
        assert "key “/fro(st|zen)/i” found in the text" in told
        assert "constant" in told
        assert "no key found" in told
    assert "A FROZEN rope." in (await browser.post(f"{book}/test", data={"text": "A FROZEN rope."})).text


async def test_long_books_come_in_pages(browser: httpx2.AsyncClient) -> None:
    entries = {str(number): {"uid": number, "key": [], "comment": f"No. {number}."} for number in range(150)}
    file = json.dumps({"entries": entries}).encode()
    book = (await browser.post("/lorebooks/import", files={"file": ("Long.json", file)})).headers["location"]
    first = (await browser.get(book)).text
    assert "No. 99." in first
    assert "No. 100." not in first
    behind = first.partition('href="' + book + "?after=")[2].partition('"')[0]
    second = (await browser.get(f"{book}?after={behind}")).text
    assert "No. 100." in second
    assert "No. 149." in second
    assert "?after=" not in second
    assert (await browser.get(f"{book}?after=none")).status_code == 422
    assert "No. 42." in (await browser.get(f"{book}?search=42")).text


async def test_a_book_that_was_changed_is_not_renamed_unseen(browser: httpx2.AsyncClient) -> None:
    book = await imported_book(browser)
    assert (await browser.post(book, data={"settings_version": "0", "name": "Shore"})).status_code == 303
    late = await browser.post(book, data={"settings_version": "0", "name": "Beach"})
    assert late.status_code == 409
    assert 'value="Beach"' in late.text
    assert (await browser.post(book, data={"settings_version": "1", "name": "x" * 201})).status_code == 422
