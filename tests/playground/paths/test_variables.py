"""Chat variables follow the path: swipes, deletions, undo and branches have those of their own telling."""

import math
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import add_swipe, hide_message, restore_message, select_swipe
from tavernkit.playground.story.paths import variables
from tavernkit.playground.story.paths.variables import (
    NOT_THERE,
    delete_variable,
    get_variables,
    set_variable,
    written,
)
from tavernkit.values import Json
from tests.playground.messages.people import somebody
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def gold(story: Story) -> Json:
    return (await get_variables(story.runtime, story.viewer, story.conversation_id)).get("gold")


async def set_gold(story: Story, value: Json) -> None:
    await set_variable(story.runtime, story.viewer, story.conversation_id, "gold", value)


async def test_a_variable_is_set_changed_and_removed(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await set_gold(story, 3)
        await story.narrate("More.")
        await set_gold(story, {"coins": [1, 2]})
        assert await gold(story) == {"coins": [1, 2]}
        left = await delete_variable(story.runtime, story.viewer, story.conversation_id, "gold")
        assert left == {}
        assert await gold(story) is None
        refused = await refusal_of(delete_variable(story.runtime, story.viewer, story.conversation_id, "gold"))
        assert refused.code == "not_found"
        assert "state_changed" in await story.events()


async def test_the_other_swipe_has_other_variables(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await set_gold(story, 1)
        (message,) = await story.narrate("You find gold.")
        await set_gold(story, 10)
        await add_swipe(story.runtime, story.viewer, message.id, swipe_id=uuid4(), content="You find nothing.")
        assert await gold(story) == 1
        await select_swipe(story.runtime, story.viewer, message.id, "left")
        assert await gold(story) == 10


async def test_a_deleted_message_takes_its_variables_along_and_brings_them_back(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("You find gold.")
        await set_gold(story, 10)
        await hide_message(story.runtime, story.viewer, message.id)
        assert await gold(story) is None
        await restore_message(story.runtime, story.viewer, message.id)
        assert await gold(story) == 10


async def test_a_branch_begins_with_those_of_its_fork_point_and_keeps_its_own(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        (message,) = await story.narrate("You find gold.")
        await set_gold(story, 10)
        await story.narrate("You lose it.")
        await set_gold(story, 0)
        child = await fork(story.runtime, story.viewer, story.conversation_id, message.id)
        assert isinstance(child, Conversation)
        branch = Story(story.runtime, story.user_id, child.id)
        assert await gold(branch) == 10
        await set_gold(branch, 99)
        assert (await gold(branch), await gold(story)) == (99, 0)


async def test_before_anybody_speaks_they_are_what_the_story_begins_with(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        (greeting,) = await story.rows()
        await hide_message(story.runtime, story.viewer, greeting.id)
        await set_gold(story, 5)
        await set_variable(story.runtime, story.viewer, story.conversation_id, "hope", True)
        assert await gold(story) == 5
        await restore_message(story.runtime, story.viewer, greeting.id)
        await set_gold(story, 6)
        await hide_message(story.runtime, story.viewer, greeting.id)
        assert await gold(story) == 5


UNFIT: list[tuple[str, Json, str]] = [
    ("", 1, "invalid"),
    ("x" * 201, 1, "invalid"),
    ("a\x00", 1, "invalid"),
    ("a\ud800", 1, "invalid"),
    ("a", math.nan, "invalid"),
    ("a", ["\ud800"], "invalid"),
    ("a", "x" * 20_001, "too_long"),
]


async def test_what_cannot_be_a_variable_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        for name, value, code in UNFIT:
            refused = await refusal_of(set_variable(story.runtime, story.viewer, story.conversation_id, name, value))
            assert refused.code == code


async def test_there_is_an_end_to_it(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "MAX_VARIABLES", 1)
    async with open_story(sqlite_url, tmp_path) as story:
        await set_gold(story, 1)
        await set_gold(story, 2)
        refused = await refusal_of(set_variable(story.runtime, story.viewer, story.conversation_id, "hope", 1))
        assert refused.code == "conflict"


async def test_who_watches_reads_and_who_is_not_here_does_not(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await set_gold(story, 1)
        watcher, stranger = await somebody(story, participation="observer"), await somebody(story, role=None)
        assert await get_variables(story.runtime, watcher, story.conversation_id) == {"gold": 1}
        for viewer, code in ((watcher, "forbidden"), (stranger, "not_found")):
            refused = await refusal_of(set_variable(story.runtime, viewer, story.conversation_id, "gold", 2))
            assert refused.code == code
        await refusal_of(get_variables(story.runtime, stranger, story.conversation_id))


async def test_a_variable_that_changed_since_it_was_read_is_not_overwritten(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        at = (play.runtime, play.viewer, play.conversation_id)
        await set_variable(*at, "gold", {"b": 1, "a": [2]}, was=NOT_THERE)
        refused = await refusal_of(set_variable(*at, "gold", 3, was=NOT_THERE))
        assert (refused.code, refused.current) == ("stale", {"b": 1, "a": [2]})
        # The order of keys is not a change.
        await set_variable(*at, "gold", 3, was=written({"a": [2], "b": 1}))
        assert (await refusal_of(delete_variable(*at, "gold", was=written("3")))).code == "stale"
        assert await delete_variable(*at, "gold", was=written(3)) == {}
