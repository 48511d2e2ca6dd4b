"""Branches: a whole copy of the path in one transaction, and from then on nobody else's business."""

import asyncio
from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest
from sqlalchemy import func, insert, select

from tavernkit.playground.base.database.models import (
    Conversation,
    Lorebook,
    LorebookLink,
    Message,
    MessageSwipe,
    PathSnapshot,
    TextContent,
)
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.queries import read_tree
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    edit_message,
    exclude_message,
    hide_message,
    select_swipe,
)
from tavernkit.playground.story.paths.state import EVERY, replay, state_at
from tavernkit.playground.story.paths.variables import set_variable
from tests.playground.messages.people import somebody
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import HANG_SECONDS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def forked(story: Story, message: Message, **options: object) -> Story:
    child = await fork(story.runtime, story.viewer, story.conversation_id, message.id, **options)
    assert isinstance(child, Conversation), child
    return Story(story.runtime, story.user_id, child.id)


async def test_a_branch_has_everything_up_to_the_message(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two, three, _ = await story.narrate("One.", "Two.", "Three.", "Four.")
        await exclude_message(story.runtime, story.viewer, one.id)
        await hide_message(story.runtime, story.viewer, two.id)
        await add_swipe(story.runtime, story.viewer, three.id, swipe_id=uuid4(), content="Tres.")
        await add_swipe(story.runtime, story.viewer, three.id, swipe_id=uuid4(), content="Drei.")
        await select_swipe(story.runtime, story.viewer, three.id, 1)
        branch = await forked(story, three)
        assert await branch.shown() == ["One.", "Tres."]
        originals = [row for row in await story.rows() if row.seq <= three.seq and row.visibility != "hidden"]
        copies = await branch.rows()
        for original, copy in zip(originals, copies, strict=True):
            assert copy.origin_message_id == original.id
            assert copy.id != original.id
            assert copy.revision == 1
            for column in ("seq", "role", "membership_id", "visibility", "text_id", "swipes_count", "created_at",
                           "metadata_", "run_id"):  # fmt: skip
                assert getattr(copy, column) == getattr(original, column), column
            theirs, ours = await story.swipes(original.id), await branch.swipes(copy.id)
            assert [(row.position, row.text_id, row.created_at, row.state_delta) for row in ours] == [
                (row.position, row.text_id, row.created_at, row.state_delta) for row in theirs
            ]
            assert [row.id == copy.active_swipe_id for row in ours] == [
                row.id == original.active_swipe_id for row in theirs
            ]


async def test_texts_are_shared_and_not_copied(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        *_, last = await story.narrate("One.", "Two.")
        async with story.runtime.database.read() as session:
            before = await session.scalar(select(func.count()).select_from(TextContent))
        await forked(story, last)
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(TextContent)) == before


async def test_the_branch_stands_in_the_tree(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, _ = await story.narrate("One.", "Two.")
        branch = await forked(story, one, title=" Another way ")
        child = await branch.conversation()
        assert (child.kind, child.title, child.status) == ("branch", "Another way", "ready")
        assert child.parent_conversation_id == child.root_conversation_id == story.conversation_id
        assert (child.forked_from_message_id, child.last_seq, child.messages_count) == (one.id, 2, 2)
        (copy,) = [row for row in await branch.rows() if row.seq == 2]
        grandchild = await (await forked(branch, copy, kind="checkpoint")).conversation()
        assert (grandchild.kind, grandchild.title) == ("checkpoint", "From message 2: “One.”")
        assert (grandchild.parent_conversation_id, grandchild.root_conversation_id) == (child.id, story.conversation_id)
        tree = await read_tree(story.runtime, story.viewer, grandchild.id, limit=10)
        assert [(node.conversation.id, node.forked_from_seq) for node in tree] == [
            (story.conversation_id, None),
            (child.id, 2),
            (grandchild.id, 2),
        ]
        page = await read_tree(story.runtime, story.viewer, child.id, after=child.id, limit=10)
        assert [node.conversation.id for node in page] == [grandchild.id]


@pytest.mark.parametrize("kind", ["branch", "checkpoint", "thread"])
async def test_a_fork_without_a_title_is_named_after_the_message_that_it_leaves(
    sqlite_url: str, tmp_path: Path, kind: Literal["branch", "checkpoint", "thread"]
) -> None:
    text = "*The door opens* & <b>somebody</b> with **a lantern**\n\ncomes in from the cold and the rain."
    async with open_story(sqlite_url, tmp_path) as story:
        _, door = await story.narrate("One.", text)
        title = (await (await forked(story, door, kind=kind)).conversation()).title
        assert title == "From message 3: “The door opens & somebody with a lantern…”"
        assert len(title) <= 60


async def test_what_happens_in_one_does_not_happen_in_the_other(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        branch = await forked(story, two)
        copies = {row.origin_message_id: row for row in await branch.rows()}
        await edit_message(story.runtime, story.viewer, two.id, content="Two!", revision=None)
        await hide_message(story.runtime, story.viewer, one.id)
        assert await branch.shown() == ["One.", "Two."]
        await edit_message(story.runtime, story.viewer, copies[one.id].id, content="Uno.", revision=1)
        await branch.narrate("Three.")
        assert await branch.shown() == ["Uno.", "Two.", "Three."]
        assert await story.shown() == ["Two!"]
        assert [row.seq for row in await branch.rows()] == [1, 2, 3, 4]


async def test_the_state_settings_and_books_come_along(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        now = story.runtime.clock()
        await set_variable(story.runtime, story.viewer, story.conversation_id, "gold", 3)
        messages = await story.narrate(*(f"Line {number}." for number in range(EVERY + 3)))
        await set_variable(story.runtime, story.viewer, story.conversation_id, "hope", 1)
        async with story.runtime.database.write() as session:
            conversation = await session.get_one(Conversation, story.conversation_id)
            conversation.settings = {"authors_note": {"text": "Slowly."}}
            book = Lorebook(id=uuid4(), owner_id=story.user_id, name="Lore", created_at=now, updated_at=now)
            session.add(book)
            await session.flush()
            session.add(
                LorebookLink(
                    id=uuid4(), lorebook_id=book.id, conversation_id=conversation.id, enabled=False, position=4,
                    created_at=now,
                )
            )  # fmt: skip
        branch = await forked(story, messages[-1])
        assert (await branch.conversation()).settings == {"authors_note": {"text": "Slowly."}}
        async with story.runtime.database.read() as session:
            state = await state_at(session, branch.conversation_id, messages[-1].seq)
            assert state == await replay(session, branch.conversation_id, messages[-1].seq)
            assert state == {"variables.gold": 3, "variables.hope": 1}
            link = (
                await session.scalars(
                    select(LorebookLink).where(LorebookLink.conversation_id == branch.conversation_id)
                )
            ).one()
            assert (link.lorebook_id, link.enabled, link.position) == (book.id, False, 4)
            kept = await session.scalars(
                select(PathSnapshot.seq).where(PathSnapshot.conversation_id == branch.conversation_id)
            )
            assert list(kept) == [EVERY]


async def test_asking_again_does_not_double_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        id = uuid4()
        first, second = await forked(story, one, fork_id=id), await forked(story, one, fork_id=id)
        assert first.conversation_id == second.conversation_id == id
        refused = await refusal_of(fork(story.runtime, story.viewer, story.conversation_id, two.id, fork_id=id))
        assert refused.code == "taken"


async def test_what_cannot_be_forked_is_refused_and_leaves_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        branch = await forked(story, message)
        (copy,) = [row for row in await branch.rows() if row.seq == 2]
        await hide_message(story.runtime, story.viewer, message.id)
        for message_id in (message.id, copy.id, uuid4()):
            refused = await refusal_of(fork(story.runtime, story.viewer, story.conversation_id, message_id))
            assert refused.code == "not_found"
        refused = await refusal_of(fork(story.runtime, story.viewer, branch.conversation_id, copy.id, title="x" * 201))
        assert refused.code == "too_long"
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Conversation)) == 2


async def test_a_discussion_has_threads_and_no_branches(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        member = await somebody(story)
        refused = await refusal_of(fork(story.runtime, member, story.conversation_id, message.id))
        assert refused.code == "conflict"
        thread = await fork(story.runtime, member, story.conversation_id, message.id, kind="thread")
        assert isinstance(thread, Conversation)
        for visibility in ("private", "public"):
            refused = await refusal_of(
                fork(story.runtime, member, story.conversation_id, message.id, kind="thread", visibility=visibility)
            )
            assert refused.code == "forbidden"
        private = await forked(story, message, kind="thread", visibility="private")
        for viewer, count in ((story.viewer, 3), (member, 2)):
            tree = await read_tree(story.runtime, viewer, story.conversation_id, limit=10)
            assert len(tree) == count
        await refusal_of(read_tree(story.runtime, member, private.conversation_id, limit=10))


async def test_the_same_version_can_go_in_the_branch_and_stay_in_the_trunk(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        await add_swipe(story.runtime, story.viewer, message.id, swipe_id=uuid4(), content="b")
        branch = await forked(story, message)
        (copy,) = [row for row in await branch.rows() if row.seq == 2]
        await delete_swipe(story.runtime, story.viewer, copy.id, (await branch.swipes(copy.id))[1].id)
        assert [row.content for row in await branch.swipes(copy.id)] == ["a"]
        assert [row.content for row in await story.swipes(message.id)] == ["a", "b"]


async def test_a_fork_while_others_speak_is_whole(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        *_, last = await story.narrate("One.", "Two.")
        results = await asyncio.gather(
            *(forked(story, last) for _ in range(4)),
            *(story.narrate(f"Line {number}.") for number in range(4)),
            edit_message(story.runtime, story.viewer, last.id, content="Two!", revision=1),
        )
        for branch in results[:4]:
            assert isinstance(branch, Story)
            one, two = await branch.shown()
            assert (one, two.strip("!.")) == ("One.", "Two")
            for row in (await branch.rows())[1:]:
                assert [swipe.text_id for swipe in await branch.swipes(row.id)] == [row.text_id]
        assert len(await story.shown()) == 6


async def test_ten_thousand_messages_take_as_many_statements_as_ten(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (first,) = await story.narrate("One.")
        with counted_statements(story.runtime.database) as few:
            await forked(story, first)
        count = 10_000
        now = story.runtime.clock()
        ids = [(uuid4(), uuid4()) for _ in range(count)]
        async with story.runtime.database.write() as session:
            conversation = await session.get_one(Conversation, story.conversation_id)
            await session.execute(
                insert(Message),
                [
                    {"id": id, "conversation_id": conversation.id, "membership_id": first.membership_id, "seq": seq,
                     "role": "user", "text_id": first.text_id, "active_swipe_id": swipe, "swipes_count": 1,
                     "created_at": now}
                    for seq, (id, swipe) in enumerate(ids, start=3)
                ],
            )  # fmt: skip
            await session.execute(
                insert(MessageSwipe),
                [
                    {"id": swipe, "message_id": id, "position": 0, "text_id": first.text_id, "created_at": now}
                    for id, swipe in ids
                ],
            )
            conversation.last_seq, conversation.messages_count = count + 2, count + 2
        async with asyncio.timeout(HANG_SECONDS):
            with counted_statements(story.runtime.database) as many:
                child = await fork(story.runtime, story.viewer, story.conversation_id, ids[-1][0])
        assert isinstance(child, Conversation)
        assert child.messages_count == count + 2
        assert len(many) == len(few)
