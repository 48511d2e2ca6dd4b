"""Replies that somebody asks for: from a character, further words, or the next ones of their own."""

from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.replies.actions import request_stop
from tavernkit.playground.story.runs.requests import continue_reply, force_talk, impersonate
from tavernkit.playground.story.runs.service import finish_run
from tests.playground.runs.group import Group, code, group_story

pytestmark = pytest.mark.anyio


async def force(group: Group, name: str | None = None) -> Run:
    speaker_id = None if name is None else group.members[name]
    return await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=speaker_id)


async def test_who_is_asked_speaks_even_if_muted_and_moves_no_round(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.mute("Cy")
        await group.say()
        await group.speak()
        run = await force(group, "Cy")
        assert (run.kind, run.reason, run.round_id) == ("force_talk", "forced", None)
        [round] = await group.rounds()
        assert (round.status, round.ended_reason) == ("canceled", "something_else")
        assert await group.speak_all() == ["Cy"]
        assert await group.ends() == [("Ada", "succeeded"), ("Bo", "canceled"), ("Cy", "succeeded")]
        # What waits is replaced by what is asked for next.
        await force(group, "Ada")
        await force(group, "Bo")
        assert await group.speak_all() == ["Bo"]


async def test_without_a_name_whoever_would_speak_next_does(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await force(group)
        assert await group.speak_all() == ["Ada"]
        await group.change_space(reply_order="natural")
        await force(group)
        assert await group.speak_all() == ["Bo"]
        await group.mute("Ada")
        await group.mute("Bo")
        assert await code(force(group)) == "conflict"


async def test_nobody_is_asked_who_is_not_a_character_here(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.remove("Bo")
        await group.say()
        for name in ("Owner", "Bo"):
            assert await code(force(group, name)) == "not_found"
        assert (
            await code(force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=uuid4()))
            == "not_found"
        )
        assert await group.state() == ("ai_generating", 0)
        assert await group.speak_all() == ["Ada"]


async def test_the_policy_of_the_space_holds_for_what_is_asked_too(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="reject"
    ) as group:
        await group.say()
        first = await group.claim()
        assert await code(force(group, "Bo")) == "generation_locked"
        assert await code(impersonate(group.runtime, group.viewer, group.conversation_id)) == "generation_locked"
        assert await group.state() == ("ai_generating", 0)
        await group.change_space(during_generation_user_input_policy="queue")
        await force(group, "Bo")
        assert await finish_run(group.runtime, first, "Late.") is not None
        assert await group.due() == "Bo"
        second = await group.claim()
        await group.change_space(during_generation_user_input_policy="restart")
        await force(group, "Ada")
        assert await finish_run(group.runtime, second, "Too late.") is None
        assert await group.speak_all() == ["Ada"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Ada"]


async def test_a_message_for_one_of_them_is_answered_by_that_one_alone(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", user_turn_debounce_ms=60_000
    ) as group:
        await group.mute("Bo")
        await send_message(
            group.runtime,
            group.viewer,
            group.conversation_id,
            message_id=uuid4(),
            content="Ada must not hear this.",
            speaker_id=group.members["Bo"],
        )
        assert await group.speak_all() == ["Bo"]
        assert await group.rounds() == []


async def test_a_reply_goes_on_where_it_ended_and_the_shorter_one_stays_beside_it(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("Once upon a time", "there was a fox.")
    async with group_story(database_url, tmp_path, "Ada", "Bo", model=model, reply_order="list") as group:
        assert await code(continue_reply(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        await group.mute("Bo")
        await group.say("A tale!")
        assert await code(continue_reply(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        async with group.working():
            await group.quiet()
            run = await continue_reply(group.runtime, group.viewer, group.conversation_id)
            assert (run.kind, run.target_message_id) == ("continue", (await group.last()).id)
            await group.quiet()
        assert (await group.told())[1:] == [("Ada", "Once upon a time there was a fox.")]
        reply = await group.last()
        assert await group.swipe_texts(reply.id) == ["Once upon a time", "Once upon a time there was a fox."]
        await group.remove("Ada")
        assert await code(continue_reply(group.runtime, group.viewer, group.conversation_id)) == "conflict"


async def test_words_that_are_written_for_a_person_are_theirs_and_are_answered(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", talkativeness=0.0, reply_order="natural") as group:
        run = await impersonate(group.runtime, group.viewer, group.conversation_id)
        assert run.kind == "impersonate"
        assert await group.speak("Is Bo here?") == "Owner"
        assert (await group.last()).role == "user"
        [round] = await group.rounds()
        assert round.trigger_message_id == (await group.last()).id
        assert (await group.slots())[0].reason["cause"] == "mention"
        assert await group.speak_all() == ["Bo"]
        # One that nobody waited for is not answered.
        waiting = await impersonate(group.runtime, group.viewer, group.conversation_id)
        await request_stop(group.runtime, group.viewer, waiting.id)
        assert await group.due() is None


async def test_words_that_come_late_leave_the_round_alone_that_has_begun_meanwhile(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="queue"
    ) as group:
        await impersonate(group.runtime, group.viewer, group.conversation_id)
        late = await group.claim()
        await group.say("I have found the words myself.")
        [round] = await group.rounds()
        assert await finish_run(group.runtime, late, "Late words.") is not None
        assert [known.id for known in await group.rounds()] == [round.id]
        assert await group.speak_all() == ["Ada", "Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Owner", "Ada", "Bo"]
