"""In which conversation a program goes on."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import Conversation, Message, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.conversations.service import create_conversation
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.spaces.service import create_space
from tests.playground.messages.people import somebody
from tests.playground.models_api.models_client import ModelsClient, key_of, models_client, said
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import all_rows

pytestmark = pytest.mark.anyio

REPLIES = ("Good.", "Better.", "Best.", "Enough.")
STORY = ("How is the tea?", "Good.", "And the cake?", "Better.")


async def where(talk: ModelsClient, *texts: str, **fields: object) -> UUID:
    """The conversation in which the last of the texts was answered."""
    return UUID((await talk.reply(*said(*texts), **fields))["tavernkit"]["conversation_id"])


def turns(*texts: str) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in said(*texts)]


async def test_a_program_goes_on_where_it_was(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        before = await talk.conversations()
        first = await where(talk, *STORY[:1])
        assert first == talk.play.conversation_id
        assert await where(talk, *STORY[:3]) == first
        assert await where(talk, *STORY, "And you?") == first
        assert await talk.told(first) == turns(*STORY, "And you?", "Best.")
        assert await talk.conversations() == before


async def test_the_greeting_may_be_sent_along(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        async with talk.runtime.database.read() as session:
            greeting = (await session.scalars(select(Message))).one().content
        reply = await talk.reply({"role": "assistant", "content": greeting}, *said("How is the tea?"))
        assert reply["tavernkit"]["conversation_id"] == str(talk.play.conversation_id)


async def test_another_beginning_is_another_conversation(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        first = await where(talk, "How is the tea?")
        second = await where(talk, "Is it raining, or  what?")
        assert second != first
        conversation = await talk.conversation(second)
        assert (conversation.kind, conversation.title) == ("root", "Is it raining, or what?")
        assert await talk.told(second) == turns("Is it raining, or  what?", "Better.")


async def test_a_story_from_elsewhere_is_written_down(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel("Well, well.")) as talk:
        asked = [
            {"role": "developer", "content": "It is night."},
            {"role": "system", "content": ""},
            *said("Who is there?", "Only me.", "And who are you?"),
        ]
        reply = await talk.reply(*asked)
        id = reply["tavernkit"]["conversation_id"]
        story = [("system", "It is night."), *turns("Who is there?", "Only me.", "And who are you?", "Well, well.")]
        assert await talk.told(id) == story
        conversation = await talk.conversation(id)
        assert (conversation.title, conversation.messages_count) == ("Who is there?", 5)
        asked += [{"role": "assistant", "content": " Well, well. "}, {"role": "user", "content": "Well?"}]
        assert (await talk.reply(*asked))["tavernkit"]["conversation_id"] == id


async def test_asking_for_another_reply_makes_a_branch(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        first = await where(talk, *STORY[:1])
        await where(talk, *STORY[:3])
        second = await where(talk, *STORY[:3])
        branch = await talk.conversation(second)
        assert (branch.kind, branch.parent_conversation_id) == ("branch", first)
        assert await talk.told(first) == turns(*STORY)
        assert await talk.told(second) == turns(*STORY[:3], "Best.")
        assert await where(talk, *STORY[:3], "Best.", "Really?") == second


async def test_what_the_program_has_changed_makes_a_branch(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        first = await where(talk, *STORY[:1])
        await where(talk, *STORY[:3])
        changed = (*STORY[:3], "I forgot.", "What a pity.")
        second = await where(talk, *changed)
        assert (await talk.conversation(second)).parent_conversation_id == first
        assert await talk.told(first) == turns(*STORY)
        assert await talk.told(second) == turns(*changed, "Best.")


async def test_the_same_system_prompt_is_not_the_same_story(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        prompt = {"role": "system", "content": "Be brief."}
        ids = [(await talk.reply(prompt, *said(text)))["tavernkit"]["conversation_id"] for text in ("Tea?", "Cake?")]
        assert len(set(ids)) == 2
        assert [(await talk.conversation(id)).kind for id in ids] == ["root", "root"]


async def test_a_named_conversation_takes_the_last_message_only(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        first = await where(talk, *STORY[:1])
        here = {"conversation_id": str(first)}
        assert await where(talk, "This", "is", "not kept", "at all", "And the cake?", tavernkit=here) == first
        assert await talk.told(first) == turns(*STORY)


async def test_a_named_conversation_must_be_the_models(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel()) as talk:
        elsewhere = await create_space(talk.runtime, talk.play.viewer, name="Elsewhere")
        for id in (uuid4(), elsewhere.conversation.id):
            refused = await talk.ask(*said("Hm?"), tavernkit={"conversation_id": str(id)})
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")


async def test_for_who_may_not_speak_no_conversation_is_begun(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel()) as talk:
        async with talk.runtime.database.write() as session:
            own = SpaceMembership.user_id == talk.play.user_id
            await session.execute(update(SpaceMembership).where(own).values(participation="muted"))
        before = await all_rows(talk.runtime)
        refused = await talk.ask(*said(*STORY[:3]))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
        after = await all_rows(talk.runtime)
        assert (after["conversations"], after["messages"]) == (before["conversations"], before["messages"])


async def test_in_a_discussion_everybody_has_a_story_of_their_own(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(*REPLIES)) as talk:
        sam = talk.program(await key_of(talk.play, await somebody(talk.play)))
        first = await where(talk, *STORY[:1])
        other = ModelsClient(talk.play, talk.app, sam, talk.model)
        second = await where(other, *STORY[:1])
        assert second != first
        # Sam's program sends what it has heard, which is not what the owner has heard.
        assert await where(other, STORY[0], "Better.", "And the cake?") == second
        third = await where(other, STORY[0], "Better.", "And the cake?")
        assert (await talk.conversation(third)).kind == "thread"


async def test_what_is_put_aside_or_private_or_a_checkpoint_is_not_gone_on_with(
    database_url: str, tmp_path: Path
) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel("Good.")) as talk:
        sam = ModelsClient(
            talk.play, talk.app, talk.program(await key_of(talk.play, await somebody(talk.play))), talk.model
        )
        seen = set()
        for values in ({"status": "archived"}, {"kind": "checkpoint"}, {"visibility": "private"}):
            id = await where(sam, *STORY[:1])
            seen.add(id)
            async with talk.runtime.database.write() as session:
                await session.execute(update(Conversation).where(Conversation.id == id).values(**values))
            seen.add(await where(sam, *STORY[:3]))
        assert len(seen) == 6


async def test_hidden_messages_were_never_said(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel("Good.")) as talk:
        first = await where(talk, *STORY[:1])
        told = await send_message(
            talk.runtime, talk.play.viewer, first, message_id=uuid4(), content="The lamp went out.", role="system"
        )
        async with talk.runtime.database.write() as session:
            await session.execute(update(Message).where(Message.id == told.id).values(visibility="hidden"))
        assert await where(talk, *STORY[:3]) == first


async def test_a_long_story_is_known_again_and_read_in_windows(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel("Good.")) as talk:
        story = [f"{number}" for number in range(500)]
        first = await where(talk, *story, "Hm?")
        assert (await talk.conversation(first)).messages_count == 502
        for number in range(30):
            space_id = (await talk.conversation(first)).space_id
            await create_conversation(talk.runtime, talk.play.viewer, space_id, title=f"{number}")
        # Too many are newer now, so that it is not found any more.
        second = await where(talk, *story, "Hm?", "Good.", "Really?")
        assert second != first
        with counted_statements(talk.runtime.database) as sent:
            assert await where(talk, *story, "Hm?", "Good.", "Really?", "Good.", "Yes?") == second
        reading = [statement for statement in sent if "text_contents" in statement and "seq >" in statement]
        assert len(reading) <= 6
