"""A chat that somebody went on with elsewhere is brought up to date here."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, MessagePicture, OutboxEvent
from tavernkit.playground.story.messages.service import (
    add_swipe,
    edit_message,
    hide_message,
    restore_message,
    select_swipe,
    send_message,
)
from tavernkit.playground.story.paths.state import replay, state_at
from tests.playground.migration.folder_chats import ImportedStory, imported_story, lines, png, said

pytestmark = pytest.mark.anyio

PATH = "chats/Mira/a.jsonl"
ONE, TWO, THREE, FOUR = (
    said(name, text) for name, text in (("Mira", "One."), ("Sam", "Two."), ("Mira", "Three."), ("Sam", "Four."))
)


def header(**metadata: Any) -> dict[str, Any]:
    return {"chat_metadata": metadata, "user_name": "Sam", "character_name": "Mira"}


async def events(story: ImportedStory, conversation_id: Any) -> list[str]:
    async with story.runtime.database.read() as session:
        query = select(OutboxEvent.kind).where(OutboxEvent.conversation_id == conversation_id)
        return list(await session.scalars(query.order_by(OutboxEvent.seq)))


async def test_v17_messages_that_are_new_in_the_file_are_appended(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(variables={"hp": 3}), ONE, TWO))
        longer = lines(header(variables={"hp": 1}), ONE, TWO, THREE, FOUR)
        again = await story.add(PATH, longer)
        assert (again.target_id, again.verdict, again.merged) == (first.target_id, "exact", False)
        assert [str(note) for note in again.notes] == ["2 new messages were added."]
        assert await story.texts(again) == ["One.", "Two.", "Three.", "Four."]
        row = await story.conversation_of(again)
        assert (row.last_seq, row.messages_count, row.last_event) == (4, 4, 2)
        assert await events(story, row.id) == ["message", "message"]
        async with story.runtime.database.read() as session:
            states = [await state_at(session, row.id, seq) for seq in (2, 4)]
            assert states == [{"variables.hp": 3}, {"variables.hp": 1}]
            assert await replay(session, row.id, 4) == states[1]
        assert await story.written_messages(again) == [ONE, TWO, THREE, FOUR]
        assert not await story.is_changed_here(PATH)


async def test_v17_many_messages_are_appended_at_once(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        many = [said("Mira", f"{number}.") for number in range(700)]
        await story.add(PATH, lines(header(variables={"n": 1}), *many[:60]))
        again = await story.add(PATH, lines(header(variables={"n": 2}), *many))
        row = await story.conversation_of(again)
        assert await story.texts(again) == [one["mes"] for one in many]
        # A page that is told of a hundred events loads itself anew.
        assert (row.last_seq, row.last_event) == (700, 100)
        async with story.runtime.database.read() as session:
            assert [await state_at(session, row.id, seq) for seq in (60, 699, 700)] == [
                {"variables.n": 1},
                {"variables.n": 1},
                {"variables.n": 2},
            ]


async def test_v17_what_was_said_here_stays_where_the_file_only_goes_on(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        message = (await story.rows(first.target_id))[0]
        await add_swipe(story.runtime, story.viewer, message.id, swipe_id=story.runtime.ids(), content="Mine.")
        again = await story.add(PATH, lines(header(), ONE, TWO, THREE))
        assert (again.target_id, again.merged) == (first.target_id, True)
        assert await story.texts(again) == ["Mine.", "Two.", "Three."]
        assert await story.is_changed_here(PATH)


async def test_v17_a_file_that_has_parted_becomes_a_branch(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        await send_message(
            story.runtime, story.viewer, first.target_id, message_id=story.runtime.ids(), content="Here.", role="system"
        )  # fmt: skip
        file = lines(header(), ONE, TWO, THREE, FOUR)
        again = await story.add(PATH, file)
        branch = await story.conversation_of(again)
        assert again.target_id != first.target_id
        assert (branch.kind, branch.parent_conversation_id) == ("branch", first.target_id)
        assert branch.forked_from_message_id == (await story.rows(first.target_id))[1].id
        assert await story.texts(first) == ["One.", "Two.", "Here."]
        assert await story.texts(again) == ["One.", "Two.", "Three.", "Four."]
        assert "2 messages" in str(again.notes[0])
        further = await story.add(PATH, lines(header(), ONE, TWO, THREE, FOUR, said("Mira", "Five.")))
        assert further.target_id == again.target_id


async def test_v17_a_file_without_anything_in_common_stands_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        again = await story.add(PATH, lines(header(), said("Mira", "Anew.")))
        row = await story.conversation_of(again)
        assert (row.kind, row.parent_conversation_id) == ("root", None)
        assert row.space_id == (await story.conversation_of(first)).space_id


@pytest.mark.parametrize("conflict", ["keep", "replace"])
async def test_v17_who_has_chosen_a_side_gets_it(database_url: str, tmp_path: Path, conflict: Any) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(variables={"hp": 3}), ONE, TWO))
        message = (await story.rows(first.target_id))[1]
        await edit_message(story.runtime, story.viewer, message.id, content="Mine.", revision=None)
        file = lines(header(variables={"hp": 1}), ONE, TWO, THREE)
        again = await story.add(PATH, file, conflict=conflict)
        assert again.target_id == first.target_id
        if conflict == "keep":
            assert (await story.texts(again), again.verdict, again.merged) == (["One.", "Mine."], "unchanged", True)
        else:
            assert await story.texts(again) == ["One.", "Two.", "Three."]
            row = await story.conversation_of(again)
            assert (row.last_seq, row.messages_count) == (4, 3)
            async with story.runtime.database.read() as session:
                assert await state_at(session, row.id, 4) == await replay(session, row.id, 4) == {"variables.hp": 1}
            await restore_message(story.runtime, story.viewer, message.id)


async def test_v17_a_beginning_of_the_conversation_changes_nothing(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO, THREE))
        again = await story.add(PATH, lines(header(), ONE))
        assert (again.target_id, again.verdict, again.merged) == (first.target_id, "unchanged", True)
        assert [str(note) for note in again.notes] == ["The conversation is longer here than in the folder."]
        assert await story.texts(again) == ["One.", "Two.", "Three."]
        assert await events(story, again.target_id) == []


async def test_v17_swipes_that_are_new_in_the_file_are_added(database_url: str, tmp_path: Path) -> None:
    swiped = said("Mira", "Third.", swipes=["One.", "Second.", "Third."], swipe_id=2,
                  swipe_info=[{"extra": {}}, {"extra": {"reasoning": "Hm."}}, {"extra": {}}])  # fmt: skip
    async with imported_story(database_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        file = lines(header(), swiped, TWO)
        again = await story.add(PATH, file)
        assert (again.target_id, again.verdict) == (first.target_id, "exact")
        swipes = (await story.swipes_in(again))[0]
        assert [swipe.content for swipe in swipes] == ["One.", "Second.", "Third."]
        assert swipes[1].metadata_["reasoning"] == "Hm."
        assert await story.texts(again) == ["Third.", "Two."]
        assert await story.written(again) == file
        assert await events(story, again.target_id) == ["message_changed"]


async def test_v17_swipes_of_both_sides_are_kept(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        message = (await story.rows(first.target_id))[0]
        await add_swipe(story.runtime, story.viewer, message.id, swipe_id=story.runtime.ids(), content="Mine.")
        again = await story.add(PATH, lines(header(), {**ONE, "swipes": ["One.", "Theirs."], "swipe_id": 0}, TWO))
        swipes = (await story.swipes_in(again))[0]
        assert [swipe.content for swipe in swipes] == ["One.", "Mine.", "Theirs."]
        assert (await story.texts(again), again.merged) == (["Mine.", "Two."], True)
        written = json.loads((await story.written(again)).split(b"\n")[1])
        assert (written["mes"], written["swipes"], written["swipe_id"]) == ("Mine.", ["One.", "Mine.", "Theirs."], 1)


async def test_v17_where_nothing_was_changed_here_the_file_counts(database_url: str, tmp_path: Path) -> None:
    swiped = {**ONE, "swipes": ["One.", "Other."], "swipe_id": 1, "mes": "Other."}
    before = lines(header(note_prompt="Rain.", scenario="Sea.", variables={"hp": 1}), swiped, TWO, "{cut")
    after = lines(
        header(note_prompt="Snow.", variables={"hp": 2}, script_injects={"a": {"value": "A.", "position": 1}}),
        {**ONE, "is_system": True, "extra": {"bookmark_link": "point", "image": "user/images/a.png"}},
        TWO,
        "",
    )
    async with imported_story(database_url, tmp_path) as story:
        await story.add("user/images/a.png", png())
        first = await story.add(PATH, before)
        again = await story.add(PATH, after)
        assert (again.target_id, again.merged) == (first.target_id, False)
        row = await story.conversation_of(again)
        assert row.settings["authors_note"] == {"text": "Snow."}
        assert "prompt" not in row.settings
        messages = await story.rows(again.target_id)
        assert [(one.content, one.visibility, one.swipes_count) for one in messages] == [
            ("One.", "excluded", 1),
            ("Two.", "normal", 1),
        ]
        async with story.runtime.database.read() as session:
            assert len((await session.scalars(select(MessagePicture))).all()) == 1
            assert await state_at(session, row.id, 2) == await replay(session, row.id, 2) == {"variables.hp": 2}
        written, wanted = (await story.written(again)).split(b"\n"), after.split(b"\n")
        assert (written[1], written[3:]) == (wanted[1], wanted[3:])


async def test_v17_the_same_story_on_both_sides_is_one(sqlite_url: str, tmp_path: Path) -> None:
    """Exported, gone on with elsewhere, imported: only what is new comes in."""
    async with imported_story(sqlite_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, {**THREE, "swipes": ["Three.", "Drei."], "swipe_id": 0}))
        rows = await story.rows(first.target_id)
        await select_swipe(story.runtime, story.viewer, rows[1].id, 1)
        await send_message(
            story.runtime, story.viewer, first.target_id, message_id=story.runtime.ids(), content="Here.", role="system"
        )  # fmt: skip
        exported = await story.written(first)
        again = await story.add(PATH, exported + b"\n" + lines(FOUR))
        assert again.target_id == first.target_id
        assert await story.texts(again) == ["One.", "Drei.", "Here.", "Four."]


async def test_a_message_that_was_deleted_here_comes_back_with_the_file(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        first = await story.add(PATH, lines(header(), ONE, TWO))
        await hide_message(story.runtime, story.viewer, (await story.rows(first.target_id))[1].id)
        again = await story.add(PATH, lines(header(), ONE, TWO, THREE))
        assert (again.target_id, await story.texts(again)) == (first.target_id, ["One.", "Two.", "Three."])
        async with story.runtime.database.read() as session:
            row = await session.get_one(Conversation, again.target_id)
        assert (row.last_seq, row.messages_count) == (4, 3)


async def test_v17_chats_of_groups_are_brought_up_to_date_as_well(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        for name in ("Owl", "Mira"):
            await story.card(f"{name}.png", name)
        group = {"id": "1", "name": "Crew", "members": ["Owl.png", "Mira.png"], "chat_id": "c", "chats": ["c"]}
        await story.add("groups/1.json", json.dumps(group).encode())
        owl, mira = (said(name, f"{name}.", original_avatar=f"{name}.png") for name in ("Owl", "Mira"))
        first = await story.add("group chats/c.jsonl", lines(owl))
        again = await story.add("group chats/c.jsonl", lines(owl, mira))
        assert again.target_id == first.target_id
        assert await story.authors(again) == ["Owl", "Mira"]
