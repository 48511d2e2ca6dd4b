"""What selects a persona: characters in new stories, and conversations that are locked to it."""

import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.views.personas import LABELS
from tavernkit.playground.story.personas.documents import NewPersona, PersonaFields
from tavernkit.playground.story.personas.files import read_backup, write_backup
from tests.playground.api.world import Things, open_world
from tests.playground.characters.builders import json_card, picture
from tests.playground.lorebooks.test_files import imported
from tests.playground.stories import Story, open_story
from tests.playground.support.web import browser as browser_of

pytestmark = pytest.mark.anyio

API = "/api/v1"
STREAMS = {"Accept": "text/vnd.turbo-stream.html"}


@pytest.fixture
async def story(database_url: str, tmp_path: Path) -> AsyncIterator[Story]:
    async with open_story(database_url, tmp_path, ScriptedModel()) as story:
        yield story


@pytest.fixture
async def browser(story: Story) -> AsyncIterator[httpx2.AsyncClient]:
    async with browser_of(story.runtime, story.user_id) as client:
        yield client


async def made(browser: httpx2.AsyncClient, path: str, **body: Any) -> Any:
    answer = await browser.post(f"{API}{path}", **body)
    assert answer.is_success, answer.text
    return answer.json()


async def new_character(browser: httpx2.AsyncClient, name: str) -> str:
    file = {"file": ("card.json", json_card(name=name, first_mes="I see {{user}}."))}
    return str((await made(browser, "/characters", files=file))["character"]["id"])


async def backup(browser: httpx2.AsyncClient, *personas: tuple[str, str, dict[str, Any]]) -> Any:
    document = {
        "personas": {avatar: name for avatar, name, _ in personas},
        "persona_descriptions": {avatar: entry for avatar, _, entry in personas},
        "default_persona": None,
    }
    return await made(browser, "/personas/import", files={"file": ("p.json", json.dumps(document).encode())})


async def who_plays(browser: httpx2.AsyncClient, opened: httpx2.Response) -> str:
    page = (await browser.get(opened.headers["location"])).text
    found = re.search(r'placeholder="Write as ([^"]*)"', page)
    assert found is not None
    return found[1]


async def test_a_connected_character_selects_the_persona_of_a_new_story(browser: httpx2.AsyncClient) -> None:
    ada, bo = await new_character(browser, "Ada"), await new_character(browser, "Bo")
    await made(browser, "/personas", json={"name": "Usual", "is_default": True})
    sam = await made(browser, "/personas", json={"name": "Sam"})
    plain = (await browser.get("/spaces/new")).text
    assert 'value="auto"' not in plain
    connected = await browser.post(f"/personas/{sam['id']}/connections", data={"character_id": ada})
    assert connected.status_code == 303
    assert "Ada" in (await browser.get(f"/personas/{sam['id']}")).text
    assert 'value="auto" checked' in (await browser.get("/spaces/new")).text
    for characters, expected in (([ada], "Sam"), ([bo, ada], "Sam"), ([bo], "Usual")):
        form = {"character_id": characters, "persona_id": "auto"}
        assert await who_plays(browser, await browser.post("/spaces/new", data=form)) == expected
    assert await who_plays(browser, await browser.post("/spaces", data={"character_id": ada})) == "Sam"
    chosen = await made(browser, "/spaces", json={"character_ids": [ada], "persona_id": "auto"})
    members = (await browser.get(f"{API}/spaces/{chosen['space']['id']}/members")).json()["items"]
    assert members[0]["persona_id"] == sam["id"]
    connection = (await browser.get(f"{API}/personas/{sam['id']}/connections")).json()[0]
    assert (connection["kind"], connection["character_id"]) == ("character", ada)
    gone = await browser.post(f"/personas/{sam['id']}/connections/{connection['id']}/remove")
    assert gone.status_code == 303
    assert 'value="auto"' not in (await browser.get("/spaces/new")).text


async def test_a_character_that_comes_later_is_found_by_its_file_name(browser: httpx2.AsyncClient) -> None:
    listed = [{"type": "character", "id": "Ada.png"}, {"type": "group", "id": "169"}, {"type": "character", "id": "X"}]
    entry = {"description": "Tall.", "position": 0, "lorebook": "", "title": "Captain", "connections": listed}
    sam = (await backup(browser, ("1-Sam.png", "Sam", entry)))["personas"][0]
    assert sam["title"] == "Captain"
    ada = await new_character(browser, "Ada")
    assert await who_plays(browser, await browser.post("/spaces", data={"character_id": ada})) == "Sam"
    written = (await browser.get(f"{API}/personas/export")).json()
    assert written["persona_descriptions"] == {"1-Sam.png": entry}
    rows = (await browser.get(f"{API}/personas/{sam['id']}/connections")).json()
    assert [row["kind"] for row in rows] == ["character", "other", "character"]
    await browser.delete(f"{API}/personas/{sam['id']}/connections/{rows[1]['id']}")
    await made(
        browser, f"/personas/{sam['id']}/connections", json={"character_id": await new_character(browser, "B/o")}
    )
    written = (await browser.get(f"{API}/personas/export")).json()
    expected = [listed[0], listed[2], {"type": "character", "id": "Bo.png"}]
    assert written["persona_descriptions"]["1-Sam.png"] == {**entry, "connections": expected}


async def test_a_lock_counts_in_its_conversation_alone(browser: httpx2.AsyncClient, story: Story) -> None:
    here = f"/conversations/{story.conversation_id}"
    await story.narrate("It rains.")
    await story.say("Hello?")
    sam = await made(browser, "/personas", json={"name": "Sam", "description": "A tall pilot."})
    book = await imported(
        story, {"name": "Wood", "entries": {"0": {"uid": 0, "constant": True, "content": "Old oak."}}}
    )
    await made(browser, "/lorebook_links", json={"lorebook_id": str(book.id), "persona_id": sam["id"]})
    before = (await browser.post(f"{API}{here}/preview", json={})).json()
    assert "A tall pilot." not in json.dumps(before)
    locked = await browser.post(f"{here}/panel/members/persona", data={"persona_id": sam["id"]})
    assert locked.status_code == 303, locked.text
    assert (await browser.get(f"{API}{here}/persona")).json() == {"persona_id": sam["id"]}
    page = (await browser.get(here)).text
    assert "Write as Sam" in page
    prompt = json.dumps((await browser.post(f"{API}{here}/preview", json={})).json())
    assert "A tall pilot." in prompt
    assert "Old oak." in prompt
    messages = (await browser.get(f"{API}{here}/messages")).json()["items"]
    assert messages[-1]["author"]["name"] == "Sam"
    assert "Persona: Sam" in (await browser.get(f"{here}/panel/lore")).text
    space_id = (await story.conversation()).space_id
    other = await made(browser, f"/spaces/{space_id}/conversations", json={"title": "Other"})
    assert "Write as Sam" not in (await browser.get(f"/conversations/{other['id']}")).text
    message = (await story.rows())[-1]
    branch = (await browser.post(f"/messages/{message.id}/branch")).headers["location"]
    assert "Write as Sam" in (await browser.get(branch)).text
    assert str(story.conversation_id) in (await browser.get(f"/personas/{sam['id']}")).text
    ended = await browser.post(f"{here}/panel/members/persona", data={"persona_id": ""})
    assert ended.status_code == 303
    assert "Write as Sam" not in (await browser.get(here)).text


@pytest.mark.parametrize("personas_first", [True, False])
async def test_an_imported_chat_is_locked_to_its_persona(
    browser: httpx2.AsyncClient, story: Story, personas_first: bool
) -> None:
    space_id = (await story.conversation()).space_id
    header = {"user_name": "Sam", "character_name": "Ada", "chat_metadata": {"persona": "1-Sam.png"}}
    lines = [header, {"name": "Ada", "is_user": False, "mes": "Hm?", "extra": {}}]
    chat = "\n".join(json.dumps(line) for line in lines).encode()

    async def import_chat() -> str:
        answer = await browser.post(f"{API}/spaces/{space_id}/conversations/import", files={"file": ("c.jsonl", chat)})
        assert answer.is_success, answer.text
        return str(answer.json()["conversations"][0]["id"])

    if personas_first:
        await backup(browser, ("1-Sam.png", "Samantha", {"description": "Tall."}))
        chat_id = await import_chat()
    else:
        chat_id = await import_chat()
        await backup(browser, ("1-Sam.png", "Samantha", {"description": "Tall."}))
    assert "Write as Samantha" in (await browser.get(f"/conversations/{chat_id}")).text
    exported = (await browser.get(f"{API}/conversations/{chat_id}/export")).text
    assert json.loads(exported.split("\n")[0])["chat_metadata"]["persona"] == "1-Sam.png"
    await browser.put(f"{API}/conversations/{chat_id}/persona", json={"persona_id": None})
    exported = (await browser.get(f"{API}/conversations/{chat_id}/export")).text
    assert "persona" not in json.loads(exported.split("\n")[0])["chat_metadata"]
    kim = await made(browser, "/personas", json={"name": "Kim"})
    await browser.put(f"{API}/conversations/{chat_id}/persona", json={"persona_id": kim["id"]})
    exported = (await browser.get(f"{API}/conversations/{chat_id}/export")).text
    avatar = json.loads(exported.split("\n")[0])["chat_metadata"]["persona"]
    assert (await browser.get(f"{API}/personas/export")).json()["personas"][avatar] == "Kim"


async def test_pictures_go_to_the_personas_of_their_file_names(browser: httpx2.AsyncClient) -> None:
    await backup(browser, ("1699.png", "Sam", {"description": "Tall."}))
    kim = await made(browser, "/personas", json={"name": "Kim"})
    files = [
        ("file", (name, picture(color)))
        for name, color in (("1699.png", "red"), ("kim.webp", "blue"), ("Robin.png", "green"))
    ]
    told = await browser.post("/personas/import", files=files, headers=STREAMS)
    assert told.text.count("was imported as") == 3
    rows = (await browser.get(f"{API}/personas")).json()["items"]
    assert [(row["name"], bool(row["avatar_sha256"])) for row in rows] == [
        ("Kim", True),
        ("Robin", True),
        ("Sam", True),
    ]
    assert next(row for row in rows if row["name"] == "Kim")["id"] == kim["id"]
    again = {"file": ("Robin.png", picture("red"))}
    assert (await made(browser, "/personas/import", files=again))["known"] == 1
    assert len((await browser.get(f"{API}/personas")).json()["items"]) == 3
    named = await backup(browser, ("Robin.png", "Robin Hood", {"description": "Archer."}))
    assert [(row["name"], row["description"]) for row in named["personas"]] == [("Robin Hood", "Archer.")]
    assert named["personas"][0]["avatar_sha256"]
    assert len((await browser.get(f"{API}/personas")).json()["items"]) == 3


async def test_every_field_survives_page_export_and_import(browser: httpx2.AsyncClient, story: Story) -> None:
    boxes = {"name": "Sam", "title": "Captain", "description": "Tall.", "position": "at_depth", "depth": "7",
             "role": "assistant", "is_default": "on"}  # fmt: skip
    assert set(boxes) == set(PersonaFields.model_fields) == set(LABELS)
    assert set(NewPersona.model_fields) - set(boxes) == {"avatar_sha256"}
    address = (await browser.post("/personas", data=boxes)).headers["location"]
    ada = await new_character(browser, "Ada")
    book = await imported(story, {"name": "Wood", "entries": {}})
    given = await browser.post(f"{address}/picture?settings_version=0", files={"file": ("a.png", picture("red"))})
    assert given.status_code == 303
    await browser.post(f"{address}/connections", data={"character_id": ada})
    link = {"lorebook_id": str(book.id), "persona_id": address.rpartition("/")[2]}
    await made(browser, "/lorebook_links", json=link)
    page = (await browser.get(address)).text
    assert set(boxes) <= set(re.findall(r'name="(\w+)"', page))
    assert all(text in page for text in ("Ada", "/api/v1/blobs/"))
    written = (await browser.get(f"{API}/personas/export")).json()
    archive = (await browser.get(f"{API}/personas/export", params={"pictures": "true"})).content
    await browser.post(f"{address}/delete")
    file = {"file": ("p.zip", archive)}
    again = (await made(browser, "/personas/import", files=file))["personas"][0]
    assert {name: again[name] for name in boxes} == {**boxes, "depth": 7, "is_default": True}
    assert again["avatar_sha256"]
    assert (await browser.get(f"{API}/personas/export")).json() == written
    assert "Ada" in (await browser.get(f"/personas/{again['id']}")).text
    assert next(iter(written["persona_descriptions"].values()))["lorebook"] == "Wood"


async def test_a_copy_has_title_and_connections(browser: httpx2.AsyncClient) -> None:
    ada = await new_character(browser, "Ada")
    sam = await made(browser, "/personas", json={"name": "Sam", "title": "Captain"})
    await made(browser, f"/personas/{sam['id']}/connections", json={"character_id": ada})
    address = (await browser.post(f"/personas/{sam['id']}/duplicate")).headers["location"]
    copy = (await browser.get(f"{API}{address}")).json()
    assert (copy["name"], copy["title"]) == ("Sam (copy)", "Captain")
    assert [row["name"] for row in (await browser.get(f"{API}{address}/connections")).json()] == ["Ada"]


async def test_personas_are_found_by_name_and_title(browser: httpx2.AsyncClient) -> None:
    for name, title in (("Sam", "Captain"), ("Kim", ""), ("100%", "")):
        await made(browser, "/personas", json={"name": name, "title": title})
    for search, expected in (("capt", {"Sam"}), ("KIM", {"Kim"}), ("%", {"100%"}), ("nobody", set())):
        page = (await browser.get("/personas", params={"search": search})).text
        assert set(re.findall(r'href="/personas/[0-9a-f-]{36}" dir="auto">([^<]+)<', page)) == expected


async def test_archives_of_strangers_are_refused_with_a_reason(browser: httpx2.AsyncClient) -> None:
    def archive(*names: str) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as written:
            for name in names:
                written.writestr(name, b"x")
        return buffer.getvalue()

    for data, reason in (
        (b"PK nothing", "cannot be read"),
        (archive("characters/Ada.png"), "no personas"),
        (archive("../a.png"), "unsafe name"),
        (archive(*(f"{number}.png" for number in range(1_001))), "1,001 pictures"),
    ):
        answer = await browser.post(f"{API}/personas/import", files={"file": ("a.zip", data)})
        assert answer.status_code == 422 or answer.json()["error"]["code"] == "too_long", answer.text
        assert reason in answer.json()["error"]["sentence"]
    told = await browser.post("/personas/import", files={"file": ("a.zip", archive("a.png"))}, headers=STREAMS)
    assert "not a PNG, JPEG, WebP or GIF" in told.text


ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(max_size=5),
        "position": st.sampled_from([0, 1, 2, 3, 4, 9]),
        "depth": st.integers(0, 9),
        "role": st.integers(0, 2),
        "lorebook": st.sampled_from(["", "Wood"]),
        "title": st.text(max_size=5),
        "connections": st.lists(
            st.fixed_dictionaries({"type": st.sampled_from(["character", "group", "x"]), "id": st.text(max_size=3)}),
            max_size=3,
        ),
        "theirs": st.integers(),
    },
)


@given(st.dictionaries(st.text("ab.", min_size=1, max_size=4), st.tuples(st.sampled_from(["Sam", "Bo"]), ENTRIES)))
def test_a_backup_that_was_read_is_written_equal(personas: dict[str, tuple[str, dict[str, Any]]]) -> None:
    document = {
        "personas": {avatar: name for avatar, (name, _) in personas.items()},
        "persona_descriptions": {avatar: entry for avatar, (_, entry) in personas.items() if entry},
        "default_persona": next(iter(personas), None),
    }
    read, _report = read_backup(json.dumps(document).encode())
    written = write_backup(read)
    described = written["persona_descriptions"]
    assert isinstance(described, dict)
    assert {avatar: described[avatar] for avatar, (_, entry) in personas.items() if entry} == {
        avatar: entry for avatar, (_, entry) in personas.items() if entry
    }
    assert (written["personas"], written["default_persona"]) == (document["personas"], document["default_persona"])


async def test_others_see_the_persona_that_a_member_is_in_a_conversation(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        things = Things(world)
        here = f"{API}/conversations/{await things.get('conversation_id')}"
        member, owner = await world.client("member"), await world.client("owner")
        kim = await made(member, "/personas", json={"name": "Kim"})
        address = f"{API}/personas/{kim['id']}"
        await member.put(f"{address}/picture?settings_version=0", files={"file": ("a.png", picture("red"))})
        avatar = (await member.get(address)).json()["avatar_sha256"]
        assert (await owner.get(f"{API}/blobs/{avatar}")).status_code == 404
        assert (await owner.put(f"{here}/persona", json={"persona_id": kim["id"]})).status_code == 404
        assert (await member.put(f"{here}/persona", json={"persona_id": kim["id"]})).status_code == 200
        sent = {"content": "It rains.", "role": "system"}
        assert (await member.post(f"{here}/messages", json=sent)).is_success
        assert (await owner.get(f"{here}/messages")).json()["items"][-1]["author"]["name"] == "Kim"
        assert avatar in (await owner.get(f"/conversations/{await things.get('conversation_id')}")).text
        assert (await owner.get(f"{API}/blobs/{avatar}")).status_code == 200
        assert (await (await world.client("other")).get(f"{API}/blobs/{avatar}")).status_code == 404
        assert (await owner.get(f"{here}/persona")).json() == {"persona_id": None}
