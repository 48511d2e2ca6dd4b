"""Changing characters: nothing is overwritten unseen, every earlier card can come back, and history stays readable."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterAsset,
    CharacterVersion,
    Message,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.service import (
    delete_character,
    duplicate_character,
    edit_character,
    restore_version,
    set_avatar,
)
from tests.characters import card_files
from tests.playground.characters.builders import brought, form, json_card, me, picture, png_card, row, somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import outcome_of, refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

ICON = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}
CHARX = card_files.charx(card_files.v3(assets=[ICON]), **{"assets/icon/main.png": picture()})


async def seeded(play: Story) -> Character:
    """The character of the example, which has spoken."""
    async with play.runtime.database.read() as session:
        return (await session.scalars(select(Character))).one()


async def total(play: Story, table: Any) -> int:
    async with play.runtime.database.read() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


async def test_an_edit_changes_what_it_names_and_keeps_the_card_before(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, json_card())).character
        edited = await edit_character(
            play.runtime,
            me(play),
            character.id,
            version=1,
            fields={
                "description": "Sells clocks.",
                "tags": ["brass", "Uhr"],
                "nickname": "Yso",
                "character_book": None,
            },
        )
        assert isinstance(edited, Character)
        card = stored_card(edited).character
        assert (edited.version, edited.nickname, edited.tags) == (2, "Yso", ["brass", "Uhr"])
        assert (card.description, card.scenario, card.character_book) == ("Sells clocks.", "A shop.", None)
        restored = await restore_version(play.runtime, me(play), character.id, version=2, number=1)
        assert isinstance(restored, Character)
        assert (restored.version, restored.data) == (3, character.data)
        same = await edit_character(play.runtime, me(play), character.id, version=3, fields={"scenario": "A shop."})
        assert isinstance(same, Character)
        assert (same.version, await total(play, CharacterVersion)) == (3, 2)


async def test_a_change_of_something_older_is_refused_with_how_it_is(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, json_card())).character
        path = f"/characters/{character.id}"
        first = await client.patch(path, json={"version": 1, "scenario": "A mill."})
        assert (first.status_code, first.json()["version"]) == (200, 2)
        second = await client.patch(path, json={"version": 1, "scenario": "A ship."})
        assert (second.status_code, second.json()["error"]["code"]) == (409, "stale")
        assert second.json()["error"]["current"] == (await client.get(path)).json()
        restore = await client.post(f"{path}/restore", json={"version": 1, "number": 1})
        assert restore.status_code == 409


async def test_two_who_edit_at_once_do_not_overwrite_each_other(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, json_card())).character
        results = await asyncio.gather(
            *(
                outcome_of(
                    edit_character(
                        play.runtime, me(play), character.id, version=1, fields={"scenario": f"Place {number}"}
                    )
                )
                for number in range(5)
            )
        )
        assert [getattr(result, "code", "done") for result in results].count("done") == 1
        assert (await row(play, character.id)).version == 2


NO_CARDS: list[dict[str, Any]] = [
    {"description": "without a version"},
    {"version": 1, "name": "  "},
    {"version": 1, "unknown": 1},
    {"version": 1, "tags": "one"},
    {"version": 1, "tags": [1]},
    {"version": 0},
    {"version": 10**20},
    {"version": 1, "character_book": {"entries": [{}] * 10_001}},
]


async def test_what_cannot_be_a_card_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, json_card())).character
        for body in NO_CARDS:
            refused = await client.patch(f"/characters/{character.id}", json=body)
            assert refused.status_code == 422, str(body)[:200]
        assert (await row(play, character.id)).version == 1


async def test_a_new_name_is_seen_where_the_character_takes_part(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = await seeded(play)
        await edit_character(
            play.runtime, me(play), character.id, version=character.version, fields={"name": "Otto", "nickname": None}
        )
        async with play.runtime.database.read() as session:
            names = await session.scalars(
                select(SpaceMembership.cached_display_name).where(SpaceMembership.character_id == character.id)
            )
            assert names.all() == ["Otto"]


async def test_one_that_has_spoken_stays_readable(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = await seeded(play)
        await edit_character(play.runtime, me(play), character.id, version=1, fields={"scenario": "Elsewhere."})
        await set_avatar(play.runtime, me(play), character.id, picture())
        await delete_character(play.runtime, me(play), character.id)
        await play.outlast_trash()
        left = await row(play, character.id)
        assert (left.status, left.name, left.avatar_sha256) == ("deleted", character.name, None)
        card = stored_card(left).character
        assert (card.name, card.description, card.first_mes) == (character.name, "", "")
        assert left.thumbnail_sha256 is not None
        assert (await total(play, CharacterVersion), await total(play, Blob)) == (0, 1)
        async with play.runtime.database.read() as session:
            member = (
                await session.scalars(select(SpaceMembership).where(SpaceMembership.character_id == character.id))
            ).one()
            spoken = (await session.scalars(select(Message))).one()
        assert (member.status, member.cached_display_name) == ("removed", character.nickname or character.name)
        assert (spoken.membership_id, spoken.role) == (member.id, "assistant")
        await refusal_of(delete_character(play.runtime, me(play), character.id))


async def test_one_that_never_spoke_is_gone_altogether(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, CHARX)).character
        async with play.runtime.database.write() as session:
            space = (await session.scalars(select(Space))).one()
            member = SpaceMembership(
                id=uuid4(),
                space_id=space.id,
                kind="character",
                character_id=character.id,
                cached_display_name="Ysolde",
                created_at=play.runtime.clock(),
            )
            session.add(member)
        await edit_character(play.runtime, me(play), character.id, version=1, fields={"scenario": "Elsewhere."})
        await delete_character(play.runtime, me(play), character.id)
        await play.outlast_trash()
        for table, count in ((Character, 1), (CharacterVersion, 0), (CharacterAsset, 0), (Blob, 0)):
            assert await total(play, table) == count
        async with play.runtime.database.read() as session:
            anchor = await session.get_one(SpaceMembership, member.id)
        assert (anchor.status, anchor.character_id, anchor.cached_display_name) == ("removed", None, "Ysolde")


async def test_a_copy_stands_on_its_own(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        original = (await brought(play, CHARX)).character
        copy = await duplicate_character(play.runtime, me(play), original.id)
        assert isinstance(copy, Character)
        assert (copy.data, copy.avatar_sha256, copy.version) == (original.data, original.avatar_sha256, 1)
        await delete_character(play.runtime, me(play), original.id)
        await play.outlast_trash()
        assert await total(play, CharacterAsset) == 1
        # The picture, the icon that it was made from, and the small one; two of them are the same bytes.
        assert await total(play, Blob) == 2
        again = await brought(play, CHARX)
        assert (again.outcome, again.character.id) == ("same", copy.id)


async def test_another_picture_takes_the_place_of_the_cards_icon(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, CHARX)).character
        changed = await set_avatar(play.runtime, me(play), character.id, picture("red", format="JPEG"))
        assert isinstance(changed, Character)
        assert changed.version == 2
        assert stored_card(changed).character.assets is not None
        assert changed.data["data"]["assets"][0]["uri"] == "ccdefault:"
        assert (await total(play, CharacterAsset), await total(play, Blob)) == (0, 2)
        refused = await refusal_of(set_avatar(play.runtime, me(play), character.id, b"no picture"))
        assert "PNG, JPEG, WebP or GIF" in refused.sentence


async def test_what_is_everybodys_can_be_read_and_copied_and_is_changed_by_administrators(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, png_card())).character
        async with play.runtime.database.write() as session:
            (await session.get_one(Character, character.id)).owner_id = None
        other = await somebody_else(play)
        refused = await refusal_of(
            edit_character(play.runtime, other, character.id, version=1, fields={"scenario": "Mine."})
        )
        assert refused.code == "forbidden"
        copy = await duplicate_character(play.runtime, other, character.id)
        assert isinstance(copy, Character)
        assert copy.owner_id == other.user_id
        administrator = Viewer(user_id=other.user_id, role="administrator")
        edited = await edit_character(
            play.runtime, administrator, character.id, version=1, fields={"scenario": "Ours."}
        )
        assert isinstance(edited, Character)


async def test_somebody_elses_character_is_not_there(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, png_card())).character
        other = await somebody_else(play)
        async with api_client(play.runtime, other.user_id) as client:
            path = f"/characters/{character.id}"
            answers = [
                await client.get(path),
                await client.patch(path, json={"version": 1, "scenario": "Mine."}),
                await client.delete(path),
                await client.post(f"{path}/duplicate"),
                await client.get(f"{path}/versions"),
                await client.get(f"{path}/versions/1"),
                await client.post(f"{path}/restore", json={"version": 1, "number": 1}),
                await client.get(f"{path}/export"),
                await client.get(f"{path}/avatar"),
                await client.put(f"{path}/avatar", files=form(picture(), field="file")),
                await client.post(
                    "/characters", params={"character_id": str(character.id)}, files=form(json_card(), field="file")
                ),
            ]
            assert {answer.status_code for answer in answers} == {404}
            assert (await client.get("/characters")).json() == {"items": [], "next": None}


async def test_versions_over_http(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        sent = await client.post("/characters", files=form(json_card(scenario="0 \ud800"), field="file"))
        assert (sent.status_code, sent.json()["outcome"]) == (200, "imported")
        path = f"/characters/{sent.json()['character']['id']}"
        for number in range(1, 5):
            await client.patch(path, json={"version": number, "scenario": str(number)})
        first = (await client.get(f"{path}/versions", params={"limit": 3})).json()
        rest = (await client.get(f"{path}/versions", params={"limit": 3, "after": first["next"]})).json()
        assert [item["number"] for item in first["items"] + rest["items"]] == [4, 3, 2, 1]
        shown = (await client.get(f"{path}/versions/2")).json()
        assert (shown["card"]["data"]["scenario"], shown["replaced_by"]) == ("1", "edited")
        assert shown["changes"] == [{"field": "scenario", "before": "1", "after": "4"}]
        assert (await client.get(f"{path}/versions/99")).status_code == 404
        assert (await client.get(f"{path}/versions/{10**30}")).status_code in (404, 422)
        assert (await client.delete(path)).status_code == 204
        assert (await client.get(path)).status_code == 404
