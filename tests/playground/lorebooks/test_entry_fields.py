"""Every field of an entry, of SillyTavern's and of RisuAI's, has a box on the page and survives export and import."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tavernkit.lore import Entry, read_book
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE, WORLD_FIELDS, WORLD_ONLY
from tavernkit.playground.edge.presenting.lore_entry import DECORATOR_TEXTS, EntryForm
from tavernkit.risuai.book_import import entries_from_book
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook.decorators import DECORATORS
from tavernkit.sillytavern.world_info.fields import CharacterFilter, WorldEntry, decode_entry
from tests.playground.accounts.installation import open_installation
from tests.playground.support.forms import form_in

pytestmark = pytest.mark.anyio

FILLED = {
    "comment": "Tide tables",
    "keys": "tide\n/ebb|flow/i",
    "content": "@@depth 3\nThe tide turns twice a day.",
    "enabled": "",
    "constant": "on",
    "position": "4",
    "order": "-7",
    "depth": "9",
    "role": "2",
    "outlet": "harbour",
    "secondary_keys": "moon\nspring",
    "logic": "3",
    "selective": "",
    "scan_depth": "12",
    "case_sensitive": "true",
    "whole_words": "false",
    "use_regex": "false",
    "match_persona": "on",
    "match_description": "on",
    "match_personality": "on",
    "match_note": "on",
    "match_scenario": "on",
    "match_creator_notes": "on",
    "vectorized": "on",
    "filter_names": "ada\nbo",
    "filter_tags": "sailor",
    "filter_excludes": "on",
    "trigger_normal": "on",
    "trigger_continue": "on",
    "trigger_impersonate": "on",
    "trigger_swipe": "on",
    "trigger_regenerate": "on",
    "trigger_quiet": "on",
    "group": "water, sea",
    "group_weight": "30",
    "group_override": "on",
    "group_scoring": "true",
    "use_probability": "",
    "probability": "55",
    "sticky": "2",
    "cooldown": "3",
    "delay": "4",
    "exclude_recursion": "on",
    "prevent_recursion": "on",
    "delay_until_recursion": "2",
    "ignore_budget": "on",
    "automation_id": "tides",
    "card_name": "Tides",
    "priority": "-5",
    "mode": "multiple",
    "folder": "sea",
    "activation_percent": "80",
    "others": json.dumps({"theirs": [1, {"deep": None}], "extensions": {"mine": True}}, indent=2),
}

WORLD_BOXES = {
    "key": "keys", "keysecondary": "secondary_keys", "comment": "comment", "content": "content",
    "constant": "constant", "selective": "selective", "order": "order", "position": "position", "disable": "enabled",
    "excludeRecursion": "exclude_recursion", "probability": "probability", "useProbability": "use_probability",
    "depth": "depth", "selectiveLogic": "logic", "outletName": "outlet", "group": "group",
    "groupOverride": "group_override", "groupWeight": "group_weight", "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion", "scanDepth": "scan_depth", "matchWholeWords": "whole_words",
    "useGroupScoring": "group_scoring", "caseSensitive": "case_sensitive", "automationId": "automation_id",
    "role": "role", "vectorized": "vectorized", "sticky": "sticky", "cooldown": "cooldown", "delay": "delay",
    "matchPersonaDescription": "match_persona", "matchCharacterDescription": "match_description",
    "matchCharacterPersonality": "match_personality", "matchCharacterDepthPrompt": "match_note",
    "matchScenario": "match_scenario", "matchCreatorNotes": "match_creator_notes", "triggers": "trigger_quiet",
    "ignoreBudget": "ignore_budget", "extensions": "others", "addMemo": "comment", "characterFilter": "filter_names",
    "characterFilterNames": "others", "characterFilterTags": "others", "characterFilterExclude": "others",
}  # fmt: skip
"""The box of each field of a world file. The three of the end are an older spelling of the filter."""
ENTRY_BOXES = {
    "keys": "keys", "secondary_keys": "secondary_keys", "content": "content", "enabled": "enabled",
    "constant": "constant", "selective": "selective", "insertion_order": "order", "name": "card_name",
    "comment": "comment", "position": "position", "priority": "priority", "case_sensitive": "case_sensitive",
    "use_regex": "use_regex", "extensions": "others", "unknown": "others",
}  # fmt: skip
RISUAI_BOXES = {
    "key": "keys", "comment": "card_name", "content": "content", "mode": "mode", "insert_order": "order",
    "always_active": "constant", "secondary_key": "secondary_keys", "selective": "selective",
    "use_regex": "use_regex", "folder": "folder", "activation_percent": "activation_percent", "extensions": "others",
}  # fmt: skip
NO_BOX = {"uid", "displayIndex", "id", "spelling", "world", "source", "decorators", "written", "bookVersion"}
"""Which entry it is, where it came from, and what is worked out; places in the list are changed in the list."""


@pytest.fixture
async def browser(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation.browser()


async def new_book(browser: httpx2.AsyncClient) -> str:
    return str((await browser.post("/lorebooks", data={"name": "Coast"})).headers["location"])


async def imported(browser: httpx2.AsyncClient, document: Any) -> str:
    files = {"file": ("Coast.json", json.dumps(document).encode())}
    made = await browser.post("/lorebooks/import", files=files)
    assert made.status_code == 303, made.text
    return str(made.headers["location"])


async def exported(browser: httpx2.AsyncClient, book: str, kind: str = "world_info") -> Any:
    return (await browser.get(f"/api/v1{book}/export", params={"format": kind})).json()


async def only_entry(browser: httpx2.AsyncClient, book: str) -> str:
    [item] = (await browser.get(f"/api/v1{book}/entries")).json()["items"]
    return f"{book}/entries/{item['id']}"


async def shown(browser: httpx2.AsyncClient, entry: str) -> dict[str, str]:
    """What the form of an entry shows."""
    sent = form_in((await browser.get(entry)).text, "entry_form")
    return {name: sent.get(name, "") for name in EntryForm.model_fields}


async def filled_book(browser: httpx2.AsyncClient, book: str) -> str:
    """The book with an entry of which nothing is as in a new one."""
    made = await browser.post(f"{book}/entries", data={k: v for k, v in FILLED.items() if v})
    assert made.status_code == 303, made.text
    return book


def test_every_field_of_both_platforms_has_a_box() -> None:
    assert set(FILLED) == set(EntryForm.model_fields)
    assert {*WORLD_FIELDS, *WORLD_ONLY, *ENTRY_TEMPLATE} - NO_BOX == set(WORLD_BOXES)
    assert set(msgspec.structs.asdict(Entry(id=""))) - NO_BOX == set(ENTRY_BOXES)
    assert set(msgspec.structs.asdict(LoreEntry())) - NO_BOX == set(RISUAI_BOXES)
    named = {*WORLD_BOXES.values(), *ENTRY_BOXES.values(), *RISUAI_BOXES.values()}
    parts = {"filter_tags", "filter_excludes", *(name for name in FILLED if name.startswith("trigger_"))}
    assert named | parts == set(FILLED)


def test_every_decorator_is_explained() -> None:
    assert set(DECORATOR_TEXTS) == set(DECORATORS)


async def test_every_box_is_on_the_page_and_shows_what_was_saved(browser: httpx2.AsyncClient) -> None:
    book = await filled_book(browser, await new_book(browser))
    blank = form_in((await browser.get(f"{book}/entries/new")).text, "entry_form")
    entry = await only_entry(browser, book)
    seen = await shown(browser, entry)
    assert seen == FILLED
    same = [name for name in FILLED if seen[name] == blank.get(name, "")]
    assert not same, "these boxes would not show that anything was saved"
    page = (await browser.get(entry)).text
    assert all(f'name="{name}"' in page for name in FILLED)
    assert "Group weight: 30" in page
    assert "Group weight:" not in (await browser.get(f"{book}/entries/new")).text


@pytest.mark.parametrize("kind", ["world_info", "character_book"])
async def test_every_field_survives_export_and_import(browser: httpx2.AsyncClient, kind: str) -> None:
    book = await filled_book(browser, await new_book(browser))
    file = await exported(browser, book, kind)
    document = file if kind == "world_info" else {"spec": "lorebook_v3", "data": file}
    again = await imported(browser, document)
    assert await shown(browser, await only_entry(browser, again)) == FILLED
    assert await exported(browser, again, kind) == file


async def test_an_entry_of_a_card_keeps_every_change(browser: httpx2.AsyncClient) -> None:
    theirs = {"keys": ["a"], "content": "b", "enabled": True, "insertion_order": 1, "extensions": {"x": 1}, "odd": [1]}
    book = await imported(browser, {"spec": "lorebook_v3", "data": {"name": "Card", "entries": [theirs]}})
    entry = await only_entry(browser, book)
    saved = await browser.post(entry, data={"revision": "1", **{k: v for k, v in FILLED.items() if v}})
    assert saved.status_code == 303, saved.text
    assert await shown(browser, entry) == FILLED
    for kind in ("world_info", "character_book"):
        file = await exported(browser, book, kind)
        document = file if kind == "world_info" else {"spec": "lorebook_v3", "data": file}
        assert await shown(browser, await only_entry(browser, await imported(browser, document))) == FILLED, kind
    [written] = (await exported(browser, book, "character_book"))["entries"]
    # They were in the box with all other fields, which says something else now.
    assert "odd" not in written
    assert "x" not in written["extensions"]


async def test_both_platforms_read_what_was_saved(browser: httpx2.AsyncClient) -> None:
    book = await filled_book(browser, await new_book(browser))
    read, _report = read_book(await exported(browser, book))
    entry = decode_entry(read.entries[0], "Coast")
    unread = {
        name: value
        for name, value in msgspec.structs.asdict(entry.with_(secondary_keys=("moon",))).items()
        if name not in NO_BOX and value == getattr(WorldEntry(world="", uid="", source=read.entries[0]), name)
    }
    assert not unread
    assert entry.character_filter == CharacterFilter(names=("ada", "bo"), tags=("sailor",), excludes=True)
    card = {"spec": "lorebook_v3", "data": await exported(browser, book, "character_book")}
    [risuai] = entries_from_book(read_book(card)[0])
    told = (risuai.mode, risuai.folder, risuai.use_regex, risuai.comment, risuai.always_active, risuai.insert_order)
    assert told == ("multiple", "sea", False, "Tides", True, -7)
    assert "@@probability 80" in risuai.content


async def test_fields_that_no_box_is_for_are_kept_changed_and_removed(browser: httpx2.AsyncClient) -> None:
    book = await imported(browser, {"entries": {"0": {"uid": 0, "key": ["a"], "theirs": 1, "gone": 2}}})
    entry = await only_entry(browser, book)
    form = form_in((await browser.get(entry)).text, "entry_form")
    assert json.loads(form["others"]) == {"theirs": 1, "gone": 2}
    assert (await browser.post(entry, data=form | {"content": "b"})).status_code == 303
    assert (await exported(browser, book))["entries"]["0"] == {
        "uid": 0, "key": ["a"], "theirs": 1, "gone": 2, "content": "b",
    }  # fmt: skip
    changed = form | {"content": "b", "revision": "2", "others": '{"theirs": [3]}'}
    assert (await browser.post(entry, data=changed)).status_code == 303
    assert (await exported(browser, book))["entries"]["0"] == {"uid": 0, "key": ["a"], "theirs": [3], "content": "b"}
    for wrong, sentence in (
        ("{", "is not valid JSON"),
        ("[]", "must be an object"),
        ('{"content": "c"}', "The field content has a box of its own."),
        ('{"extensions": {"depth": 2}}', "The field depth has a box of its own."),
    ):
        refused = await browser.post(entry, data=changed | {"revision": "3", "others": wrong})
        assert refused.status_code == 422, wrong
        assert sentence in refused.text, wrong
