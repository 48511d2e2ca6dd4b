"""Keyboard shortcuts of an account: which keys they can have, and where they are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tavernkit.playground.base.accounts.api_keys import create_api_key
from tavernkit.playground.base.accounts.shortcuts import (
    SHORTCUTS,
    ShortcutsPatch,
    bindings_of,
    change_shortcuts,
    key_caps,
    read_key,
    reset_shortcuts,
)
from tavernkit.playground.base.refused import Refused
from tests.playground.accounts.installation import Installation
from tests.playground.support.databases import on_sqlite

pytestmark = pytest.mark.anyio

API = "/api/v1/me/shortcuts"
KEYS_OF_SCRIPTS = Path(__file__).parents[3] / "frontend" / "keys.ts"
BY_ID = {shortcut.id: shortcut for shortcut in SHORTCUTS}
DEFAULTS = bindings_of({})


def test_scripts_and_the_server_know_the_same_shortcuts() -> None:
    union = KEYS_OF_SCRIPTS.read_text().partition("export type Action =")[2].partition("\n\n")[0]
    assert re.findall(r'"(\w+)"', union) == list(BY_ID)


def test_every_default_key_could_be_chosen_and_is_free_in_its_place() -> None:
    for shortcut in SHORTCUTS:
        assert read_key(shortcut, shortcut.key) == shortcut.key
        others = [one for one in SHORTCUTS if one is not shortcut and "everywhere" in (one.place, shortcut.place)]
        beside = [one for one in SHORTCUTS if one is not shortcut and one.place == shortcut.place]
        assert not shortcut.key or shortcut.key not in {one.key for one in (*others, *beside)}


@pytest.mark.parametrize(
    ("text", "key", "caps"),
    [
        ("Mod+Shift+K", "Mod+Shift+k", ["Ctrl", "Shift", "K"]),
        ("Mod+Alt+ArrowUp", "Mod+Alt+ArrowUp", ["Ctrl", "Alt", "↑"]),
        ("Shift+?", "?", ["?"]),
        ("F2", "F2", ["F2"]),
        ("+", "+", ["+"]),
        ("Alt++", "Alt++", ["Alt", "+"]),
    ],
)
def test_a_key_is_stored_in_one_way_and_shown_as_it_is_printed(text: str, key: str, caps: list[str]) -> None:
    assert (read_key(BY_ID["help"], text), key_caps(key)) == (key, caps)


@pytest.mark.parametrize(
    ("action", "key", "sentence"),
    [
        ("help", "Shift+Mod+k", "cannot be used"),
        ("help", "Tab", "cannot be used"),
        ("help", "Mod+", "cannot be used"),
        ("help", "ж", "cannot be used"),
        ("help", "\x00", "cannot be used"),
        ("help", "a" * 41, "cannot be used"),
        ("help", "Mod+t", r"Browsers use Ctrl\+T themselves"),
        ("help", "Mod+V", r"Browsers use Ctrl\+V themselves"),
        ("help", "F5", "Browsers use F5 themselves"),
        ("help", "Escape", "Esc always closes"),
        ("stop", "Mod+Escape", r"Ctrl\+Esc always closes"),
        ("regenerate", "Enter", "Enter is needed for buttons"),
        ("send", "k", "K is needed for typing"),
        ("save_edit", "ArrowUp", "↑ is needed for typing"),
    ],
)
def test_a_key_that_would_be_in_the_way_is_refused_with_a_reason(action: str, key: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read_key(BY_ID[action], key)


async def test_keys_are_changed_cleared_and_reset(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    changed = await change_shortcuts(
        installation.runtime, viewer, ShortcutsPatch(keys={"palette": "Mod+j", "find": "", "panel": "F2"})
    )
    assert changed == {**DEFAULTS, "palette": "Mod+j", "find": "", "panel": "F2"}
    stored = (await installation.user(viewer.user_id)).shortcuts
    assert stored == {"palette": "Mod+j", "find": "", "panel": "F2"}
    one = await change_shortcuts(installation.runtime, viewer, ShortcutsPatch(keys={"find": None, "panel": ""}))
    assert one == {**DEFAULTS, "palette": "Mod+j"}
    assert (await installation.user(viewer.user_id)).shortcuts == {"palette": "Mod+j"}
    assert await reset_shortcuts(installation.runtime, viewer) == DEFAULTS
    assert (await installation.user(viewer.user_id)).shortcuts is None


@on_sqlite
@pytest.mark.parametrize(
    ("keys", "other"),
    [
        ({"regenerate": "Mod+k"}, "Go to a page, a story or a character"),
        ({"palette": "Mod+Enter"}, "Regenerate the last reply"),
        ({"send": "Mod+Enter"}, "Regenerate the last reply"),
        ({"help": "F2", "theme": "F2"}, "Switch theme"),
    ],
)
async def test_a_key_does_not_do_two_things_in_one_place(
    installation: Installation, keys: dict[str, str], other: str
) -> None:
    viewer = await installation.owner_with_password()
    with pytest.raises(Refused, match=f"is already the key for “{other}”") as refused:
        await change_shortcuts(installation.runtime, viewer, ShortcutsPatch(keys=dict(keys)))
    assert refused.value.code == "conflict"
    assert (await installation.user(viewer.user_id)).shortcuts is None


@on_sqlite
async def test_two_keys_are_exchanged_in_one_step_but_not_one_by_one(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    exchanged = {"send": "Mod+Enter", "regenerate": "Mod+Shift+Enter"}
    assert (await change_shortcuts(installation.runtime, viewer, ShortcutsPatch(keys=dict(exchanged)))) == {
        **DEFAULTS,
        **exchanged,
    }
    with pytest.raises(Refused, match="is already the key for “Send the message”"):
        # Its default key has been taken meanwhile.
        await change_shortcuts(installation.runtime, viewer, ShortcutsPatch(keys={"regenerate": None}))
    assert await reset_shortcuts(installation.runtime, viewer) == DEFAULTS


@on_sqlite
async def test_the_api_changes_keys_and_refuses_unknown_shortcuts_and_programs(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    browser = await installation.signed_in(viewer)
    assert (await browser.get(API)).json() == {"keys": DEFAULTS}
    changed = await browser.patch(API, json={"keys": {"theme": "Alt+t"}})
    assert changed.json() == {"keys": {**DEFAULTS, "theme": "Alt+t"}}
    unknown = await browser.patch(API, json={"keys": {"launch": "Alt+x", "theme": None}})
    assert (unknown.status_code, unknown.json()["error"]["sentence"]) == (422, "There is no shortcut “launch”.")
    assert (await browser.patch(API, json={"keys": {"help": "Alt+t"}})).status_code == 409
    many = {str(number): "" for number in range(len(SHORTCUTS) + 1)}
    for wrong in ({"keys": {"help": 1}}, {"keys": many}, {"keys": []}, {}, {"keys": {}, "more": 1}):
        assert (await browser.patch(API, json=wrong)).status_code == 422
    key = await create_api_key(installation.runtime, viewer, name="A program")
    program = installation.program(key.key)
    assert (await program.get(API)).json() == {"keys": {**DEFAULTS, "theme": "Alt+t"}}
    assert (await program.patch(API, json={"keys": {"theme": None}})).status_code == 403


@on_sqlite
async def test_pages_have_the_keys_of_their_reader_in_the_document_and_in_tooltips(installation: Installation) -> None:
    browser = installation.browser()
    story = f"/conversations/{installation.play.conversation_id}"
    assert 'title="Find in conversation (Ctrl+F)"' in (await browser.get(story)).text
    for data in ({"id": "find", "key": "Alt+s"}, {"id": "palette"}):
        assert (await browser.post("/keys", data=data)).status_code == 303
    page = (await browser.get(story)).text
    assert 'title="Find in conversation (Alt+S)"' in page
    assert 'title="Go to…"' in page
    found = re.search(r'<script type="application/json" id="key_bindings"[^>]*>(.*?)</script>', page)
    assert found is not None
    assert json.loads(found[1]) == {**DEFAULTS, "find": "Alt+s", "palette": ""}


@on_sqlite
async def test_the_page_of_shortcuts_changes_clears_and_resets(installation: Installation) -> None:
    browser = installation.browser()
    page = await browser.get("/keys")
    for shortcut in SHORTCUTS:
        assert f'<li id="{shortcut.id}"' in page.text
    assert "Fixed keys" in page.text
    moved = await browser.post("/keys", data={"id": "help", "key": "F2"})
    assert (moved.status_code, moved.headers["location"]) == (303, "/keys#help")
    assert 'aria-label="Reset the key: Show keyboard shortcuts"' in (await browser.get("/keys")).text
    taken = await browser.post("/keys", data={"id": "theme", "key": "F2"})
    assert taken.status_code == 409
    assert "F2 is already the key for “Show keyboard shortcuts”. Change or clear that one first." in taken.text
    assert (await browser.post("/keys", data={"id": "nothing", "key": "F2"})).status_code == 422
    await browser.post("/keys/reset", data={"id": "help"})
    assert "Reset the key" not in (await browser.get("/keys")).text
    await browser.post("/keys", data={"id": "help"})
    assert (await browser.post("/keys/reset")).status_code == 303
    assert (await browser.get(API)).json() == {"keys": DEFAULTS}
