"""Telling a reply anew: beside the earlier ones, and elsewhere if something hangs on them. Nothing is destroyed."""

from pathlib import Path

import pytest

from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import restore_message
from tavernkit.playground.story.replies.actions import keep_text, request_stop, retry
from tavernkit.playground.story.runs.requests import force_talk, regenerate
from tavernkit.playground.story.runs.service import fail_run, finish_run
from tests.playground.runs.group import BROKEN, code, group_story
from tests.playground.support.refusals import all_rows, refusal_of

pytestmark = pytest.mark.anyio


async def test_another_reply_stands_beside_the_first_and_moves_no_round(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        await group.speak("One way.")
        assert await group.due() == "Bo"
        run = await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert (run.kind, run.round_id, run.conversation_id) == ("regenerate", None, group.conversation_id)
        # Asking for it ended the round, and took the place of who was to speak.
        [round] = await group.rounds()
        assert (round.status, round.ended_reason) == ("canceled", "told_anew")
        assert await group.speak("Another way.") == "Ada"
        assert await group.told() == [("Owner", "Hello?"), ("Ada", "Another way.")]
        assert await group.swipe_texts((await group.last()).id) == ["One way.", "Another way."]
        assert await group.speak_all() == []
        assert await group.ends() == [("Ada", "succeeded"), ("Bo", "canceled"), ("Ada", "succeeded")]


async def test_what_is_not_told_to_its_end_leaves_no_trace_on_the_message(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada") as group:
        await group.say()
        await group.speak("One way.")
        reply = await group.last()

        async def untouched() -> None:
            assert await group.swipe_texts(reply.id) == ["One way."]
            assert (await group.last()).revision == reply.revision
            assert (await group.last()).content == "One way."

        waiting = await regenerate(group.runtime, group.viewer, group.conversation_id)
        await untouched()
        await request_stop(group.runtime, group.viewer, waiting.id)
        await untouched()
        await regenerate(group.runtime, group.viewer, group.conversation_id, message_id=reply.id)
        await group.fail("Anoth")
        await untouched()
        # Asking again while it is written gives that one up.
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        first = await group.claim()
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert await finish_run(group.runtime, first, "Given up.") is None
        await untouched()
        await group.speak_all()
        assert await group.swipe_texts(reply.id) == ["One way.", "So be it."]


async def test_it_stops_what_is_being_written_whatever_the_space_says_of_messages(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="reject"
    ) as group:
        await group.say()
        await group.speak("One way.")
        bo = await group.claim()
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert await finish_run(group.runtime, bo, "I think") is None
        assert (await group.run_of(bo)).text == "I think"
        assert await group.speak_all() == ["Ada"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada"]


async def test_a_reply_that_others_followed_is_told_anew_in_a_branch(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say()
        await group.speak("One way.")
        await group.speak("I agree.")
        before = await group.all_messages()
        run = await regenerate(group.runtime, group.viewer, group.conversation_id, message_id=before[1].id)
        branch = group.in_conversation(run.conversation_id)
        assert (await branch.conversation()).forked_from_message_id == before[1].id
        # The old one goes on as if nothing had happened.
        assert await group.state() == ("ai_generating", 2)
        assert await group.due() == "Cy"
        await group.speak_all()
        assert await branch.told() == [("Owner", "Hello?"), ("Ada", "So be it.")]
        assert await branch.swipe_texts((await branch.last()).id) == ["One way.", "So be it."]
        assert await group.swipe_texts(before[1].id) == ["One way."]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo", "Cy"]
        assert await branch.rounds() == []


async def test_the_whole_last_turn_is_put_away_and_told_by_a_new_round(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", group_regenerate_mode="last_turn"
    ) as group:
        await group.say("Bo?")
        assert await group.speak_all() == ["Ada", "Bo"]
        old = (await group.all_messages())[1:]
        run = await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert (run.kind, run.round_position) == ("user_turn", 0)
        assert await group.told() == [("Owner", "Bo?")]
        assert (await group.conversation()).messages_count == 1
        assert await group.speak_all() == ["Ada", "Bo"]
        # Nothing is gone.
        assert len(await group.all_messages(hidden=True)) == 5
        await restore_message(group.runtime, group.viewer, old[0].id)
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Ada", "Bo"]
        # One reply by name is told anew alone. It is not a person who speaks, so somebody does where they are asked.
        await group.change_space(reply_order="manual")
        last = await group.last()
        alone = await regenerate(
            group.runtime, group.viewer, group.conversation_id, message_id=last.id, only_message=True
        )
        assert alone.kind == "regenerate"
        await group.speak_all()
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert len(await group.slots()) == 1


async def test_a_last_turn_that_a_branch_begins_in_is_told_anew_in_a_branch(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", group_regenerate_mode="last_turn"
    ) as group:
        await group.say()
        await group.speak_all()
        asked, ada, _ = await group.all_messages()
        await fork(group.runtime, group.viewer, group.conversation_id, ada.id)
        run = await regenerate(group.runtime, group.viewer, group.conversation_id)
        branch = group.in_conversation(run.conversation_id)
        assert (await branch.conversation()).forked_from_message_id == asked.id
        assert await branch.speak_all() == ["Ada", "Bo"]
        assert [name for name, _ in await branch.told()] == ["Owner", "Ada", "Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo"]


async def test_what_cannot_be_told_anew_is_refused_and_left_alone(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", group_regenerate_mode="last_turn"
    ) as group:
        assert await code(regenerate(group.runtime, group.viewer, group.conversation_id)) == "not_found"
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=group.members["Ada"])
        await group.speak("Welcome.")
        # Nobody has said anything yet: this is a greeting.
        assert await code(regenerate(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        assert await group.told() == [("Ada", "Welcome.")]
        await group.say()
        # The last message is a person's, and their round goes on.
        assert await code(regenerate(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        assert await group.speak_all() == ["Ada", "Bo"]
        last = await group.last()
        await group.remove("Bo")
        assert (
            await code(regenerate(group.runtime, group.viewer, group.conversation_id, message_id=last.id)) == "conflict"
        )
        await group.mute("Ada")
        assert await code(regenerate(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        assert [name for name, _ in await group.told()] == ["Ada", "Owner", "Ada", "Bo"]


@pytest.mark.parametrize("is_forked", [False, True])
async def test_a_turn_that_nobody_can_tell_anew_is_left_as_it_is(
    database_url: str, tmp_path: Path, is_forked: bool
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", group_regenerate_mode="last_turn"
    ) as group:
        await group.say()
        await group.speak_all()
        if is_forked:
            await fork(group.runtime, group.viewer, group.conversation_id, (await group.last()).id)
        await group.mute("Ada")
        await group.mute("Bo")
        before = await all_rows(group.runtime)
        refused = await refusal_of(regenerate(group.runtime, group.viewer, group.conversation_id))
        assert (refused.code, refused.sentence.partition(".")[0]) == ("conflict", "No character can reply")
        assert await all_rows(group.runtime) == before
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo"]


async def test_a_failed_one_can_be_tried_again(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada") as group:
        await group.say()
        await group.speak("One way.")
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        failed = await group.claim()
        assert await fail_run(group.runtime, failed, "Another", BROKEN)
        again = await retry(group.runtime, group.viewer, group.conversation_id)
        assert (again.kind, again.target_message_id) == ("regenerate", (await group.last()).id)
        await group.fail("A third")
        kept = await keep_text(group.runtime, group.viewer, again.id)
        assert await group.swipe_texts(kept.id) == ["One way.", "A third"]
