"""The state at a message: right after every change, and as cheap at the end of a long story as at its beginning."""

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, PathSnapshot
from tavernkit.playground.story.messages.service import (
    add_swipe,
    edit_message,
    hide_message,
    restore_message,
    select_swipe,
)
from tavernkit.playground.story.paths.state import EVERY, State, keep_snapshots, replay, state_at
from tavernkit.playground.story.paths.variables import record_delta
from tavernkit.playground.story.paths.writing import add_message
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def write(story: Story, count: int) -> list[Message]:
    """Messages of which the one numbered n sets `variables.last` and `variables.n` to n."""
    (author,) = {row.membership_id for row in await story.rows()}
    messages = []
    async with story.runtime.database.write() as session:
        for _ in range(count):
            seq = (await session.get_one(Conversation, story.conversation_id)).last_seq + 1
            messages.append(
                await add_message(
                    session,
                    story.runtime.ids,
                    id=uuid4(),
                    conversation_id=story.conversation_id,
                    membership_id=author,
                    role="assistant",
                    content=f"Line {seq}.",
                    now=story.runtime.clock(),
                    state_delta={"set": {"variables.last": seq, f"variables.{seq % 7}": seq}, "unset": []},
                )
            )
    return messages


async def states(story: Story, seq: int) -> State:
    """The state at a message, after checking that it is the one that is told from the beginning."""
    async with story.runtime.database.read() as session:
        found = await state_at(session, story.conversation_id, seq)
        assert found == await replay(session, story.conversation_id, seq)
        return found


async def snapshots(story: Story) -> list[int]:
    async with story.runtime.database.read() as session:
        found = await session.scalars(
            select(PathSnapshot.seq)
            .where(PathSnapshot.conversation_id == story.conversation_id)
            .order_by(PathSnapshot.seq)
        )
        return list(found)


async def test_the_state_anywhere_is_that_of_the_messages_up_to_there(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await write(story, 3 * EVERY)
        assert await snapshots(story) == [EVERY, 2 * EVERY, 3 * EVERY]
        for seq in (2, EVERY - 1, EVERY, EVERY + 1, 3 * EVERY, 3 * EVERY + 1):
            assert (await states(story, seq))["variables.last"] == seq
        assert await states(story, 1) == {}


async def test_reading_is_bounded_by_the_distance_between_snapshots(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        await write(story, 4 * EVERY - 2)
        async with story.runtime.database.write() as session:
            # Whatever lies before the last snapshot is not even looked at.
            await session.execute(
                MessageSwipe.__table__.update()
                .where(
                    MessageSwipe.message_id.in_(
                        select(Message.id).where(
                            Message.conversation_id == story.conversation_id, Message.seq <= 3 * EVERY
                        )
                    )
                )
                .values(state_delta={"set": {"variables.wrong": True}, "unset": []})
            )
        with counted_statements(story.runtime.database) as statements:
            async with story.runtime.database.read() as session:
                found = await state_at(session, story.conversation_id, 4 * EVERY - 1)
        assert found["variables.last"] == 4 * EVERY - 1
        assert "variables.wrong" not in found
        assert len(statements) == 2


async def test_every_change_is_followed_by_the_snapshots_behind_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        messages = await write(story, 2 * EVERY + 10)
        end = 2 * EVERY + 11
        early = messages[EVERY // 2]
        before = await states(story, end)

        await add_swipe(story.runtime, story.viewer, early.id, swipe_id=uuid4(), content="Otherwise.")
        assert await snapshots(story) == [EVERY, 2 * EVERY]
        assert (await states(story, early.seq))["variables.last"] == early.seq - 1
        await states(story, end)
        await select_swipe(story.runtime, story.viewer, early.id, "left")
        assert await states(story, end) == before

        await hide_message(story.runtime, story.viewer, early.id)
        await states(story, end)
        assert (await states(story, early.seq))["variables.last"] == early.seq - 1
        await restore_message(story.runtime, story.viewer, early.id)
        assert await states(story, end) == before

        await hide_message(story.runtime, story.viewer, messages[-1].id)
        assert (await states(story, end))["variables.last"] == end - 1


async def test_a_change_that_leaves_the_state_alone_leaves_the_snapshots_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        messages = await write(story, EVERY)
        (plain,) = await story.narrate("Nothing changes.")
        with counted_statements(story.runtime.database) as statements:
            await edit_message(story.runtime, story.viewer, messages[0].id, content="Reworded.", revision=None)
            await hide_message(story.runtime, story.viewer, plain.id)
        assert not [statement for statement in statements if "path_snapshots" in statement]
        await states(story, EVERY + 2)


async def test_a_swipe_can_be_given_more_to_change(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        messages = await write(story, EVERY + 5)
        async with story.runtime.database.write() as session:
            message = await session.get_one(Message, messages[3].id)
            swipe = await session.get_one(MessageSwipe, message.active_swipe_id)
            await record_delta(session, message, swipe, set={"lore_timers.1": 4}, unset=["variables.2"])
        assert (await states(story, EVERY + 6))["lore_timers.1"] == 4


async def test_a_story_that_came_in_one_piece_gets_its_snapshots_at_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await write(story, 3 * EVERY)
        async with story.runtime.database.write() as session:
            await session.execute(PathSnapshot.__table__.delete())
        assert (await states(story, 3 * EVERY))["variables.last"] == 3 * EVERY
        async with story.runtime.database.write() as session:
            await keep_snapshots(session, story.conversation_id, 3 * EVERY + 1)
        assert await snapshots(story) == [EVERY, 2 * EVERY, 3 * EVERY]
        await states(story, 3 * EVERY)
