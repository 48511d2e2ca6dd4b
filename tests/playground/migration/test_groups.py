"""Groups become spaces, and their chats conversations there."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Space, SpaceMembership
from tavernkit.playground.story.chatfiles.exporting import FolderNames
from tavernkit.playground.story.messages.service import edit_message
from tavernkit.playground.story.migration.group_files import group_bytes
from tavernkit.playground.story.migration.groups import reconnect_groups
from tavernkit.playground.story.migration.items import ItemOutcome
from tavernkit.playground.story.paths.state import state_at
from tests.playground.characters.builders import png_card
from tests.playground.migration.exported import imported
from tests.playground.migration.folder_chats import ImportedStory, imported_story, lines, said
from tests.playground.stories import open_story

pytestmark = pytest.mark.anyio

UNUSED = {"chat_metadata": {"integrity": "x"}, "user_name": "unused", "character_name": "unused"}
GROUP: dict[str, Any] = {
    "id": "1700", "name": "Crew", "members": ["Owl.png", "Mira.png", "Lost.png", "Mira1.png"],
    "avatar_url": "/thumbnail?x", "allow_self_responses": True, "activation_strategy": 1, "generation_mode": 2,
    "disabled_members": ["Mira.png"], "chat_metadata_of": "an extension", "fav": True, "chat_id": "one",
    "chats": ["one", "two"], "auto_mode_delay": 12, "generation_mode_join_prefix": "<",
    "generation_mode_join_suffix": ">", "hideMutedSprites": True,
}  # fmt: skip


def written(document: Any) -> bytes:
    """As SillyTavern writes groups."""
    return json.dumps(document, indent=4, ensure_ascii=False).encode()


async def cards(story: ImportedStory) -> None:
    for avatar, name in (("Mira.png", "Mira"), ("Mira1.png", "Mira"), ("Owl.png", "Owl")):
        await story.card(avatar, name)


async def exported(story: ImportedStory, space_id: UUID | None, names: FolderNames) -> dict[str, Any]:
    assert space_id is not None
    async with story.runtime.database.read() as session:
        data = await group_bytes(story.runtime, session, space_id, names)
    document: dict[str, Any] = json.loads(data)
    assert data == written(document)
    return document


async def names_of(story: ImportedStory, chats: dict[str, ItemOutcome]) -> FolderNames:
    characters = await story.avatars()
    return FolderNames(chats={one.target_id: name for name, one in chats.items() if one.target_id}, avatars=characters)


async def space(story: ImportedStory, outcome: ItemOutcome) -> Space:
    async with story.runtime.database.read() as session:
        return await session.get_one(Space, outcome.target_id)


async def test_v07_a_group_becomes_a_space_with_its_members_and_order(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        outcome = await story.add("groups/1700.json", written(GROUP))
        row = await space(story, outcome)
        assert (row.name, row.reply_order, row.card_handling_mode) == ("Crew", "list", "append_disabled")
        assert (row.allow_self_responses, row.auto_mode_delay_ms) == (True, 12_000)
        assert row.prompt_settings["prompt"] == {"join_prefix": "<", "join_suffix": ">"}
        members = [one for one in (await story.members(row.id)).values() if one.kind == "character"]
        assert [(one.cached_display_name, one.status, one.participation) for one in members] == [
            ("Owl", "active", "active"),
            ("Mira", "active", "muted"),
            ("Lost", "removed", "muted"),
            ("Mira", "active", "active"),
        ]
        assert [str(note) for note in outcome.notes] == ["Members whose cards are missing in the folder: Lost.png."]
        names = await names_of(story, {})
        assert await exported(story, row.id, names) == GROUP


async def test_v07_the_oldest_groups_name_their_members(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        await cards(story)
        old = {"id": 5, "name": "Old", "members": ["Owl", "Mira"]}
        outcome = await story.add("groups/5.json", written(old))
        members = [one for one in (await story.members((await space(story, outcome)).id)).values() if one.position]
        assert [(one.cached_display_name, one.character_id is None) for one in members] == [
            ("Owl", False),
            ("Mira", True),
        ]
        assert await exported(story, outcome.target_id, await names_of(story, {})) == old
        chat = await story.add("group chats/5.jsonl", lines(said("Owl", "Hoo.")))
        assert (await story.conversation_of(chat)).space_id == outcome.target_id


async def test_v07_chats_belong_to_the_group_that_names_them(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        group = await story.add("groups/1.json", written({**GROUP, "id": "1"}))
        second = await story.add("groups/2.json", written({**GROUP, "id": "2", "name": "Second", "chats": ["two"]}))
        story.job.cache.clear()
        file = lines(
            UNUSED,
            said("Sam", "Hi."),
            said("Mira", "I am muted.", original_avatar="Mira.png"),
            said("Mira", "I am not.", force_avatar="/thumbnail?type=avatar&file=Mira1.png"),
            said("Mira", "Which of us?"),
            said("Owl", "Hoo."),
            said("Stranger", "And me?", original_avatar="Stranger.png"),
        )
        chat = await story.add("group chats/two.jsonl", file)
        orphan = await story.add("group chats/alone.jsonl", file)
        assert (await story.conversation_of(chat)).space_id == group.target_id
        members = await story.members(group.target_id)  # type: ignore[arg-type]
        authors = [members[row.membership_id] for row in await story.rows(chat.target_id)]
        assert [one.participation for one in authors[1:3]] == ["muted", "active"]
        assert [one.status for one in authors] == ["active", "active", "active", "removed", "active", "removed"]
        assert "Crew" in str(second.notes[-1])
        assert (await space_name(story, orphan), len(orphan.notes)) == ("alone", 1)
        assert [await story.written(one) for one in (chat, orphan)] == [file, file]


async def space_name(story: ImportedStory, chat: ItemOutcome) -> str:
    return (await story.space_of(chat)).name


OLD = {
    **{key: value for key, value in GROUP.items() if key != "chat_metadata_of"},
    "chat_metadata": {"note_prompt": "Rain.", "note_depth": 2, "variables": {"hp": 3}},
    "past_metadata": {"two": {"scenario": "A cave."}},
}


async def test_v07_metadata_of_older_groups_is_merged_and_written_in_both_forms(
    database_url: str, tmp_path: Path
) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        group = await story.add("groups/1700.json", written(OLD))
        files = {
            name: lines(said("Owl", f"{name}.", original_avatar="Owl.png"), "{cut", said("Sam", "Go."))
            for name in ("one", "two")
        }
        chats = {name: await story.add(f"group chats/{name}.jsonl", file) for name, file in files.items()}
        rows = [await story.conversation_of(one) for one in chats.values()]
        assert rows[0].settings["authors_note"] == {"text": "Rain.", "depth": 2}
        assert rows[1].settings["prompt"] == {"scenario_override": "A cave."}
        async with story.runtime.database.read() as session:
            assert await state_at(session, rows[0].id, 2) == {"variables.hp": 3}
        names = await names_of(story, chats)
        assert [await story.written(one, names) for one in chats.values()] == list(files.values())
        assert await exported(story, group.target_id, names) == OLD
        async with story.runtime.database.write() as session:
            row = await session.merge(rows[1])
            row.settings = {**row.settings, "prompt": {"scenario_override": "A tower."}}
        changed = await exported(story, group.target_id, names)
        assert changed == {**OLD, "past_metadata": {"two": {"scenario": "A tower."}}}
        assert await story.written(chats["two"], names) == files["two"]
        alone = (await story.written_alone(chats["one"])).split(b"\n")
        assert json.loads(alone[0])["chat_metadata"] == OLD["chat_metadata"]
        assert alone[2] == b"{cut"


async def test_a_group_that_was_changed_here_is_written_with_the_changes(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        new = await story.card("New.png", "Nova")
        outcome = await story.add("groups/1700.json", written(GROUP))
        chat = await story.add("group chats/one.jsonl", lines(UNUSED, said("Owl", "Hoo.")))
        members = await story.members(outcome.target_id)  # type: ignore[arg-type]
        async with story.runtime.database.write() as session:
            row = await session.get_one(Space, outcome.target_id)
            row.reply_order, row.auto_mode_delay_ms, row.name = "pooled", 2500, "Crew of two"
            for one in members.values():
                one = await session.merge(one)
                if one.cached_display_name == "Owl":
                    one.status = "removed"
                if one.participation == "muted" and one.status == "active":
                    one.participation, one.position = "active", 9
            session.add(
                SpaceMembership(
                    id=story.runtime.ids(), space_id=row.id, kind="character", character_id=new, position=10,
                    cached_display_name="Nova", participation="muted", created_at=story.runtime.clock(),
                )
            )  # fmt: skip
        names = await names_of(story, {"one": chat})
        assert await exported(story, outcome.target_id, names) == {
            **GROUP, "name": "Crew of two", "activation_strategy": 3, "auto_mode_delay": 2.5,
            "members": ["Mira1.png", "Mira.png", "New.png", "Lost.png"], "disabled_members": ["New.png"],
        }  # fmt: skip


async def test_a_space_with_several_characters_becomes_a_new_group(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        await cards(story)
        chat = await story.add("group chats/alone.jsonl", lines(UNUSED, said("Owl", "Hoo."), said("Sam", "Hi.")))
        place = (await story.conversation_of(chat)).space_id
        names = (await names_of(story, {"alone": chat})).with_(groups={place: "77"})
        group = await exported(story, place, names)
        assert (group["id"], group["name"], group["members"]) == ("77", "alone", ["Owl.png"])
        assert (group["chats"], group["chat_id"], group["activation_strategy"]) == (["alone"], "alone", 0)


async def test_v06_a_member_comes_back_when_its_card_is_imported(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        outcome = await story.add("groups/1700.json", written(GROUP))
        chat = await story.add(
            "group chats/one.jsonl", lines(UNUSED, said("Lost", "Here.", original_avatar="Lost.png"))
        )
        lost = await story.card("Lost.png", "Lost boy")
        async with story.runtime.database.write() as session:
            assert await reconnect_groups(session, story.job) == 1
        members = [one for one in (await story.members(outcome.target_id)).values() if one.position]  # type: ignore[arg-type]
        assert [(one.cached_display_name, one.status) for one in members][2] == ("Lost boy", "active")
        assert members[2].character_id == lost
        assert await story.authors(chat) == ["Lost boy"]


async def test_v17_a_group_that_has_changed_in_the_folder_changes_here(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        first = await story.add("groups/1700.json", written(GROUP))
        await story.add("group chats/one.jsonl", lines(UNUSED, said("Owl", "Hoo.")))
        changed = {**GROUP, "name": "Duo", "members": ["Mira.png", "Owl.png"], "disabled_members": ["Owl.png"]}
        again = await story.add("groups/1700.json", written(changed))
        assert (again.target_id, again.verdict, again.merged) == (first.target_id, "exact", False)
        members = [one for one in (await story.members(again.target_id)).values() if one.status == "active"]  # type: ignore[arg-type]
        assert [(one.cached_display_name, one.participation) for one in members[1:]] == [
            ("Mira", "active"),
            ("Owl", "muted"),
        ]
        assert await exported(story, again.target_id, await names_of(story, {})) == changed


async def test_v17_a_group_that_has_changed_on_both_sides_is_kept(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        await cards(story)
        first = await story.add("groups/1700.json", written(GROUP))
        async with story.runtime.database.write() as session:
            row = await session.get_one(Space, first.target_id)
            row.name, row.settings_version = "Mine", row.settings_version + 1
        changed = {**GROUP, "name": "Theirs", "chats": ["one", "two", "three"]}
        again = await story.add("groups/1700.json", written(changed))
        assert (again.verdict, again.merged, (await space(story, again)).name) == ("unchanged", True, "Mine")
        chat = await story.add("group chats/three.jsonl", lines(UNUSED, said("Owl", "Hoo.")))
        assert (await story.conversation_of(chat)).space_id == first.target_id
        replaced = await story.add("groups/1700.json", written({**changed, "fav": False}), conflict="replace")
        assert ((await space(story, replaced)).name, replaced.merged) == ("Theirs", False)


async def test_adding_chats_to_a_group_is_no_change_of_the_group(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await cards(story)
        await story.add("groups/1700.json", written(GROUP))
        for name in ("one", "two"):
            await story.add(f"group chats/{name}.jsonl", lines(UNUSED, said("Owl", "Hoo.")))
        assert not await story.is_changed_here("groups/1700.json")
        message = (await story.rows(await story.target("group chats/one.jsonl")))[0]
        await edit_message(story.runtime, story.viewer, message.id, content="Hoo!", revision=None)
        assert not await story.is_changed_here("groups/1700.json")
        assert await story.is_changed_here("group chats/one.jsonl")


async def test_personas_are_connected_to_new_groups(sqlite_url: str, tmp_path: Path) -> None:
    persona = {"description": "A sailor.", "connections": [{"type": "group", "id": "1700"}]}
    settings = {"power_user": {"personas": {"sam.png": "Sam"}, "persona_descriptions": {"sam.png": persona}}}
    async with imported_story(sqlite_url, tmp_path) as story:
        await cards(story)
        await story.add("settings.json", written(settings))
        outcome = await story.add("groups/1700.json", written(GROUP))
        (own,) = [one for one in (await story.members(outcome.target_id)).values() if one.kind == "human"]  # type: ignore[arg-type]
        assert (own.cached_display_name, own.persona_id is not None) == ("Sam", True)


async def test_v06_an_import_brings_members_back_whose_cards_came_later(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "user"
    files = {"characters/Owl.png": png_card(name="Owl"), "groups/1700.json": written(GROUP)}
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    async with open_story(sqlite_url, tmp_path) as story:
        await imported(story, folder)
        (folder / "characters/Lost.png").write_bytes(png_card(name="Lost boy"))
        await imported(story, folder)
        async with story.runtime.database.read() as session:
            names = (SpaceMembership.cached_display_name == "Lost boy", SpaceMembership.status == "active")
            assert (await session.scalars(select(SpaceMembership).where(*names))).one().character_id is not None
