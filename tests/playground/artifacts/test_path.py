"""State follows the path: what is read is what the tellings on it have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tavernkit.artifacts import session_artifacts
from tavernkit.playground.base.database.models import Conversation, Message
from tavernkit.playground.story.artifacts.path import session_of
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import hide_message, restore_message, select_swipe
from tests.playground.artifacts.stories import LAST_TWO, chosen_swipes, keep, retell, value_of, view_of
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def branch_of(story: Story, message: Message) -> Story:
    child = await fork(story.runtime, story.viewer, story.conversation_id, message.id)
    assert isinstance(child, Conversation), child
    return Story(story.runtime, story.user_id, child.id)


async def test_g17_a_turn_that_is_told_again_reads_the_state_before_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        assert await value_of(story) == {"hour": 9}
        assert await value_of(story, before=two) == {"hour": 8}
        view = await view_of(story, before=two)
        assert (view["state"].head_version, view.base_version("state")) == (2, 2)
        assert await value_of(story, before=one) is None


async def test_g17_each_swipe_has_the_state_that_it_left(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        two = await retell(story, two, "Zwei.")
        assert await value_of(story) == {"hour": 8}
        assert await keep(story, two, {"hour": 20}) == 3
        assert await value_of(story) == {"hour": 20}
        assert (await view_of(story))["state"].history == [{"hour": 8}]
        await select_swipe(story.runtime, story.viewer, two.id, 0)
        assert await value_of(story) == {"hour": 9}


async def test_the_view_is_what_the_library_reads_along_the_path(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        told = await story.narrate(*(f"{hour}." for hour in range(6)))
        for hour, message in enumerate(told):
            await keep(story, message, {"hour": hour}, retention=LAST_TWO)
            if hour % 2:
                again = await retell(story, message, f"Again {hour}.")
                await keep(story, again, {"hour": hour + 12}, retention=LAST_TWO)
        await hide_message(story.runtime, story.viewer, told[4].id)
        await select_swipe(story.runtime, story.viewer, told[3].id, 0)
        for before in (None, *told):
            view = await view_of(story, before=before)
            async with story.runtime.database.read() as session:
                place = await session_of(session, story.conversation_id)
                store = TransactionArtifactStore(session, ids=lambda: str(story.runtime.ids()))
                seq = None if before is None else before.seq
                replayed = session_artifacts(
                    await store.load(place),
                    now=story.runtime.clock(),
                    turn=0,
                    path=await chosen_swipes(session, story.conversation_id, before_seq=seq),
                    archives=await store.archives(place),
                )
            assert view.art() == replayed.art()
            assert view.heads == replayed.heads


async def test_what_a_hidden_message_left_is_gone_with_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        await hide_message(story.runtime, story.viewer, two.id)
        assert await value_of(story) == {"hour": 8}


async def test_what_is_brought_back_is_newer_than_what_was_told_anew_before_it(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        await hide_message(story.runtime, story.viewer, two.id)
        await keep(story, await retell(story, one, "Again."), {"hour": 7})
        assert await value_of(story) == {"hour": 7}
        await restore_message(story.runtime, story.viewer, two.id)
        view = await view_of(story)
        assert (view["state"].value, view["state"].history) == ({"hour": 9}, [{"hour": 7}])
        assert view.base_version("state") == 3


async def test_g18_what_was_written_for_a_message_that_never_came_is_not_read(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        (one,) = await story.narrate("One.")
        await keep(story, one, {"hour": 8})
        planned = Message(id=story.runtime.ids(), active_swipe_id=story.runtime.ids())
        await keep(story, planned, {"hour": 9})
        assert await value_of(story) == {"hour": 8}
        assert (await view_of(story)).base_version("state") == 2


async def test_what_was_pruned_is_read_where_the_path_needs_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        told = await story.narrate(*(f"{hour}." for hour in range(6)))
        for hour, message in enumerate(told):
            await keep(story, message, {"hour": hour}, retention=LAST_TWO)
        assert (await view_of(story))["state"].history == [{"hour": 4}]
        early = await view_of(story, before=told[3])
        assert (early["state"].value, early["state"].history) == ({"hour": 2}, [{"hour": 1}])


async def test_what_belongs_to_no_message_is_always_read(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (one,) = await story.narrate("One.")
        await keep(story, None, {"hour": 0})
        assert await value_of(story, before=one) == {"hour": 0}


async def test_after_a_reset_nothing_of_before_is_read(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        place = (await view_of(story))["state"].artifact.session
        async with story.runtime.database.write() as session:
            store = TransactionArtifactStore(session, ids=lambda: str(story.runtime.ids()))
            await store.reset(place, ["state"], now=story.runtime.clock())
        assert await value_of(story) is None
        assert await keep(story, two, {"hour": 1}) == 2
        assert await value_of(story, before=two) is None
        assert await value_of(await branch_of(story, one)) is None


async def test_a_branch_has_what_its_path_has_left(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two, three = await story.narrate("One.", "Two.", "Three.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        two = await retell(story, two, "Zwei.")
        await keep(story, two, {"hour": 20})
        await keep(story, three, {"hour": 21})
        await keep(story, three, "Well, well.", tag="comments", content_type="text", kind="commentary")
        branch = await branch_of(story, two)
        assert await value_of(branch) == {"hour": 20}
        assert (await view_of(branch)).heads == {"comments": None, "state": 3}
        copies = await branch.rows()
        await select_swipe(branch.runtime, branch.viewer, copies[-1].id, 0)
        assert await value_of(branch) == {"hour": 9}
        # Both go on, and neither knows of the other.
        assert await keep(branch, copies[-1], {"hour": 10}) == 4
        assert await value_of(story) == {"hour": 21}
        assert (await view_of(story)).base_version("state") == 4


async def test_a_branch_from_before_the_window_has_the_latest_of_its_path(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        told = await story.narrate(*(f"{hour}." for hour in range(6)))
        for hour, message in enumerate(told):
            await keep(story, message, {"hour": hour}, retention=LAST_TWO)
        branch = await branch_of(story, told[2])
        view = await view_of(branch)
        assert (view["state"].value, view["state"].history) == ({"hour": 2}, [{"hour": 1}])
        async with branch.runtime.database.read() as session:
            store = TransactionArtifactStore(session, ids=lambda: str(branch.runtime.ids()))
            place = view["state"].artifact.session
            record = await store.get(place, "state")
            archived = [item.version for row in await store.archives(place) for item in row.items]
        assert record is not None
        assert [item.version for item in record.versions] == [3]
        assert archived == [1, 2]


async def test_a_branch_of_a_branch_still_has_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")
        await keep(story, one, {"hour": 8})
        await keep(story, two, {"hour": 9})
        branch = await branch_of(story, two)
        first = next(row for row in await branch.rows() if row.origin_message_id == one.id)
        assert await value_of(await branch_of(branch, first)) == {"hour": 8}


async def test_the_view_is_read_by_one_statement_of_each_kind(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")

        async def statements() -> int:
            with counted_statements(story.runtime.database) as sent:
                await view_of(story)
            return len(sent)

        await keep(story, one, {"hour": 0})
        few = await statements()
        for tag in range(6):
            for hour in range(8):
                await keep(story, two, {"hour": hour}, tag=f"tag_{tag}", retention=LAST_TWO)
        # The owner, the turn, the artifacts, their versions.
        assert await statements() == few == 4


async def test_a_fork_takes_artifacts_along_by_as_many_statements_as_ever(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        one, two = await story.narrate("One.", "Two.")

        async def statements() -> int:
            with counted_statements(story.runtime.database) as sent:
                await branch_of(story, two)
            return len(sent)

        few = await statements()
        for tag in range(6):
            for hour in range(8):
                await keep(story, one, {"hour": hour}, tag=f"tag_{tag}", retention=LAST_TWO)
        assert await statements() == few
