"""The table of a book: found, moved, changed together, and where its entries were last in a prompt."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import LorebookEntry
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.lorebooks.test_editing import entries, ok
from tests.playground.lorebooks.test_files import imported
from tests.playground.stories import Story, open_story
from tests.playground.support.forms import form_in
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}


def world(count: int) -> dict[str, Any]:
    """Entries of which every second is constant, every third disabled, every fifth at a depth."""
    return {
        "entries": {
            str(n): {"uid": n, "key": [f"key{n}"], "comment": f"Entry {n}", "content": f"Straße {n}.",
                     "constant": n % 2 == 0, "disable": n % 3 == 0, "position": 4 if n % 5 == 0 else 0, "depth": 2}
            for n in range(count)
        }
    }  # fmt: skip


async def comments(api: httpx2.AsyncClient, book: Any) -> list[str]:
    return [entry["comment"] for entry in await entries(api, book)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"search": "STRASSE 7"}, [7]),
        ({"search": "key11"}, [11]),
        ({"search": "entry 1", "enabled": True}, [1, 10, 11]),
        ({"constant": False, "enabled": False}, [3, 9]),
        ({"position": 4}, [0, 5, 10]),
        ({"position": 4, "constant": True, "search": "100%"}, []),
    ],
)
async def test_a_filter_finds_entries_by_text_state_and_position(
    database_url: str, tmp_path: Path, asked: dict[str, Any], found: list[int]
) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
        browser(play.runtime, play.user_id) as web,
    ):
        book = await imported(play, world(12), name="Wood")
        items = (await ok(await api.get(f"/lorebooks/{book.id}/entries", params=asked)))["items"]
        assert [item["uid"] for item in items] == found
        page = (await web.get(f"/lorebooks/{book.id}", params=asked)).text
        assert re.findall(r"Select Entry (\d+)", page) == [str(number) for number in found]


async def test_many_entries_are_changed_in_one_step_or_not_at_all(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, world(6), name="Wood")
        address = f"/lorebooks/{book.id}/entries/bulk"
        ids = [entry["id"] for entry in await entries(api, book.id)]

        async def change(**change: Any) -> int:
            answer = await ok(await api.post(address, json=change))
            assert answer["lorebook"]["id"] == str(book.id)
            return int(answer["changed"])

        assert await change(action="enable", ids=ids[:3]) == 1
        assert await change(action="disable", enabled=True, constant=True) == 3
        assert await change(action="set", ids=ids[:2], set_position=4, set_order=-3, set_depth=7) == 2
        first = (await entries(api, book.id))[0]
        assert (first["enabled"], first["insertion_position"], first["revision"]) == (False, 4, 4)
        assert [first["data"][name] for name in ("position", "order", "depth", "disable")] == [4, -3, 7, True]
        assert await change(action="set", ids=ids[:2], set_order=-3) == 0
        assert await change(action="place", ids=[ids[1], ids[4]], to=1) == 2
        assert await comments(api, book.id) == [f"Entry {n}" for n in (1, 4, 0, 2, 3, 5)]
        assert await change(action="delete", search="Entry 5") == 1
        before = await entries(api, book.id)
        for wrong in (
            {"action": "delete", "ids": [ids[0], str(uuid4())]},
            {"action": "set", "ids": ids[:1]},
            {"action": "place", "ids": ids[:1]},
            {"action": "move", "ids": ids[:1]},
            {"action": "copy", "ids": ids[:1], "lorebook_id": str(book.id)},
            {"action": "set", "set_position": 8},
        ):
            assert (await api.post(address, json=wrong)).status_code == 422, wrong
        nobodys = {"action": "move", "ids": ids[:1], "lorebook_id": str(uuid4())}
        assert (await api.post(address, json=nobodys)).status_code == 404
        assert await entries(api, book.id) == before


async def test_entries_go_to_another_book_with_all_they_say(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        card = {"name": "Card", "entries": [
            {"id": "a", "keys": ["beer"], "content": "Dark.", "enabled": True, "insertion_order": 3, "priority": 9,
             "mode": "child", "extensions": {"depth": 2, "foreign": []}, "extra": None},
        ]}  # fmt: skip
        source = await imported(play, {"spec": "lorebook_v3", "data": card})
        target = await imported(play, world(2), name="Wood")
        for action in ("copy", "move"):
            change = {"action": action, "lorebook_id": str(target.id)}
            assert (await ok(await api.post(f"/lorebooks/{source.id}/entries/bulk", json=change)))["changed"] == 1
        assert await entries(api, source.id) == []
        assert (await ok(await api.get(f"/lorebooks/{source.id}")))["entries_count"] == 0
        assert (await ok(await api.get(f"/lorebooks/{target.id}")))["entries_count"] == 4
        written = (await api.get(f"/lorebooks/{target.id}/export", params={"format": "character_book"})).json()
        for number, entry in ((2, written["entries"][2]), (3, written["entries"][3])):
            kept = {name: entry[name] for name in ("id", "keys", "content", "priority", "mode", "extra")}
            assert kept == {"id": number, "keys": ["beer"], "content": "Dark.", "priority": 9, "mode": "child",
                            "extra": None}  # fmt: skip
            assert (entry["extensions"]["depth"], entry["extensions"]["foreign"]) == (2, [])


async def test_a_dragged_entry_stands_between_its_neighbours(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
        browser(play.runtime, play.user_id) as web,
    ):
        book = await imported(play, world(5), name="Wood")
        ids = {entry["comment"]: entry["id"] for entry in await entries(api, book.id)}

        async def drag(moved: int, behind: int | None, before: int | None) -> list[str]:
            form = {"moved": ids[f"Entry {moved}"]}
            form["behind"] = "" if behind is None else ids[f"Entry {behind}"]
            form["before"] = "" if before is None else ids[f"Entry {before}"]
            answer = await web.post(f"/lorebooks/{book.id}/entries/move", data=form, headers=STREAMS)
            assert answer.status_code == 200, answer.text
            return [name.removeprefix("Entry ") for name in await comments(api, book.id)]

        assert await drag(4, None, 0) == ["4", "0", "1", "2", "3"]
        assert await drag(0, 2, 3) == ["4", "1", "2", "0", "3"]
        assert await drag(4, 3, None) == ["1", "2", "0", "3", "4"]
        # A filter shows 1 and 3 alone: behind the one that it has passed.
        assert await drag(1, 3, None) == ["2", "0", "3", "1", "4"]
        gone = {"moved": ids["Entry 1"], "behind": str(uuid4()), "before": ""}
        assert (await web.post(f"/lorebooks/{book.id}/entries/move", data=gone)).status_code == 422
        written = (await api.get(f"/lorebooks/{book.id}/export")).json()
        again = await imported(play, written, name="Again")
        assert await comments(api, again.id) == await comments(api, book.id)
        assert [entry["displayIndex"] for entry in written["entries"].values()] == [0, 1, 2, 3, 4]


@pytest.fixture
async def play(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Story]:
    async with open_story(sqlite_url, tmp_path, ScriptedModel("The fox is asleep.")) as story:
        yield story


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6))
async def test_any_moves_keep_every_entry_once(play: Story, moves: list[tuple[int, int]]) -> None:
    async with api_client(play.runtime, play.user_id) as api:
        book = await imported(play, world(6), name="Wood")
        order = [entry["id"] for entry in await entries(api, book.id)]
        for taken, place in moves:
            moved = order.pop(taken)
            order.insert(place, moved)
            change = {"action": "place", "ids": [moved], "to": place + 1}
            await ok(await api.post(f"/lorebooks/{book.id}/entries/bulk", json=change))
        assert [entry["id"] for entry in await entries(api, book.id)] == order
        await ok(await api.delete(f"/lorebooks/{book.id}"), 204)


async def test_the_page_changes_the_selected_entries_or_all_that_are_found(play: Story) -> None:
    async with api_client(play.runtime, play.user_id) as api, browser(play.runtime, play.user_id) as web:
        book = await imported(play, world(120), name="Wood")
        other = await imported(play, world(1), name="Other")
        page = f"/lorebooks/{book.id}"
        first = (await web.get(page)).text
        assert "120 entries, " in first
        assert "Select all 120 entries" in first
        ids = re.findall(r'name="ids" value="([^"]+)"', first)
        assert len(ids) == 100
        told = (await web.post(f"{page}/entries/bulk", data={"action": "enable", "ids": ids[:4]}, headers=STREAMS)).text
        assert "2 entries enabled." in told
        assert 'target="entries"' in told
        form = {"action": "move", "all": "on", "target": str(other.id)}
        assert (
            "4 entries moved."
            in (
                await web.post(
                    f"{page}/entries/bulk?search=entry+11&enabled=true&constant=false", data=form, headers=STREAMS
                )
            ).text
        )
        assert await comments(api, other.id) == [f"Entry {n}" for n in (0, 11, 113, 115, 119)]
        plain = await web.post(f"{page}/entries/bulk?constant=true", data={"action": "delete", "all": "on"})
        assert (plain.status_code, plain.headers["location"]) == (303, f"{page}?constant=true")
        assert (await ok(await api.get(f"/lorebooks/{book.id}")))["entries_count"] == 56
        nothing = await web.post(f"{page}/entries/bulk", data={"action": "delete"})
        assert nothing.status_code == 422
        assert "Select entries first." in nothing.text


async def test_tokens_of_entries_of_an_earlier_version_are_counted_once(play: Story) -> None:
    async with browser(play.runtime, play.user_id) as web:
        book = await imported(play, world(3), name="Wood")
        counted = (await web.get(f"/lorebooks/{book.id}")).text
        async with play.runtime.database.write() as session:
            await session.execute(update(LorebookEntry).values(tokens=None))
        again = (await web.get(f"/lorebooks/{book.id}")).text
        heading = re.compile(r"3 entries, \d+ tokens")
        assert heading.findall(again) == heading.findall(counted) != []
        async with play.runtime.database.read() as session:
            assert None not in (await session.scalars(select(LorebookEntry.tokens))).all()


async def test_an_entry_says_in_which_conversation_it_was_last_activated(play: Story) -> None:
    async with api_client(play.runtime, play.user_id) as api, browser(play.runtime, play.user_id) as web:
        entry = {"uid": 4, "key": ["fox"], "comment": "Fox", "content": "Red."}
        book = await imported(play, {"entries": {"4": entry, "5": {**entry, "uid": 5, "key": ["owl"]}}}, name="Wood")
        link = {"lorebook_id": str(book.id), "conversation_id": str(play.conversation_id)}
        await ok(await api.post("/lorebook_links", json=link), 201)
        assert await ok(await api.get(f"/lorebooks/{book.id}/activations")) == []
        async with play.working():
            await play.say("Where is the fox?")
            run = await play.until(lambda run: run.status == "succeeded")
        fox, _owl = await entries(api, book.id)
        [activation] = await ok(await api.get(f"/lorebooks/{book.id}/activations"))
        told = {name: activation[name] for name in ("entry_id", "run_id", "conversation_id")}
        assert told == {"entry_id": fox["id"], "run_id": str(run.id), "conversation_id": str(play.conversation_id)}
        page = (await web.get(f"/lorebooks/{book.id}")).text
        assert page.count("Last activated") == 1
        assert f'href="/runs/{run.id}"' in page


async def test_a_book_is_tested_in_a_conversation_and_with_an_entry_that_is_not_saved(play: Story) -> None:
    async with api_client(play.runtime, play.user_id) as api, browser(play.runtime, play.user_id) as web:
        await play.say("The fox ran into the wood.")
        world = {"0": {"uid": 0, "key": ["fox"], "comment": "Fox"}, "1": {"uid": 1, "key": ["owl"], "comment": "Owl"}}
        book = await imported(play, {"entries": world}, name="Wood")
        page, here = f"/lorebooks/{book.id}", str(play.conversation_id)
        assert f'<option value="{here}"' in (await web.get(page)).text
        told = (await web.post(f"{page}/test", data={"conversation_id": here}, headers=STREAMS)).text
        assert "1 entry activated" in told
        assert "“fox” was found in the newest message" in told
        assert "1 entry not activated" in told
        test = await ok(await api.post(f"/lorebooks/{book.id}/test", json={"conversation_id": here}))
        assert [[one["name"] for one in test[part]] for part in ("activated", "not_activated")] == [["Fox"], ["Owl"]]
        missed = await ok(await api.post(f"/lorebooks/{book.id}/test", json={"text": "Foxes and owls."}))
        assert [one["is_near"] for one in missed["not_activated"]] == [True, True]
        _fox, owl = await entries(api, book.id)
        form = form_in((await web.get(f"{page}/entries/{owl['id']}")).text, "entry_form")
        for draft, entry_id, sentence in (
            ({"keys": "wood", "content": "@@nonsense\nHoo."}, owl["id"], "2 entries activated"),
            ({"keys": "owl"}, owl["id"], "1 entry activated"),
            ({"comment": "New", "keys": "ran"}, "", "2 entries activated"),
            ({"depth": "deep"}, owl["id"], "Depth must be a whole number"),
        ):
            asked = form | draft | {"entry_id": entry_id, "conversation_id": here}
            tested = (await web.post(f"{page}/entries/test", data=asked, headers=STREAMS)).text
            assert sentence in tested, draft
            assert ("There is no decorator @@nonsense." in tested) == ("content" in draft)
        assert [entry["revision"] for entry in await entries(api, book.id)] == [1, 1]
        missing = await web.post(f"{page}/test", data={"conversation_id": str(uuid4())})
        assert missing.status_code == 404


async def test_a_book_says_how_it_is_scanned_and_a_stale_save_shows_both(play: Story) -> None:
    async with api_client(play.runtime, play.user_id) as api, browser(play.runtime, play.user_id) as web:
        book = await imported(play, {**world(1), "extensions": {"theirs": 1}}, name="Wood")
        page = f"/lorebooks/{book.id}"
        form = {"settings_version": "0", "name": "Wood", "description": "Trees.", "scan_depth": "7",
                "token_budget": "500", "recursive_scanning": "true", "extensions": '{"theirs": [2]}'}  # fmt: skip
        assert (await web.post(page, data=form)).status_code == 303
        written = (await api.get(f"/lorebooks/{book.id}/export")).json()
        told = [written[name] for name in ("scan_depth", "token_budget", "recursive_scanning", "extensions")]
        assert told == [7, 500, True, {"theirs": [2]}]
        late = await web.post(page, data=form | {"scan_depth": "9", "name": "Forest"})
        assert late.status_code == 409
        assert '<dt>Scan depth</dt><dd dir="auto">7</dd>' in late.text
        assert 'value="Forest"' in late.text
        cleared = form | {"settings_version": "1", "scan_depth": "", "recursive_scanning": "", "extensions": ""}
        assert (await web.post(page, data=cleared)).status_code == 303
        again = (await api.get(f"/lorebooks/{book.id}/export")).json()
        assert {"scan_depth", "recursive_scanning", "extensions"}.isdisjoint(again)
        for wrong in ({"scan_depth": "-1"}, {"extensions": "{"}, {"extensions": "[]"}, {"recursive_scanning": "x"}):
            refused = await web.post(page, data=cleared | {"settings_version": "2"} | wrong)
            assert refused.status_code == 422, wrong


async def test_a_book_is_linked_from_either_side(play: Story) -> None:
    async with api_client(play.runtime, play.user_id) as api, browser(play.runtime, play.user_id) as web:
        book = await imported(play, world(1), name="Wood")
        character = (await ok(await api.get("/characters")))["items"][0]
        persona = await ok(await api.post("/personas", json={"name": "Marlow"}), 201)
        side = f"/lorebooks/{book.id}/links"
        assert "is not used yet" in (await web.get(side)).text
        assert "Attach to Marlow" in (await web.get(side, params={"search": "marl"})).text
        assert "Nothing matches." in (await web.get(side, params={"search": "no such thing"})).text
        by_book = {"lorebook_id": str(book.id), "side": "book"}
        everywhere = f"/lorebook_links?user_id={play.user_id}"
        assert "Use in all stories" in (await web.get(side)).text
        assert (await web.post(everywhere, data=by_book)).status_code == 303
        assert everywhere in (await web.get("/lorebooks")).text
        assert "Use Wood" in (await web.get(everywhere)).text
        assert "Use in all stories" not in (await web.get(side)).text
        made = await web.post(f"/lorebook_links?persona_id={persona['id']}", data=by_book)
        assert (made.status_code, made.headers["location"]) == (303, side)
        place = f"/lorebook_links?character_id={character['id']}"
        made = await web.post(place, data={"lorebook_id": str(book.id), "side": "place"})
        assert (made.status_code, made.headers["location"]) == (303, place)
        assert place in (await web.get(f"/characters/{character['id']}")).text
        assert f"persona_id={persona['id']}" in (await web.get(f"/personas/{persona['id']}")).text
        assert "Use Wood" in (await web.get(place)).text
        shown = (await web.get(side)).text
        assert "Use Marlow" in shown
        assert "Use All stories" in shown
        assert "Attach to Marlow" not in shown
        links = await ok(await api.get("/lorebook_links", params={"lorebook_id": str(book.id)}))
        assert [(link["character_id"], link["persona_id"], link["user_id"]) for link in links] == [
            (character["id"], None, None), (None, persona["id"], None), (None, None, str(play.user_id)),
        ]  # fmt: skip
        off = await web.post(f"/lorebook_links/{links[0]['id']}", data={"enabled": "false", "side": "place"})
        assert off.headers["location"] == place
        for link in links:
            gone = await web.post(f"/lorebook_links/{link['id']}/detach", data={"side": "book"})
            assert gone.headers["location"] == side
        assert await ok(await api.get("/lorebook_links", params={"lorebook_id": str(book.id)})) == []
        assert (await web.post(f"/lorebook_links/{links[0]['id']}/detach", data={"side": "book"})).status_code == 404
        assert (await web.get("/lorebook_links")).status_code == 422
