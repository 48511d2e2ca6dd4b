"""Whatever is done to a story, its artifacts are what a replay of the path from the beginning would leave."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tavernkit.playground.base.database.models import Conversation, Message
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import hide_message, restore_message, select_swipe
from tavernkit.values import Json
from tests.playground.artifacts.stories import LAST_TWO, keep, retell, view_of
from tests.playground.stories import Story, open_story

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STEPS = 25


class Replay:
    """Everything that was ever left, by the number of the message, the place of the swipe and the version."""

    def __init__(self, left: dict[tuple[int, int, int], Json]) -> None:
        self.left = left

    async def note(self, story: Story, message: Message, content: Json) -> None:
        position = next(row.position for row in await story.swipes(message.id) if row.id == message.active_swipe_id)
        version = await keep(story, message, content, retention=LAST_TWO)
        self.left[message.seq, position, version] = content

    async def values(self, story: Story, before: Message | None) -> list[Json]:
        """What the path has left, oldest first, as much of it as is kept."""
        seen = set()
        for message in await shown(story):
            if before is None or message.seq < before.seq:
                (position,) = [
                    row.position for row in await story.swipes(message.id) if row.id == message.active_swipe_id
                ]
                seen.add((message.seq, position))
        on_path = sorted((key, content) for key, content in self.left.items() if key[:2] in seen)
        return [content for _, content in on_path][-2:]

    def branch(self, until: int, messages: list[Message]) -> Replay:
        told = {message.seq for message in messages if message.seq <= until}
        return Replay({key: content for key, content in self.left.items() if key[0] in told})


async def shown(story: Story) -> list[Message]:
    return [row for row in await story.rows() if row.visibility != "hidden" and row.seq > 1]


@pytest.mark.parametrize("seed", range(3))
async def test_state_at_any_message_equals_a_replay(database_url: str, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    async with open_story(database_url, tmp_path) as story:
        replay = Replay({})
        for number in range(STEPS):
            messages = await shown(story)
            match (
                chance.choice(["tell", "tell", "retell", "select", "hide", "bring back", "fork"])
                if messages
                else "tell"
            ):
                case "tell":
                    (message,) = await story.narrate(f"Line {number}.")
                    await replay.note(story, message, number)
                case "retell":
                    message = await retell(story, chance.choice(messages), f"Again {number}.")
                    await replay.note(story, message, number)
                case "select":
                    message = chance.choice(messages)
                    await select_swipe(story.runtime, story.viewer, message.id, chance.randrange(message.swipes_count))
                case "hide":
                    await hide_message(story.runtime, story.viewer, chance.choice(messages).id)
                case "bring back":
                    for row in await story.rows():
                        await restore_message(story.runtime, story.viewer, row.id)
                case "fork":
                    message = chance.choice(messages)
                    child = await fork(story.runtime, story.viewer, story.conversation_id, message.id)
                    assert isinstance(child, Conversation), child
                    replay = replay.branch(message.seq, messages)
                    story = Story(story.runtime, story.user_id, child.id)
            messages = await shown(story)
            for before in (None, *([chance.choice(messages)] if messages else [])):
                view = await view_of(story, before=before)
                read = [item.content for item in view["state"].versions] if "state" in view else []
                assert read == await replay.values(story, before)
