"""Quick replies: files of SillyTavern in and out, pages, and what a button says in a conversation."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.views.quick_replies import BUTTON_LABELS, SET_LABELS
from tavernkit.playground.story.quick_replies.documents import ButtonFields, SetFields, button_of, buttons_in, key_of
from tavernkit.playground.story.quick_replies.files import read_set
from tests.playground.api.world import Things, open_world
from tests.playground.stories import Story, open_story
from tests.playground.support.web import browser as browser_of

pytestmark = pytest.mark.anyio

API = "/api/v1/quick_replies"
BUTTON: dict[str, Any] = {
    "id": 3,
    "icon": "fa-dragon",
    "showLabel": True,
    "label": "Wave",
    "title": "Greets {{char}}",
    "message": "I wave at {{char}}.",
    "contextList": [{"set": "Other", "isChained": True}, {"set": "More", "isChained": False}],
    "preventAutoExecute": False,
    "isHidden": False,
    "executeOnStartup": True,
    "executeOnUser": True,
    "executeOnAi": True,
    "executeOnChatChange": True,
    "executeOnGroupMemberDraft": True,
    "executeOnNewChat": True,
    "executeBeforeGeneration": True,
    "automationId": "wave",
    "theirs": [1],
}
SET: dict[str, Any] = {
    "version": 2,
    "name": "Moves",
    "disableSend": False,
    "placeBeforeInput": True,
    "injectInput": False,
    "color": "rgba(10, 20, 30, 1)",
    "onlyBorderColor": True,
    "qrList": [BUTTON, {"id": 7, "label": "Roll", "message": "/roll 1d6 | /echo"}, {"id": 8, "label": "Bow"}],
    "idIndex": 9,
    "scope": "global",
}
OLD: dict[str, Any] = {
    "name": "Old",
    "quickReplyEnabled": True,
    "quickActionEnabled": True,
    "placeBeforeInputEnabled": True,
    "AutoInputInject": True,
    "numberOfSlots": 1,
    "quickReplySlots": [
        {
            "mes": "I nod.",
            "label": "Nod",
            "title": "Yes",
            "hidden": False,
            "contextMenu": [{"preset": "Moves", "chain": True}],
            "autoExecute_botMessage": True,
            "preventAutoExecute": False,
            "automationId": "n",
        }
    ],
}


@pytest.fixture
async def story(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Story]:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as story:
        yield story


@pytest.fixture
async def browser(story: Story) -> AsyncIterator[httpx2.AsyncClient]:
    async with browser_of(story.runtime, story.user_id) as client:
        yield client


async def imported(browser: httpx2.AsyncClient, document: Any, name: str = "file.json") -> Any:
    answer = await browser.post(f"{API}/import", files={"file": (name, json.dumps(document).encode())})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def said(browser: httpx2.AsyncClient, story: Story, made: Any, button_id: int, typed: str = "") -> Any:
    path = f"/api/v1/conversations/{story.conversation_id}/quick_replies/{made['set']['id']}/{button_id}"
    return (await browser.post(path, json={"input": typed})).json()


@pytest.mark.parametrize("document", [SET, OLD], ids=["present format", "older format"])
async def test_an_imported_set_is_exported_equal(browser: httpx2.AsyncClient, document: Any) -> None:
    made = (await imported(browser, document))["set"]
    assert (await browser.get(f"{API}/{made['id']}/export")).json() == document


async def test_the_older_format_becomes_the_present_one(browser: httpx2.AsyncClient) -> None:
    answer = await imported(browser, OLD)
    made, button = answer["set"], answer["set"]["buttons"][0]
    assert answer["format"] == "quick_replies_v1"
    assert (made["disable_send"], made["place_before_input"], made["inject_input"]) == (True, True, True)
    assert (button["label"], button["message"], button["execute_on_ai"]) == ("Nod", "I nod.", True)
    assert button["context_list"] == [{"set": "Moves", "is_chained": True}]
    patch = {"settings_version": 0, "label": "Nods"}
    await browser.patch(f"{API}/{made['id']}/buttons/1", json=patch)
    written = (await browser.get(f"{API}/{made['id']}/export")).json()
    assert (written["version"], written["qrList"][0]["label"], written["injectInput"]) == (2, "Nods", True)


async def test_files_that_are_no_sets_are_refused(browser: httpx2.AsyncClient) -> None:
    for data in (b"{", b"[]", b"{}", b'{"qrList": 1}'):
        answer = await browser.post(f"{API}/import", files={"file": ("a.json", data)})
        assert (answer.status_code, "error" in answer.json()) == (422, True), data


async def test_a_second_set_of_a_name_gets_a_number(browser: httpx2.AsyncClient) -> None:
    await imported(browser, SET)
    again = (await imported(browser, SET))["set"]
    assert again["name"] == "Moves (2)"
    assert (await browser.get(f"{API}/{again['id']}/export")).json() == {**SET, "name": "Moves (2)"}
    taken = await browser.patch(f"{API}/{again['id']}", json={"settings_version": 0, "name": "Moves"})
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "taken")


def test_every_field_of_a_file_is_a_field_here() -> None:
    known = {key_of(name) for name in ButtonFields.model_fields} | {"id", "theirs"}
    assert set(BUTTON) == known
    known = {key_of(name) for name in SetFields.model_fields} | {"version", "qrList", "idIndex", "scope"}
    assert set(SET) == known
    assert set(BUTTON_LABELS) == set(ButtonFields.model_fields)
    assert set(SET_LABELS) == set(SetFields.model_fields)


async def test_every_field_survives_page_export_and_import(browser: httpx2.AsyncClient) -> None:
    page = (await browser.post("/quick-replies", data={"name": "Fresh"})).headers["location"]
    set_boxes = {"name": "Fresh2", "color": "#123456"} | {
        name: "on" for name, field in SetFields.model_fields.items() if field.annotation is bool
    }
    button_boxes = {"context_list": "Moves\n+ More"} | {
        name: "on" if field.annotation is bool else f"my {name}"
        for name, field in ButtonFields.model_fields.items()
        if name != "context_list"
    }
    assert set(set_boxes) == set(SetFields.model_fields)
    assert set(button_boxes) == set(ButtonFields.model_fields)
    made = await browser.post(f"{page}/buttons", data={"label": "First"})
    assert made.headers["location"] == page
    for address, boxes in ((page, set_boxes), (f"{page}/buttons/1", button_boxes)):
        shown = (await browser.get(address)).text
        assert set(boxes) <= set(re.findall(r'name="(\w+)"', shown))
        seen = re.search(r'name="settings_version" value="(\d+)"', shown)
        assert seen is not None
        saved = await browser.post(address, data={**boxes, "settings_version": seen[1]})
        assert saved.status_code == 303, saved.text
    written = (await browser.get(f"/api/v1/quick_replies/{page.rpartition('/')[2]}/export")).json()
    again = (await imported(browser, {**written, "name": "Again"}))["set"]
    expected_set = {name: True if box == "on" else box for name, box in set_boxes.items()} | {"name": "Again"}
    assert {name: again[name] for name in set_boxes} == expected_set
    expected = {name: True if box == "on" else box for name, box in button_boxes.items()} | {
        "context_list": [{"set": "Moves", "is_chained": False}, {"set": "More", "is_chained": True}]
    }
    assert {name: again["buttons"][0][name] for name in button_boxes} == expected


async def test_a_stale_form_shows_both_versions(browser: httpx2.AsyncClient) -> None:
    made = (await imported(browser, SET))["set"]
    page = f"/quick-replies/{made['id']}"
    assert (await browser.post(page, data={"settings_version": "0", "name": "Theirs"})).status_code == 303
    late = await browser.post(page, data={"settings_version": "0", "name": "Mine"})
    assert late.status_code == 409
    assert 'value="Mine"' in late.text
    assert '<dd dir="auto">Theirs</dd>' in late.text
    late = await browser.post(f"{page}/buttons/3", data={"settings_version": "0", "label": "Mine"})
    assert late.status_code == 409
    assert 'value="Mine"' in late.text
    assert '<dd dir="auto">Wave</dd>' in late.text


async def test_buttons_are_moved_copied_and_deleted(browser: httpx2.AsyncClient) -> None:
    made = (await imported(browser, SET))["set"]
    page, api = f"/quick-replies/{made['id']}", f"{API}/{made['id']}"

    async def ids() -> list[int]:
        return [button["id"] for button in (await browser.get(api)).json()["buttons"]]

    assert (await browser.post(f"{page}/buttons/move", data={"moved": "8", "before": "3"})).status_code == 303
    assert await ids() == [8, 3, 7]
    await browser.post(f"{page}/buttons/move", data={"moved": "8", "before": ""})
    assert await ids() == [3, 7, 8]
    assert (await browser.post(f"{page}/buttons/7/duplicate")).headers["location"] == f"{page}/buttons/9"
    assert await ids() == [3, 7, 9, 8]
    version = (await browser.get(api)).json()["settings_version"]
    assert (await browser.post(f"{page}/buttons/7/delete", data={"settings_version": "0"})).status_code == 409
    assert (await browser.post(f"{page}/buttons/7/delete", data={"settings_version": f"{version}"})).status_code == 303
    order = {"settings_version": version + 1, "ids": [8, 9, 3]}
    assert (await browser.put(f"{api}/buttons/order", json=order)).status_code == 200
    assert await ids() == [8, 9, 3]
    assert (await browser.put(f"{api}/buttons/order", json={**order, "ids": [8]})).status_code == 409
    assert (await browser.get(f"{page}/buttons/7")).status_code == 404


async def test_a_button_says_its_text_with_macros(browser: httpx2.AsyncClient, story: Story) -> None:
    made = await imported(browser, SET)
    await story.narrate("It rains.")
    wave = await said(browser, story, made, 3, "typed")
    assert wave["text"].startswith("I wave at ")
    assert "{{" not in wave["text"]
    assert (wave["send"], wave["uses_input"]) == (True, False)
    texts = {
        "In short: {{input}}!": ("In short: typed!", True),
        "{{lastMessage}}": ("It rains.", False),
        "{{setvar::a::1}}{{getvar::a}}": ("1", False),
    }
    for message, (expected, uses_input) in texts.items():
        other = await imported(browser, {"name": message, "qrList": [{"id": 1, "message": message}]})
        answer = await said(browser, story, other, 1, "typed")
        assert (answer["text"], answer["uses_input"]) == (expected, uses_input), message
    assert (await browser.get(f"/api/v1/conversations/{story.conversation_id}/variables")).json()["variables"] == {}


async def test_what_was_typed_goes_along_or_stays(browser: httpx2.AsyncClient, story: Story) -> None:
    expected = {
        (False, False, False): ("Hi.", True, False),
        (False, False, True): ("typed Hi.", True, True),
        (False, True, True): ("Hi. typed", True, True),
        (True, False, False): ("typed Hi.", False, True),
        (True, True, False): ("Hi. typed", False, True),
    }
    for (disable, before, inject), (text, send, uses_input) in expected.items():
        flags = {"disableSend": disable, "placeBeforeInput": before, "injectInput": inject}
        made = await imported(browser, {"name": "A", **flags, "qrList": [{"id": 1, "message": "Hi."}]})
        answer = await said(browser, story, made, 1, "typed")
        assert answer == {"text": text, "send": send, "uses_input": uses_input}


async def test_scripts_are_shown_and_not_run(browser: httpx2.AsyncClient, story: Story) -> None:
    made = await imported(browser, SET)
    answer = await said(browser, story, made, 7)
    assert answer["error"]["sentence"] == "“Roll” is a script. Scripts are shown and not run."
    page = (await browser.get(f"/conversations/{story.conversation_id}")).text
    assert "/roll 1d6 | /echo" in page
    assert f'data-key="{made["set"]["id"]}/3"' in page
    assert f'data-key="{made["set"]["id"]}/7"' not in page
    assert "Script, not run" in (await browser.get(f"/quick-replies/{made['set']['id']}")).text


async def test_a_set_is_shown_where_it_is_used(browser: httpx2.AsyncClient, story: Story) -> None:
    made = await imported(browser, SET)
    page, api = f"/quick-replies/{made['set']['id']}", f"{API}/{made['set']['id']}"
    space_id = str((await story.conversation()).space_id)
    members = (await browser.get(f"/api/v1/spaces/{space_id}/members")).json()["items"]
    character_id = next(member["character_id"] for member in members if member["kind"] == "character")

    async def is_shown() -> bool:
        return "I wave" in (await said(browser, story, made, 3)).get("text", "")

    assert await is_shown()
    await browser.post(f"{page}/enabled", data={"enabled": "false"})
    assert not await is_shown()
    for place in ({"space_id": space_id}, {"character_id": character_id}):
        assert (await browser.post(f"{page}/places", data=place)).status_code == 303
        assert await is_shown()
        listed = (await browser.get(f"{api}/places")).json()
        assert [{key: row[key] for key in place} for row in listed] == [place]
        assert str(next(iter(place.values()))) in (await browser.get(page)).text
        assert (await browser.post(f"{page}/places/remove", data=place)).status_code == 303
        assert not await is_shown()
    hidden = await browser.put(f"{api}/places", json={"visible": False})
    assert hidden.json()["visible"] is False
    assert not await is_shown()
    assert (await browser.put(f"{api}/places", json={"space_id": space_id, "character_id": character_id})).is_error
    assert (await browser.delete(f"{api}/places")).status_code == 204
    assert (await browser.get(f"{api}/places")).json() == []


async def test_hidden_buttons_are_not_above_the_composer(browser: httpx2.AsyncClient, story: Story) -> None:
    buttons = [{"id": 1, "label": "Seen <b>", "message": "a"}, {"id": 2, "label": "Unseen", "isHidden": True}]
    await imported(browser, {"name": "A", "qrList": buttons})
    page = (await browser.get(f"/conversations/{story.conversation_id}")).text
    assert "Seen &lt;b&gt;" in page
    assert "Unseen" not in page


async def test_members_of_a_space_see_the_sets_of_the_space_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        things = Things(world)
        conversation_id, set_id = await things.get("conversation_id"), await things.get("set_id")
        address = f"/api/v1/conversations/{conversation_id}/quick_replies/{set_id}/1"
        member, owner = await world.client("member"), await world.client("owner")
        assert (await owner.post(address, json={})).json()["text"] == "I nod."
        assert (await member.post(address, json={})).status_code == 404
        assert "Nod" not in (await member.get(f"/conversations/{conversation_id}")).text
        await owner.put(f"{API}/{set_id}/places", json={"space_id": await things.get("space_id")})
        assert (await member.post(address, json={})).json()["text"] == "I nod."
        assert "Nod" in (await member.get(f"/conversations/{conversation_id}")).text
        assert (await member.get(f"{API}/{set_id}")).status_code == 404
        refused = await member.put(f"{API}/{set_id}/places", json={"space_id": await things.get("space_id")})
        assert refused.status_code == 404


JSON_VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)
BUTTONS = st.dictionaries(st.sampled_from(sorted(BUTTON)), JSON_VALUES | st.integers(0, 3), max_size=8)


@given(st.lists(BUTTONS | JSON_VALUES, max_size=6), st.sampled_from(["qrList", "quickReplySlots"]))
def test_whatever_a_file_has_buttons_can_be_told_apart(buttons: list[Any], key: str) -> None:
    read = read_set(json.dumps({key: buttons}).encode(), name="File")
    assert read is not None
    data = read[0]
    ids = [button.id for button in buttons_in(data)]
    assert len(set(ids)) == len(ids) == sum(isinstance(button, dict) for button in buttons)
    assert data["name"] == "File"
    assert [button_of(button).id for button in data["qrList"]] == ids
