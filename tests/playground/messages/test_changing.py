"""Changing what was said: never over somebody else's change, never a shared text, and so that it can be undone."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Conversation, Message, TextContent
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.live.streaming import message_stream
from tavernkit.playground.story.messages.service import (
    edit_message,
    exclude_message,
    hide_message,
    include_message,
    restore_message,
    send_message,
)
from tests.playground.messages.people import somebody
from tests.playground.stories import open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_an_edit_is_a_new_text_and_a_new_revision(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("It rains.")
        edited = await edit_message(story.runtime, story.viewer, message.id, content=" It snows. ", revision=1)
        assert isinstance(edited, Message)
        assert (edited.content, edited.revision) == ("It snows.", 2)
        (swipe,) = await story.swipes(message.id)
        assert (swipe.content, swipe.text_id) == ("It snows.", edited.text_id)
        assert edited.text_id != message.text_id
        async with story.runtime.database.read() as session:
            assert (await session.get_one(TextContent, message.text_id)).content == "It rains."
        assert (await story.events())[-1] == "message_changed"


async def test_an_edit_from_an_older_revision_is_refused_with_how_it_is_now(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("It rains.")
        await edit_message(story.runtime, story.viewer, message.id, content="It snows.", revision=1)
        refused = await refusal_of(
            edit_message(story.runtime, story.viewer, message.id, content="It hails.", revision=1)
        )
        assert (refused.code, refused.status) == ("stale", 409)
        assert (refused.current["content"], refused.current["revision"]) == ("It snows.", 2)
        assert await story.shown() == ["It snows."]


async def test_an_edit_whose_answer_was_lost_may_be_sent_again(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("It rains.")
        for _ in range(2):
            edited = await edit_message(story.runtime, story.viewer, message.id, content="It snows.", revision=1)
            assert isinstance(edited, Message)
            assert edited.revision == 2


async def test_of_ten_tabs_that_edit_at_once_one_wins_and_nine_are_told(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("It rains.")
        outcomes = await asyncio.gather(
            *(
                edit_message(story.runtime, story.viewer, message.id, content=f"Weather {number}.", revision=1)
                for number in range(10)
            ),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, Message)]
        told = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
        assert (len(won), {refused.code for refused in told}) == (1, {"stale"})
        assert {refused.current["content"] for refused in told} == {won[0].content}
        assert await story.shown() == [won[0].content]


async def test_what_cannot_be_a_message_cannot_become_one(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        (message,) = await story.narrate("It rains.")
        for content, code in ((" \x00 ", "blank"), ("x" * 100_001, "too_long")):
            refused = await refusal_of(
                edit_message(story.runtime, story.viewer, message.id, content=content, revision=1)
            )
            assert refused.code == code
        assert await story.shown() == ["It rains."]


async def test_a_hidden_message_is_gone_and_comes_back_as_it_was(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        _, second, _ = await story.narrate("One.", "Two.", "Three.")
        await exclude_message(story.runtime, story.viewer, second.id)
        hidden = await hide_message(story.runtime, story.viewer, second.id)
        assert isinstance(hidden, Message)
        assert await story.shown() == ["One.", "Three."]
        assert (await story.conversation()).messages_count == 3
        refused = await refusal_of(edit_message(story.runtime, story.viewer, second.id, content="2.", revision=None))
        assert (refused.code, refused.current["content"]) == ("conflict", "Two.")
        restored = await restore_message(story.runtime, story.viewer, second.id)
        assert isinstance(restored, Message)
        assert (restored.visibility, restored.hidden_from, restored.revision) == ("excluded", None, 4)
        assert await story.shown() == ["One.", "Two.", "Three."]
        assert (await story.conversation()).messages_count == 4
        assert (await story.events())[-2:] == ["message_hidden", "message_restored"]


async def test_hiding_and_restoring_twice_is_doing_it_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        await hide_message(story.runtime, story.viewer, message.id)
        await hide_message(story.runtime, story.viewer, message.id)
        assert (await story.conversation()).messages_count == 1
        await restore_message(story.runtime, story.viewer, message.id)
        await restore_message(story.runtime, story.viewer, message.id)
        assert (await story.conversation()).messages_count == 2
        assert (await story.message(message.id)).revision == 3


async def test_an_excluded_message_is_shown_and_not_read_by_models(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        excluded = await exclude_message(story.runtime, story.viewer, message.id)
        assert isinstance(excluded, Message)
        assert (excluded.visibility, await story.shown()) == ("excluded", ["One."])
        included = await include_message(story.runtime, story.viewer, message.id)
        assert isinstance(included, Message)
        assert (included.visibility, included.revision) == ("normal", 3)


async def test_pages_follow(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        first, second = await story.narrate("One.", "Two.")
        await edit_message(story.runtime, story.viewer, first.id, content="Uno.", revision=1)
        async with story.runtime.database.read() as session:
            changed = await message_stream(session, first.id, kind="message_changed")
            assert f'action="replace" target="message_{first.id}"' in changed
            assert "Uno." in changed
            last = await message_stream(session, second.id, kind="message_restored")
            assert 'action="append" target="messages"' in last
        await hide_message(story.runtime, story.viewer, first.id)
        async with story.runtime.database.read() as session:
            gone = await message_stream(session, first.id, kind="message_changed")
            assert f'action="remove" target="message_{first.id}"' in gone
            assert "Uno." not in gone
        await restore_message(story.runtime, story.viewer, first.id)
        async with story.runtime.database.read() as session:
            back = await message_stream(session, first.id, kind="message_restored")
            assert f'action="before" target="message_{second.id}"' in back


async def test_authors_change_their_own_words_and_moderators_anybodys(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        member, moderator = await somebody(story), await somebody(story, role="moderator")
        (owners,) = await story.narrate("The owner's.")
        own = await send_message(
            story.runtime, member, story.conversation_id, message_id=uuid4(), content="Mine.", role="system"
        )
        assert isinstance(own, Message)
        assert isinstance(await edit_message(story.runtime, member, own.id, content="Mine!", revision=1), Message)
        refused = await refusal_of(edit_message(story.runtime, member, owners.id, content="Mine!", revision=1))
        assert refused.code == "forbidden"
        assert isinstance(await hide_message(story.runtime, moderator, own.id), Message)
        assert isinstance(await exclude_message(story.runtime, member, owners.id), Message)


async def test_who_only_watches_or_is_not_here_changes_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        watcher, stranger = await somebody(story, participation="observer"), await somebody(story, role=None)
        for viewer, code in ((watcher, "forbidden"), (stranger, "not_found")):
            for action in (
                edit_message(story.runtime, viewer, message.id, content="x", revision=1),
                hide_message(story.runtime, viewer, message.id),
                restore_message(story.runtime, viewer, message.id),
                exclude_message(story.runtime, viewer, message.id),
                send_message(story.runtime, viewer, story.conversation_id, message_id=uuid4(), content="x"),
            ):
                assert (await refusal_of(action)).code == code
        assert await story.shown() == ["One."]


async def test_an_archived_conversation_is_only_read(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        async with story.runtime.database.write() as session:
            (await session.get_one(Conversation, story.conversation_id)).status = "archived"
        for action in (
            edit_message(story.runtime, story.viewer, message.id, content="x", revision=1),
            story.say("More."),
        ):
            refused = await refusal_of(action)
            assert (refused.code, "archived" in refused.sentence) == ("conflict", True)


async def test_narration_is_answered_by_nobody(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("Night falls.")
        assert message.role == "system"
        assert await story.events() == ["message"]


async def test_half_a_character_is_replaced_and_the_rest_kept(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a🦊b\ud800c")
        assert (await story.message(message.id)).content == "a🦊b�c"


async def test_an_id_that_another_conversation_has_is_refused(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        async with story.runtime.database.write() as session:
            conversation = await session.get_one(Conversation, story.conversation_id)
            other = Conversation(
                id=uuid4(), space_id=conversation.space_id, title="Other", created_at=message.created_at,
                updated_at=message.created_at,
            )  # fmt: skip
            session.add(other)
        refused = await refusal_of(
            send_message(story.runtime, story.viewer, other.id, message_id=message.id, content="x")
        )
        assert refused.code == "taken"
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Message)) == 2
