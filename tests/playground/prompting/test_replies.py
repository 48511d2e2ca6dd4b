"""After the model: what becomes a message, what it does to the story's state, what it used."""

from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.base.database.models import Conversation, Message, Space, User
from tavernkit.playground.base.llm.base import Finished, ModelError
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.paths.state import replay, state_at
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.replies import make_reply
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts

pytestmark = pytest.mark.anyio


async def _state(story: PromptStory) -> dict[str, Any]:
    async with story.runtime.database.read() as session:
        conversation = await session.get_one(Conversation, story.conversation_id)
        state = await state_at(session, story.conversation_id, conversation.last_seq)
        assert state == await replay(session, story.conversation_id, conversation.last_seq)
        return state


async def _asked(story: PromptStory, name: str = "Ada", **options: Any) -> BuiltPrompt:
    await story.say_as("Robin", "Hello?")
    return await story.prompt(name, **options)


async def test_a_reply_ends_where_somebody_else_begins_to_speak(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Bo": {}}) as story:
        prompt = await _asked(story)
        assert make_reply(prompt, "Ada: Mine.\nRobin: Not mine.").text == "Mine."
        assert make_reply(prompt, "Mine.\nBo: Not mine.").text == "Mine."
        with pytest.raises(ModelError, match="an empty reply"):
            make_reply(prompt, "Bo: Not mine.")
        await story.columns(Space, story.space_id, relax_message_trim=True)
        relaxed = await _asked(story)
        assert make_reply(relaxed, "Mine.\nBo: Let it be.").text == "Mine.\nBo: Let it be."


async def test_thoughts_are_kept_apart_and_sent_back_if_wanted(database_url: str, tmp_path: Path) -> None:
    reply = "<think>Robin: sounds sad.</think>\n\nThere, there."
    async with prompt_story(database_url, tmp_path, reply) as story:
        await story.set(reasoning={"auto_parse": True, "add_to_prompts": True})
        await story.say_as("Robin", "Oh dear.")
        await story.answered("Ada")
        swipe = await story.last_swipe()
        assert (swipe.content, swipe.metadata_["reasoning"]) == ("There, there.", "Robin: sounds sad.")
        again = texts(await _asked(story))
        assert "<think>Robin: sounds sad.</think>\n\nThere, there." in again
        await story.set(reasoning={"auto_parse": False, "add_to_prompts": False})
        assert "There, there." in texts(await _asked(story))


async def test_thoughts_that_the_provider_tells_apart_are_kept_too(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        reply = make_reply(await _asked(story), "Yes.", "Is it so?")
        assert (reply.text, reply.metadata) == ("Yes.", {"reasoning": "Is it so?"})


async def test_scripts_of_the_card_change_prompts_and_replies_unless_they_are_off(
    database_url: str, tmp_path: Path
) -> None:
    script = {"scriptName": "s", "findRegex": "/colou?r/g", "replaceString": "{{setvar::seen::1}}hue", "placement": [2]}
    card: dict[str, Any] = {"extensions": {"regex_scripts": [script]}}
    async with prompt_story(database_url, tmp_path, "A color.", cards={"Ada": card}) as story:
        await story.say_as("Robin", "Which?")
        await story.answered("Ada")
        assert (await story.last_swipe()).content == "A hue."
        assert (await _state(story)) == {"variables.seen": "1"}
        await story.set(prompt={"regex_scripts": False})
        assert make_reply(await _asked(story), "A color.").text == "A color."


async def test_what_macros_set_is_stored_with_the_reply_and_not_before(database_url: str, tmp_path: Path) -> None:
    card = {"description": "{{addvar::visits::1}}Visit {{getvar::visits}}."}
    async with prompt_story(database_url, tmp_path, "Welcome.", "Come in.", cards={"Ada": card}) as story:
        await story.say_as("Robin", "Hello?")
        await story.prompt("Ada")
        assert await _state(story) == {}
        await story.answered("Ada")
        assert await _state(story) == {"variables.visits": 1}
        swipe = await story.last_swipe()
        assert swipe.state_delta == {"set": {"variables.visits": 1}, "unset": []}
        await story.answered("Ada", kind="regenerate", target=swipe.message_id)
        anew = await story.last_swipe()
        assert (anew.message_id, anew.position, anew.content) == (swipe.message_id, 1, "Come in.")
        assert await _state(story) == {"variables.visits": 1}


async def test_a_continued_message_is_the_whole_and_does_what_both_parts_do(database_url: str, tmp_path: Path) -> None:
    card = {"description": "{{addvar::visits::1}}"}
    async with prompt_story(database_url, tmp_path, "Once", "upon a time.", cards={"Ada": card}) as story:
        await story.say_as("Robin", "Tell me.")
        await story.answered("Ada")
        first = await story.last_swipe()
        await story.answered("Ada", kind="continue", target=first.message_id)
        whole = await story.last_swipe()
        assert (whole.message_id, whole.content) == (first.message_id, "Once upon a time.")
        assert await _state(story) == {"variables.visits": 2}


async def test_who_is_spoken_for_has_said_it(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Robin: I would go.") as story:
        await story.say_as("Ada", "And you?")
        await story.answered("Robin", kind="impersonate")
        said: Message = await story.row(Message, (await story.last_swipe()).message_id)
        assert (said.role, said.membership_id, said.content) == ("user", story.member("Robin").id, "I would go.")


async def test_lore_comes_from_the_space_and_its_timers_follow_the_path(database_url: str, tmp_path: Path) -> None:
    world = (
        b'{"name": "World", "entries": {"0": {"uid": 0, "key": ["lamp"], "content": "The lamp is old.", "sticky": 4}}}'
    )
    async with prompt_story(database_url, tmp_path, "It burns.") as story:
        book = await import_lorebook(story.runtime, story.viewer, world)
        link = NewLink(lorebook_id=book[0].id, space_id=story.space_id)
        await attach_lorebook(story.runtime, story.viewer, link)
        await story.say_as("Robin", "What of the lamp?")
        await story.answered("Ada")
        (timer,) = await _state(story)
        assert timer.startswith("lore_timers.sticky.")
        await story.set(world_info={"depth": 1})
        assert "The lamp is old." in texts(await _asked(story))
        for _ in range(4):
            prompt = await _asked(story)
        assert "The lamp is old." not in texts(prompt)


async def test_what_a_reply_used_is_counted_everywhere(database_url: str, tmp_path: Path) -> None:
    done = Finished(reason="stop", prompt_tokens=100, completion_tokens=20, cost=0.5)
    async with prompt_story(database_url, tmp_path, ("Yes.", done), "No figures.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        assert (run.prompt_tokens, run.completion_tokens, run.cost) == (100, 20, 0.5)
        for model, id in ((Space, story.space_id), (Conversation, story.conversation_id), (User, story.user_id)):
            row = await story.row(model, id)
            assert (row.prompt_tokens_total, row.completion_tokens_total) == (100, 20)
        await story.say_as("Robin", "Again?")
        run = await story.answered("Ada")
        assert run.prompt_tokens
        assert run.prompt_tokens > 20
        assert run.completion_tokens == 2
        assert (await story.row(Space, story.space_id)).prompt_tokens_total == 100 + run.prompt_tokens


async def test_without_streaming_nothing_is_shown_before_the_end(database_url: str, tmp_path: Path) -> None:
    shown: list[str] = []
    async with prompt_story(database_url, tmp_path, "One two three.") as story:
        await story.set(llm={"stream": False})
        published = story.runtime.bus.publish

        async def publish(topic: str, data: dict[str, Any]) -> None:
            shown.extend([data["text"]] if "text" in data else [])
            await published(topic, data)

        story.runtime.bus.publish = publish
        await story.say_as("Robin", "Hello?")
        await story.answered("Ada")
    assert shown == []
