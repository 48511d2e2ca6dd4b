"""Searching: what is found is what a scan of everything that the person may read finds, on both databases."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.fulltext.analysis import SearchQuery, fold
from tavernkit.playground.base.database.models import Conversation, Message, Space
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import edit_message, hide_message, send_message
from tavernkit.playground.story.search.documents import SearchFilters, SearchResult
from tavernkit.playground.story.search.queries import find_in_conversation, search
from tavernkit.playground.story.spaces.service import create_space
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
