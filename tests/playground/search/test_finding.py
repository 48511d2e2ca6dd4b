"""Searching: what is found is what a scan of everything that the person may read finds, on both databases."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.fulltext.analysis import SearchQuery
from tavernkit.playground.base.database.fulltext.rebuilding import rebuild, start_rebuild
from tavernkit.playground.base.database.models import Conversation, Message, SearchDocument, Space
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import change_conversation
from tavernkit.playground.story.lorebooks.service import delete_lorebook, import_lorebook
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.messages.service import edit_message, hide_message, send_message
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona
from tavernkit.playground.story.search.documents import SearchFilters, SearchResult, filters_of
from tavernkit.playground.story.search.queries import find_in_conversation, search
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.text.words import fold
from tests.playground.accounts.installation import open_installation
from tests.playground.search.texts import queries, texts
from tests.playground.stories import open_story

pytestmark = pytest.mark.anyio
EVERYTHING = SearchFilters()
MESSAGES = SearchFilters(kinds=frozenset({"message"}))


async def all_results(
    runtime: Runtime, viewer: Viewer, text: str, filters: SearchFilters = EVERYTHING, limit: int = 3
) -> list[SearchResult]:
    """Everything that is found, page by page."""
    found: list[SearchResult] = []
    after: str | None = None
    while True:
        page = await search(runtime, viewer, text, filters, after=after, limit=limit)
        found += page.results
        if page.next is None:
            return found
        after = page.next


async def scan(runtime: Runtime, viewer: Viewer, text: str) -> set[str]:
    """The same without an index: every text of the person's own spaces that matches."""
    query = SearchQuery(text)
    async with runtime.database.read() as session:
        rows = await session.scalars(
            select(Message)
            .join(Conversation, Conversation.id == Message.conversation_id)
            .join(Space, Space.id == Conversation.space_id)
            .where(Space.owner_id == viewer.user_id, Message.visibility != "hidden")
        )
        return {row.content for row in rows if query.matches(fold(row.content))}


@pytest.mark.slow
def test_a_text_is_found_if_and_only_if_a_scan_of_what_may_be_read_finds_it(database_url: str, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        opened = open_installation(database_url, tmp_path)
        house = runner.run(opened.__aenter__())
        people = [house.play.viewer, runner.run(house.add("Bela"))]
        homes = [runner.run(create_space(house.runtime, person)).conversation.id for person in people]

        async def agree(new: list[tuple[int, str]], asked: list[str]) -> None:
            for whose, text in new:
                await narrate(house.runtime, people[whose], homes[whose], text)
            for query in asked:
                for person in people:
                    found = await all_results(house.runtime, person, query, MESSAGES)
                    contents = {await text_of(house.runtime, one.id) for one in found}
                    assert contents == await scan(house.runtime, person, query)
                    assert all(any(piece.is_match for piece in one.passage) for one in found)

        @given(st.lists(st.tuples(st.integers(0, 1), texts), max_size=4), st.lists(queries, max_size=3))
        def agrees(new: list[tuple[int, str]], asked: list[str]) -> None:
            runner.run(agree(new, asked))

        try:
            agrees()
        finally:
            runner.run(opened.__aexit__(None, None, None))


async def narrate(runtime: Runtime, viewer: Viewer, conversation_id: UUID, text: str) -> Message:
    return await send_message(runtime, viewer, conversation_id, message_id=runtime.ids(), content=text, role="system")


async def text_of(runtime: Runtime, message_id: UUID) -> str:
    async with runtime.database.read() as session:
        return (await session.get_one(Message, message_id)).content


async def test_edits_swipes_and_deleted_messages_are_found_as_they_are_shown(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        (first,) = await play.narrate("A brass lantern.")
        await edit_message(play.runtime, play.viewer, first.id, content="A copper lantern.", revision=None)
        assert await all_results(play.runtime, play.viewer, "brass", MESSAGES) == []
        (found,) = await all_results(play.runtime, play.viewer, "copper", MESSAGES)
        assert (found.id, found.within, found.kind) == (first.id, play.conversation_id, "message")
        assert [(piece.text, piece.is_match) for piece in found.passage] == [
            ("A ", False),
            ("copper", True),
            (" lantern.", False),
        ]
        await hide_message(play.runtime, play.viewer, first.id)
        assert await all_results(play.runtime, play.viewer, "copper", MESSAGES) == []


async def test_a_message_that_branches_share_is_found_once_and_in_each_branch(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        (shared,) = await play.narrate("The obsidian gate.")
        branch = await fork(play.runtime, play.viewer, play.conversation_id, message_id=shared.id)
        (found,) = await all_results(play.runtime, play.viewer, "obsidian", MESSAGES)
        assert (found.id, found.within) == (shared.id, play.conversation_id)
        in_branch = MESSAGES.with_(conversation_id=branch.id)
        (copied,) = await all_results(play.runtime, play.viewer, "obsidian", in_branch)
        assert copied.within == branch.id
        assert len(await find_in_conversation(play.runtime, play.viewer, branch.id, "obsidian gate")) == 1


async def test_the_library_is_found_by_titles_and_texts(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        runtime, viewer = play.runtime, play.viewer
        card = json.dumps({"spec": "chara_card_v2", "data": {"name": "Zephyrine", "description": "Keeps bees."}})
        character = (await import_file(runtime, viewer, card.encode())).character
        world = {
            "name": "Bees",
            "entries": {"0": {"uid": 0, "key": ["hive"], "comment": "The hive", "content": "Wax."}},
        }
        book, _ = await import_lorebook(runtime, viewer, json.dumps(world).encode())
        persona = await create_persona(runtime, viewer, NewPersona(name="Beekeeper", description="In white."))
        space = (await create_space(runtime, viewer, name="The apiary of bees")).space

        async def found(text: str) -> set[tuple[str, UUID]]:
            return {(one.noun, one.id) for one in await all_results(runtime, viewer, text)}

        assert {("character", character.id), ("lorebook", book.id), ("space", space.id)} <= await found("bees")
        assert ("persona", persona.id) in await found("white")
        (entry,) = await all_results(runtime, viewer, "wax")
        assert (entry.noun, entry.kind, entry.within, entry.place) == ("entry", "lorebook", book.id, "Bees")
        first, *_ = await all_results(runtime, viewer, "zephyrine")
        assert first.id == character.id
        only = SearchFilters(kinds=frozenset({"persona"}))
        assert [one.kind for one in await all_results(runtime, viewer, "bee", only)] == ["persona"]
        await delete_lorebook(runtime, viewer, book.id)
        assert await found("wax") == set()


async def test_a_card_with_halves_of_letters_and_nul_is_imported_and_found(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        card = {"name": "Odd", "description": "Half a \ud800 letter and\x00 NUL.", "tags": ["split\udfff tag"]}
        imported = await import_file(
            play.runtime, play.viewer, json.dumps({"spec": "chara_card_v2", "data": card}).encode()
        )
        for words in ("half letter nul", "split tag"):
            (one,) = await all_results(play.runtime, play.viewer, words)
            assert one.id == imported.character.id


async def test_filters_leave_messages_out(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        runtime, viewer = play.runtime, play.viewer
        (here,) = await play.narrate("Quicksilver here.")
        elsewhere = await create_space(runtime, viewer)
        play.skipped += timedelta(days=2)
        there = await narrate(runtime, viewer, elsewhere.conversation.id, "Quicksilver there.")
        today = here.created_at.date()

        async def found(**chosen: Any) -> set[UUID]:
            filters = filters_of(kinds=None, **{"since": None, "until": None, **chosen})
            return {one.id for one in await all_results(runtime, viewer, "quicksilver", filters)}

        assert await found() == {here.id, there.id}
        assert await found(space_id=elsewhere.space.id) == {there.id}
        assert await found(conversation_id=play.conversation_id) == {here.id}
        assert await found(author_id=viewer.user_id) == {here.id, there.id}
        assert await found(author_id=uuid4()) == await found(character_id=uuid4()) == set()
        assert await found(until=today) == {here.id}
        assert await found(since=today + timedelta(days=1)) == {there.id}


async def test_somebody_who_joins_a_discussion_finds_what_is_said_there_and_nothing_of_others(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as house:
        runtime, owner, guest = house.runtime, house.play.viewer, await house.add("Bela")
        table = await create_space(runtime, owner, kind="discussion")
        said = await narrate(runtime, owner, table.conversation.id, "A secret of the round table.")
        await house.play.narrate("A secret of my own.")
        assert await all_results(runtime, guest, "secret") == []
        await add_member(runtime, owner, table.space.id, user_id=guest.user_id)
        assert [one.id for one in await all_results(runtime, guest, "secret")] == [said.id]
        await change_conversation(runtime, owner, table.conversation.id, settings_version=0, visibility="private")
        assert await all_results(runtime, guest, "secret") == []
        assert len(await all_results(runtime, owner, "secret")) == 2


async def test_an_index_that_is_rebuilt_in_steps_finds_the_same(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.narrate("A brass lantern.", "Another lantern.")
        before = await all_results(play.runtime, play.viewer, "lantern")
        async with play.runtime.database.write() as session:
            await session.execute(delete(SearchDocument))
        assert await all_results(play.runtime, play.viewer, "lantern") == []
        total, done = await start_rebuild(play.runtime.database, play.runtime.clock())
        assert (total > 2, done) == (True, 0)
        async for _ in rebuild(play.runtime.database, play.runtime.clock):
            break
        again, done = await start_rebuild(play.runtime.database, play.runtime.clock())
        assert (again, done > 0) == (total, True)
        page = await search(play.runtime, play.viewer, "lantern", EVERYTHING, after=None, limit=5)
        assert not page.is_indexed
        async for _ in rebuild(play.runtime.database, play.runtime.clock):
            pass
        after = await all_results(play.runtime, play.viewer, "lantern")
        assert {one.id for one in after} == {one.id for one in before}
        assert (await search(play.runtime, play.viewer, "x", EVERYTHING, after=None, limit=5)).is_indexed
