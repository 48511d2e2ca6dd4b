"""Conversations of a space: beginning, renaming, archiving, showing, deleting and listing them."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Conversation, Message, TextContent
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.home import home_view
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.queries import list_conversations, read_conversation
from tavernkit.playground.story.conversations.service import (
    change_conversation,
    create_conversation,
    delete_conversation,
)
from tavernkit.playground.story.members.service import add_member, change_member, remove_member
from tavernkit.playground.story.messages.service import send_message
from tests.playground.spaces.cast import members, opened, person, swipes_of
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import outcome_of, refusal_of

pytestmark = pytest.mark.anyio


async def test_another_conversation_begins_with_those_who_are_there_now(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", "Bo")).space
        await remove_member(play.runtime, play.viewer, (await members(play, space.id))[1].id)
        begun = await _begin(play, space.id)
        assert (begun.title, begun.kind, begun.root_conversation_id) == ("Conversation 2", "root", begun.id)
        assert [swipes[0].content for swipes in await swipes_of(play, begun.id)] == ["I am Bo."]
        silent = await _begin(play, space.id, title=" A  walk ", greeting=False, visibility="private")
        assert (silent.title, silent.visibility, silent.messages_count) == ("A walk", "private", 0)


async def test_a_conversation_is_renamed_archived_and_brought_back_by_version(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        both = await asyncio.gather(
            *(_change(play, made.conversation.id, 0, title=title) for title in ("A", "B")), return_exceptions=True
        )
        [changed] = [row for row in both if isinstance(row, Conversation)]
        [stale] = [row for row in both if isinstance(row, Refused)]
        assert (stale.code, stale.current["title"], changed.last_event) == ("stale", changed.title, 1)
        archived = await _change(play, made.conversation.id, 1, archived=True)
        assert isinstance(archived, Conversation)
        assert archived.status == "archived"
        await refusal_of(
            send_message(
                play.runtime, play.viewer, made.conversation.id, message_id=play.runtime.ids(), content="Hello?"
            )
        )
        back = await _change(play, made.conversation.id, 2, archived=False)
        assert isinstance(back, Conversation)
        assert back.status == "ready"
        blank = await refusal_of(_change(play, made.conversation.id, 3, title=" "))
        assert blank.code == "blank"


async def test_moderators_rename_but_only_the_owner_decides_who_sees_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada", kind="discussion")
        guest, stranger = await person(play, "Guest"), await person(play, "Stranger")
        joined = await add_member(play.runtime, play.viewer, made.space.id, user_id=guest.user_id)
        id = made.conversation.id
        assert await _code(_change(play, id, 0, viewer=guest, title="Ours")) == "forbidden"
        await change_member(play.runtime, play.viewer, joined.id, settings_version=0, changes={"role": "moderator"})
        assert isinstance(await _change(play, id, 0, viewer=guest, title="Ours"), Conversation)
        assert await _code(_change(play, id, 1, viewer=guest, visibility="public")) == "forbidden"
        assert await _code(delete_conversation(play.runtime, guest, id)) == "forbidden"
        assert await _code(create_conversation(play.runtime, guest, made.space.id, visibility="private")) == "forbidden"
        assert await _code(read_conversation(play.runtime, stranger, id)) == "not_found"
        assert isinstance(await _change(play, id, 1, visibility="public"), Conversation)
        assert isinstance(await read_conversation(play.runtime, stranger, id), Conversation)
        assert isinstance(await _change(play, id, 2, visibility="private"), Conversation)
        assert await _code(read_conversation(play.runtime, guest, id)) == "not_found"


async def test_branches_outlive_the_branch_that_they_grew_out_of(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        root = play.conversation_id
        told = [await _say(play, root, text) for text in ("two", "three", "four")]
        branch = await _fork(play, root, told[1])
        own = await _say(play, branch.id, "four, otherwise")
        early = await _fork(play, branch.id, await _message_id(play, branch.id, 2))
        late = await _fork(play, branch.id, own)
        before = await _texts(play, late.id)
        assert await delete_conversation(play.runtime, play.viewer, branch.id) is None
        [early, late] = [await _row(play, early.id), await _row(play, late.id)]
        assert (early.parent_conversation_id, early.forked_from_message_id) == (root, told[0])
        assert (late.parent_conversation_id, late.forked_from_message_id) == (root, told[1])
        assert {early.root_conversation_id, late.root_conversation_id} == {root}
        assert await _texts(play, late.id) == before == [before[0], "two", "three", "four, otherwise"]


async def test_branches_of_a_deleted_root_stand_on_their_own(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        root = play.conversation_id
        await _say(play, root, "Only here, in a text of its own")
        branch = await _fork(play, root, await _message_id(play, root, 1))
        twig = await _fork(play, branch.id, await _message_id(play, branch.id, 1))
        assert await delete_conversation(play.runtime, play.viewer, root) is None
        await play.outlast_trash()
        [branch, twig] = [await _row(play, branch.id), await _row(play, twig.id)]
        assert (branch.kind, branch.parent_conversation_id, branch.forked_from_message_id) == ("root", None, None)
        assert (branch.root_conversation_id, twig.root_conversation_id) == (branch.id, branch.id)
        assert (twig.kind, twig.parent_conversation_id) == ("branch", branch.id)
        async with play.runtime.database.read() as session:
            left = await session.scalar(
                select(func.count()).select_from(TextContent).where(TextContent.content.startswith("Only here"))
            )
            assert left == 0
        assert len(await _texts(play, twig.id)) == 1
        assert await delete_conversation(play.runtime, play.viewer, branch.id) is None
        last = await refusal_of(delete_conversation(play.runtime, play.viewer, twig.id))
        assert (last.code, "Delete the space" in last.sentence) == ("conflict", True)


async def test_of_two_who_delete_the_last_two_conversations_one_is_refused(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        other = await _begin(play, made.space.id)
        both = await asyncio.gather(
            *(delete_conversation(play.runtime, play.viewer, id) for id in (made.conversation.id, other.id)),
            return_exceptions=True,
        )
        assert sorted(row.code if isinstance(row, Refused) else "" for row in both) == ["", "conflict"]


async def test_conversations_are_listed_in_pages_with_a_constant_number_of_statements(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        for number in range(4):
            play.skipped += timedelta(minutes=1)
            await _begin(play, made.space.id, title=f"C{number}", greeting=number % 2 == 0)

        async def listed(limit: int, after: Any = None) -> list[Any]:
            return await list_conversations(play.runtime, play.viewer, made.space.id, after=after, limit=limit)

        with counted_statements(play.runtime.database) as few:
            first = await listed(2)
        assert [(row.conversation.title, row.last_text) for row in first] == [("C3", None), ("C2", "I am Ada.")]
        rest = await listed(10, (first[-1].conversation.updated_at, first[-1].conversation.id))
        assert [row.conversation.title for row in rest] == ["C1", "C0", "Main"]
        with counted_statements(play.runtime.database) as many:
            await listed(100)
        assert len(few) == len(many) == 3


async def test_changes_of_a_space_and_of_its_conversations_do_not_wait_for_each_other_in_a_ring(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        first, ada = await _message_id(play, made.conversation.id, 1), (await members(play, made.space.id))[1]

        async def changes(version: int) -> object:
            change = {"name_override": f"Ada {version}"}
            return await change_member(play.runtime, play.viewer, ada.id, settings_version=version, changes=change)

        async with asyncio.timeout(30):
            await asyncio.gather(
                *(outcome_of(changes(version)) for version in range(5)),
                *(_fork(play, made.conversation.id, first) for _ in range(5)),
                *(_say(play, made.conversation.id, "Hello") for _ in range(5)),
                *(_begin(play, made.space.id) for _ in range(3)),
            )
        rows = await list_conversations(play.runtime, play.viewer, made.space.id, after=None, limit=50)
        assert len(rows) == 1 + 5 + 3


async def test_the_home_page_shows_stories_whose_first_character_has_left(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", "Bo")).space
        await remove_member(play.runtime, play.viewer, (await members(play, space.id))[1].id)
        [card, _] = (await home_view(play.runtime, play.viewer)).stories
        assert (card.space_name, card.faces[0].name, card.last_line) == ("Ada and Bo", "Bo", "I am Bo.")


async def _begin(play: Story, space_id: UUID, **options: Any) -> Conversation:
    begun = await create_conversation(play.runtime, play.viewer, space_id, **options)
    assert isinstance(begun, Conversation), begun
    return begun


async def _change(play: Story, id: UUID, version: int, *, viewer: Any = None, **changes: Any) -> Any:
    return await change_conversation(play.runtime, viewer or play.viewer, id, settings_version=version, **changes)


async def _say(play: Story, conversation_id: UUID, content: str) -> UUID:
    said = await send_message(
        play.runtime, play.viewer, conversation_id, message_id=play.runtime.ids(), content=content, role="system"
    )
    assert isinstance(said, Message), said
    return said.id


async def _fork(play: Story, conversation_id: UUID, message_id: UUID) -> Conversation:
    forked = await fork(play.runtime, play.viewer, conversation_id, message_id)
    assert isinstance(forked, Conversation), forked
    return forked


async def _row(play: Story, id: UUID) -> Conversation:
    async with play.runtime.database.read() as session:
        return await session.get_one(Conversation, id)


async def _message_id(play: Story, conversation_id: UUID, seq: int) -> UUID:
    async with play.runtime.database.read() as session:
        return (
            await session.scalars(
                select(Message.id).where(Message.conversation_id == conversation_id, Message.seq == seq)
            )
        ).one()


async def _texts(play: Story, conversation_id: UUID) -> list[str]:
    return [
        next(swipe.content for swipe in swipes if swipe.position == 0)
        for swipes in await swipes_of(play, conversation_id)
    ]


async def _code(action: Awaitable[object]) -> str:
    return (await refusal_of(action)).code
