"""Who was to speak cannot any more, or what was to be answered is gone."""

from pathlib import Path

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import SpaceMembership
from tavernkit.playground.story.characters.service import delete_character
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import exclude_message, hide_message
from tavernkit.playground.story.runs.requests import force_talk, regenerate
from tavernkit.playground.story.runs.round_control import pause_round, resume_round
from tavernkit.playground.story.runs.service import finish_run
from tests.playground.runs.group import Group, group_story

pytestmark = pytest.mark.anyio


async def reasons(group: Group) -> list[tuple[str, str | None]]:
    return [(group.name(slot.membership_id), slot.skip_reason) for slot in await group.slots()]


async def test_who_is_muted_or_removed_when_it_is_their_turn_is_passed_over(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", "Dee", reply_order="list") as group:
        await group.say()
        await group.mute("Ada")
        assert await group.due() == "Bo"
        bo = await group.claim()
        await group.remove("Bo")
        assert await group.due() == "Cy"
        # Who was speaking is stopped; what they had said so far stays on their run.
        assert await finish_run(group.runtime, bo, "But I") is None
        left = await group.run_of(bo)
        assert (left.status, left.text) == ("canceled", "But I")
        await group.mute("Dee")
        assert await group.speak_all() == ["Cy"]
        skipped = "not_schedulable"
        assert await reasons(group) == [("Ada", skipped), ("Bo", skipped), ("Cy", None), ("Dee", skipped)]
        assert [round.status for round in await group.rounds()] == ["finished"]


async def test_whoever_else_is_muted_changes_nothing_for_who_speaks(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say()
        ada = await group.claim()
        await group.mute("Bo")
        await group.change("Cy", talkativeness=0.1)
        assert (await group.run_of(ada)).cancel_requested_at is None
        assert await finish_run(group.runtime, ada, "Good.") is not None
        assert await group.speak_all() == ["Cy"]


async def test_a_paused_round_waits_and_passes_over_them_when_it_goes_on(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        await pause_round(group.runtime, group.viewer, group.conversation_id)
        await group.mute("Ada")
        assert await group.state() == ("paused", 0)
        await resume_round(group.runtime, group.viewer, group.conversation_id)
        assert await group.speak_all() == ["Bo"]
        await group.say()
        await group.mute("Bo")
        # With nobody left, the round is over.
        assert (await group.state(), await group.due()) == (None, None)
        assert await group.places() == [("Bo", "skipped")]


async def test_it_is_so_in_every_conversation_of_the_space(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        child = await fork(group.runtime, group.viewer, group.conversation_id, (await group.last()).id)
        branch = group.in_conversation(child.id)
        await branch.say("And here?")
        await group.mute("Ada")
        assert (await group.due(), await branch.due()) == ("Bo", "Bo")


async def test_who_was_asked_in_person_speaks_though_muted_but_not_though_removed(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo") as group:
        ada = group.members["Ada"]
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=ada)
        await group.mute("Ada")
        assert await group.speak_all() == ["Ada"]
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=ada)
        await group.remove("Ada")
        assert await group.ends() == [("Ada", "succeeded"), ("Ada", "canceled")]


@pytest.mark.parametrize("has_spoken", [True, False])
async def test_a_character_that_is_deleted_in_its_turn_is_passed_over_and_what_it_said_stays(
    database_url: str, tmp_path: Path, has_spoken: bool
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        if has_spoken:
            await group.say()
            await group.speak_all()
        told = await group.told()
        await group.say("Ada?")
        claim = await group.claim()
        character_id = (await group.member("Ada")).character_id
        assert character_id is not None
        await delete_character(group.runtime, group.viewer, character_id)
        assert await finish_run(group.runtime, claim, "I am still here!") is None
        assert await group.speak_all() == ["Bo"]
        assert await group.told() == [*told, ("Owner", "Ada?"), ("Bo", "So be it.")]
        assert await group.places() == [("Ada", "skipped"), ("Bo", "spoken")]


async def test_a_worker_that_finds_a_speaker_gone_takes_the_next_one(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        # As if it had happened at the very moment of the claim.
        async with group.runtime.database.write() as session:
            await session.execute(
                update(SpaceMembership).where(SpaceMembership.id == group.members["Ada"]).values(participation="muted")
            )
        assert await group.speak_all() == ["Bo"]
        assert await group.ends() == [("Ada", "skipped"), ("Bo", "succeeded")]
        [passed_over, _] = await group.runs()
        assert passed_over.error is not None
        assert passed_over.error["code"] == "speaker_unavailable"
        assert await reasons(group) == [("Ada", "speaker_unavailable"), ("Bo", None)]


async def test_what_answers_a_message_ends_when_that_is_hidden(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say("One.")
        await group.speak_all()
        one, ada, bo = await group.all_messages()
        await group.say("Two.")
        two = await group.last()
        # Something else is hidden or left out of prompts: nothing happens to the round.
        await hide_message(group.runtime, group.viewer, ada.id)
        await exclude_message(group.runtime, group.viewer, two.id)
        assert await group.state() == ("ai_generating", 0)
        assert await group.speak("To two.") == "Ada"
        running = await group.claim()
        # The message that the round answers is hidden, though it is not the last any more.
        await hide_message(group.runtime, group.viewer, two.id)
        assert await group.state() is None
        assert await finish_run(group.runtime, running, "I think") is None
        assert (await group.rounds())[-1].ended_reason == "message_hidden"
        assert [text for _, text in await group.told()] == [one.content, bo.content, "To two."]
        # The last one is hidden before it was answered.
        await group.say("Three.")
        await hide_message(group.runtime, group.viewer, (await group.last()).id)
        assert (await group.state(), await group.due()) == (None, None)


async def test_what_tells_a_message_anew_ends_when_that_is_hidden_and_who_was_asked_speaks_all_the_same(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        await group.speak_all()
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        claim = await group.claim()
        await hide_message(group.runtime, group.viewer, (await group.last()).id)
        assert await finish_run(group.runtime, claim, "Anew.") is None
        assert [name for name, _ in await group.told()] == ["Owner", "Ada"]
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=group.members["Bo"])
        await hide_message(group.runtime, group.viewer, (await group.last()).id)
        assert await group.speak_all() == ["Bo"]


async def test_a_message_where_a_branch_begins_can_be_hidden_and_the_branch_keeps_it(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", reply_order="list") as group:
        await group.say()
        await group.speak_all()
        reply = await group.last()
        child = await fork(group.runtime, group.viewer, group.conversation_id, reply.id)
        await hide_message(group.runtime, group.viewer, reply.id)
        assert [name for name, _ in await group.told()] == ["Owner"]
        assert [name for name, _ in await group.in_conversation(child.id).told()] == ["Owner", "Ada"]
