"""Swipes: on any message, in order without gaps, never none."""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.base.database.models import Message, MessageSwipe
from tavernkit.playground.story.messages import service
from tavernkit.playground.story.messages.service import add_swipe, delete_swipe, edit_swipe, select_swipe
from tests.playground.messages.people import somebody
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def added(story: Story, message: Message, content: str, *, activate: bool = True) -> MessageSwipe:
    swipe = await add_swipe(
        story.runtime, story.viewer, message.id, swipe_id=uuid4(), content=content, activate=activate
    )
    assert isinstance(swipe, MessageSwipe)
    return swipe


async def seen(story: Story, message_id: UUID) -> tuple[str, int, list[tuple[int, str]]]:
    """The text of the message, its count, and its swipes; the active swipe is checked on the way."""
    message, rows = await story.message(message_id), await story.swipes(message_id)
    (active,) = [swipe for swipe in rows if swipe.id == message.active_swipe_id]
    assert active.text_id == message.text_id
    return message.content, message.swipes_count, [(swipe.position, swipe.content) for swipe in rows]


async def test_another_version_is_seen_at_once_or_kept_for_later(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        first, _ = await story.narrate("One.", "More.")
        await added(story, first, "Uno.")
        await added(story, first, "Eins.", activate=False)
        assert await seen(story, first.id) == ("Uno.", 3, [(0, "One."), (1, "Uno."), (2, "Eins.")])
        assert (await story.message(first.id)).revision == 3


async def test_swiping_goes_left_and_right_and_stops_at_the_ends(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        await added(story, message, "Two.")
        texts = []
        for to in ("right", "left", "left", "right", 0):
            chosen = await select_swipe(story.runtime, story.viewer, message.id, to)
            assert isinstance(chosen, Message)
            texts.append(chosen.content)
        assert texts == ["Two.", "One.", "One.", "Two.", "One."]
        refused = await refusal_of(select_swipe(story.runtime, story.viewer, message.id, 2))
        assert refused.code == "not_found"


async def test_choosing_from_an_older_revision_is_refused(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("One.")
        await added(story, message, "Two.")
        refused = await refusal_of(select_swipe(story.runtime, story.viewer, message.id, "left", revision=1))
        assert (refused.code, refused.current["active_swipe_position"]) == ("stale", 1)


async def test_adding_again_what_may_have_arrived_does_not_double_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        first, second = await story.narrate("One.", "Two.")
        swipe_id = uuid4()
        for _ in range(2):
            await add_swipe(story.runtime, story.viewer, first.id, swipe_id=swipe_id, content="Uno.")
        assert (await seen(story, first.id))[1] == 2
        refused = await refusal_of(add_swipe(story.runtime, story.viewer, second.id, swipe_id=swipe_id, content="Uno."))
        assert refused.code == "taken"


async def test_many_at_once_get_places_of_their_own(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("0")
        await asyncio.gather(*(added(story, message, str(number)) for number in range(1, 9)))
        _, count, rows = await seen(story, message.id)
        assert (count, [position for position, _ in rows]) == (9, list(range(9)))
        assert {text for _, text in rows} == set("012345678")


async def test_the_others_close_up_behind_a_version_that_goes(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        for gone, left, shown in ((0, "bcde", "c"), (1, "acde", "c"), (2, "abde", "b"), (4, "abcd", "c")):
            (message,) = await story.narrate("a")
            for text in "bcde":
                await added(story, message, text)
            await select_swipe(story.runtime, story.viewer, message.id, 2)
            rows = await story.swipes(message.id)
            assert isinstance(await delete_swipe(story.runtime, story.viewer, message.id, rows[gone].id), Message)
            assert await seen(story, message.id) == (shown, 4, list(enumerate(left)))


async def test_the_first_version_gives_way_to_the_second(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        await added(story, message, "b", activate=False)
        await delete_swipe(story.runtime, story.viewer, message.id, (await story.swipes(message.id))[0].id)
        assert await seen(story, message.id) == ("b", 1, [(0, "b")])


async def test_the_last_version_stays(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        (only,) = await story.swipes(message.id)
        refused = await refusal_of(delete_swipe(story.runtime, story.viewer, message.id, only.id))
        assert refused.code == "conflict"
        again = await refusal_of(delete_swipe(story.runtime, story.viewer, message.id, uuid4()))
        assert again.code == "not_found"


async def test_a_version_that_is_not_seen_can_be_rewritten(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        await added(story, message, "b")
        first, _ = await story.swipes(message.id)
        edited = await edit_swipe(story.runtime, story.viewer, message.id, first.id, content="A", revision=2)
        assert isinstance(edited, Message)
        assert await seen(story, message.id) == ("b", 2, [(0, "A"), (1, "b")])
        refused = await refusal_of(
            edit_swipe(story.runtime, story.viewer, message.id, uuid4(), content="A", revision=3)
        )
        assert refused.code == "not_found"


async def test_there_is_an_end_to_it(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_SWIPES", 2)
    async with open_story(sqlite_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        await added(story, message, "b")
        refused = await refusal_of(add_swipe(story.runtime, story.viewer, message.id, swipe_id=uuid4(), content="c"))
        assert refused.code == "conflict"


async def test_members_swipe_but_do_not_put_words_into_others_mouths(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("a")
        await added(story, message, "b")
        member = await somebody(story)
        assert isinstance(await select_swipe(story.runtime, member, message.id, "left"), Message)
        refused = await refusal_of(add_swipe(story.runtime, member, message.id, swipe_id=uuid4(), content="c"))
        assert refused.code == "forbidden"
