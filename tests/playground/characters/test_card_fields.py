"""Every field of a card can be written on its page, and is still there after an export and an import."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tavernkit import characters
from tavernkit.characters import Character
from tests.playground.characters.builders import row
from tests.playground.characters.test_pages import boxes, character_pages, seen

pytestmark = pytest.mark.anyio

TYPED: dict[str, dict[str, list[str]]] = {
    "name": {"name": ["Ysolde"]},
    "nickname": {"nickname": ["Sol"]},
    "description": {"description": ["Mends clocks.\r\nSlowly."]},
    "personality": {"personality": ["exact"]},
    "scenario": {"scenario": ["A shop."]},
    "first_mes": {"first_mes": ["Tick."]},
    "mes_example": {"mes_example": ["<START>\r\n{{user}}: Hello.\r\n{{char}}: Tock."]},
    "creator_notes": {"creator_notes": ["Wind her **daily**."]},
    "system_prompt": {"system_prompt": ["Be exact."]},
    "post_history_instructions": {"post_history_instructions": ["Stay exact."]},
    "alternate_greetings": {"alternate_greetings": ["Tock.", "", "Clang."]},
    "group_only_greetings": {"group_only_greetings": ["All at once."]},
    "tags": {"tags": ["clocks, night"]},
    "creator": {"creator": ["me"]},
    "character_version": {"character_version": ["1.2"]},
    "creator_notes_multilingual": {"note_language": ["de", ""], "note_text": ["Täglich aufziehen.", ""]},
    "source": {"source": ["https://example.org/ysolde\r\n"]},
    "extensions": {
        "talkativeness": ["0.25"],
        "fav": ["", "on"],
        "world": ["Clockwork"],
        "depth_prompt": ["She is tired."],
        "depth_prompt_depth": ["2"],
        "depth_prompt_role": ["user"],
        "extensions": ['{"mine": {"deep": [1, null]}}'],
    },
    "unknown": {"unknown": ['{"favourite_hour": 12}']},
}
WRITTEN: dict[str, Any] = {
    "name": "Ysolde",
    "nickname": "Sol",
    "description": "Mends clocks.\nSlowly.",
    "personality": "exact",
    "scenario": "A shop.",
    "first_mes": "Tick.",
    "mes_example": "<START>\n{{user}}: Hello.\n{{char}}: Tock.",
    "creator_notes": "Wind her **daily**.",
    "system_prompt": "Be exact.",
    "post_history_instructions": "Stay exact.",
    "alternate_greetings": ("Tock.", "Clang."),
    "group_only_greetings": ("All at once.",),
    "tags": ("clocks", "night"),
    "creator": "me",
    "character_version": "1.2",
    "creator_notes_multilingual": {"de": "Täglich aufziehen."},
    "source": ("https://example.org/ysolde",),
    "extensions": {
        "mine": {"deep": [1, None]},
        "talkativeness": 0.25,
        "fav": True,
        "world": "Clockwork",
        "depth_prompt": {"prompt": "She is tired.", "depth": 2, "role": "user"},
    },
    "unknown": {"favourite_hour": 12},
}
SHOWN = {"creation_date", "modification_date"}
"""Facts, which are shown and not typed."""
ON_PAGES_OF_THEIR_OWN = {"assets": "/pictures", "character_book": "/lorebook"}
"""Their tests are in `test_assets.py` and `test_embedded_book.py`."""


def test_every_field_of_the_model_is_typed_or_shown() -> None:
    assert {*TYPED} | SHOWN | {*ON_PAGES_OF_THEIR_OWN} == {*Character.__struct_fields__}
    assert {*WRITTEN} == {*TYPED}


async def test_what_is_typed_into_each_field_survives_export_and_import(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        empty = boxes(await seen(client, "/characters/new"))
        typed = {name: value for boxes_of in TYPED.values() for name, value in boxes_of.items()}
        assert typed.keys() == empty.keys(), "each box is typed into, and each that is typed into is on the page"
        answer = await client.post("/characters/new", data=typed)
        assert answer.status_code == 303, answer.text
        id = UUID(answer.headers["location"].rpartition("/")[2])
        made = characters.read_card((await row(play, id)).data)[0].character
        assert {field: getattr(made, field) for field in WRITTEN} == WRITTEN
        now = int(play.runtime.clock().timestamp())
        assert made.creation_date is not None
        assert now - 3600 < made.creation_date == made.modification_date <= now
        page = await seen(client, f"/characters/{id}/edit")
        assert ("Created" in page, "Modified" in page) == (True, True)
        assert all(f'"/characters/{id}{path}"' in page for path in ON_PAGES_OF_THEIR_OWN.values())
        again = await client.post(f"/characters/{id}/edit", data=boxes(page))
        assert (again.status_code, (await row(play, id)).version) == (303, 1), (
            "what the page shows is what it was given"
        )

        for format in ("json", "png", "charx"):
            file = await client.get(f"/api/v1/characters/{id}/export", params={"format": format})
            imported = await client.post(
                "/api/v1/characters", params={"as_new": "true"}, files={"file": ("card", file.content)}
            )
            read = characters.read_card(imported.json()["character"]["card"])[0].character
            same = {field: getattr(read, field) for field in (*WRITTEN, *SHOWN)}
            assert same == {field: getattr(made, field) for field in (*WRITTEN, *SHOWN)}, format


async def test_each_field_is_changed_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        for field, sent in TYPED.items():
            made = await client.post("/api/v1/characters/new", json={"name": "Anna"})
            assert made.status_code == 201, made.text
            id = UUID(made.json()["id"])
            page = boxes(await seen(client, f"/characters/{id}/edit"))
            answer = await client.post(f"/characters/{id}/edit", data=page | sent)
            assert answer.status_code == 303, answer.text
            before = characters.read_card(made.json()["card"])[0].character
            after = characters.read_card((await row(play, id)).data)[0].character
            changed = {name for name in Character.__struct_fields__ if getattr(before, name) != getattr(after, name)}
            assert changed - {"modification_date"} == {field}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": " "}, "needs a name"),
        ({"talkativeness": "2"}, "from 0 to 1"),
        ({"talkativeness": "much"}, "from 0 to 1"),
        ({"depth_prompt_depth": "-1"}, "whole number"),
        ({"extensions": "[1]"}, "must be a JSON object"),
        ({"extensions": "{"}, "not valid JSON"),
        ({"extensions": '{"fav": true}'}, "has its own field"),
        ({"unknown": '{"description": "Twice."}'}, "has its own field"),
        ({"note_language": "", "note_text": "Whose?"}, "Enter a language"),
        ({"description": "x" * 1_000_001}, "too long: Description"),
    ],
)
async def test_what_cannot_be_created_stays_in_the_form(
    sqlite_url: str, tmp_path: Path, wrong: dict[str, str], sentence: str
) -> None:
    async with character_pages(sqlite_url, tmp_path) as (_play, client):
        before = (await client.get("/api/v1/characters")).json()
        answer = await client.post("/characters/new", data={"name": "Anna", "scenario": "Typed.", **wrong})
        assert answer.status_code == 422
        assert sentence in answer.text
        assert boxes(answer.text)["scenario"] == ["Typed."]
        assert (await client.get("/api/v1/characters")).json() == before


async def test_a_large_extension_has_no_box_and_stays_as_it_is(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        large = {"blob": "x" * 300_000, "fav": False}
        made = await client.post("/api/v1/characters/new", json={"name": "Anna", "extensions": large})
        id = UUID(made.json()["id"])
        page = await seen(client, f"/characters/{id}/edit")
        assert "too long to be edited here" in page
        await client.post(f"/characters/{id}/edit", data=boxes(page) | {"fav": ["", "on"], "scenario": "A shop."})
        assert (await row(play, id)).data["data"]["extensions"] == {**large, "fav": True}


async def test_the_api_changes_every_field_and_refuses_names_that_are_taken(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (_play, client):
        fields = json.loads(json.dumps(WRITTEN))
        made = await client.post("/api/v1/characters/new", json=fields)
        read = characters.read_card(made.json()["card"])[0].character
        assert {field: getattr(read, field) for field in WRITTEN} == WRITTEN
        address = f"/api/v1/characters/{made.json()['id']}"
        cleared = await client.patch(address, json={"version": 1, "source": None, "creator_notes_multilingual": None})
        data = cleared.json()["card"]["data"]
        assert ("source" in data, "creator_notes_multilingual" in data) == (False, False)
        stale = await client.patch(address, json={"version": 1, "scenario": "Late."})
        assert stale.status_code == 409
        taken = await client.patch(address, json={"version": 2, "unknown": {"name": "Bo"}})
        assert taken.status_code == 422
        assert (await client.post("/api/v1/characters/new", json={"description": "Nameless."})).status_code == 422
