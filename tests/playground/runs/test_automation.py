"""What goes on without a person: characters among themselves, and a model that writes for somebody."""

from pathlib import Path

import pytest

from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.refused import STATUS_OF
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.runs.requests import force_talk, impersonate, regenerate
from tavernkit.playground.story.runs.round_control import pause_round, set_auto_mode, set_copilot, stop_round
from tavernkit.playground.story.runs.service import finish_run
from tests.playground.runs.group import Group, code, group_story
from tests.support.hanging import HANG_SECONDS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def auto_mode(group: Group, rounds: int) -> None:
    turns = await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=rounds)
    assert turns.conversation.auto_mode_remaining_rounds == (rounds or None)


async def copilot(group: Group, steps: int) -> None:
    await set_copilot(group.runtime, group.viewer, group.conversation_id, steps=steps)


async def remaining(group: Group) -> int | None:
    return (await group.conversation()).auto_mode_remaining_rounds


async def steps(group: Group) -> tuple[str, int]:
    owner = await group.member("Owner")
    return owner.copilot_mode, owner.copilot_remaining_steps


async def test_characters_go_on_for_so_many_rounds_and_wait_between_their_turns(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=60_000) as group:
        await auto_mode(group, 2)
        # The first one begins at once.
        assert await group.speak() == "Ada"
        assert await group.speak_all() == []
        waiting = await group.queued()
        assert waiting is not None
        assert waiting.kind == "auto_mode"
        assert (waiting.run_after - waiting.created_at).total_seconds() == pytest.approx(60, abs=20)
        assert await remaining(group) == 2
        names = []
        while await group.due() is not None:
            group.wait(seconds=61)
            names += await group.speak_all()
            # It is rounds that are counted, not replies.
            assert await remaining(group) == (1 if len(names) < 3 else None)
        assert names == ["Bo", "Ada", "Bo"]
        assert [round.status for round in await group.rounds()] == ["finished", "finished"]


async def test_switching_it_off_lets_the_round_finish_that_goes_on(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await auto_mode(group, 5)
        assert await group.speak() == "Ada"
        await auto_mode(group, 0)
        assert await group.speak_all() == ["Bo"]
        assert await group.state() is None


async def test_switching_the_setting_off_stops_characters_behind_the_reply_that_is_written(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0, auto_mode_enabled=True
    ) as group:
        await group.say()
        for _ in range(3):
            await group.speak()
        claim = await group.claim()
        await group.change_space(auto_mode_enabled=False)
        await finish_run(group.runtime, claim, "One last thing.")
        assert await group.speak_all() == []
        assert (await remaining(group), await group.state()) == (None, None)
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo", "Ada", "Bo"]


async def test_one_character_alone_does_not_go_on(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo") as group:
        await group.remove("Bo")
        assert await code(set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=1)) == "conflict"
        assert await group.runs() == []


async def test_while_somebody_speaks_nothing_else_begins_but_it_goes_on_behind(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await group.say()
        first = await group.claim()
        await auto_mode(group, 2)
        assert len(await group.runs()) == 1
        await finish_run(group.runtime, first, "Good evening.")
        assert await group.speak_all() == ["Bo", "Ada", "Bo"]
        # The same behind a reply that was asked for, before or after it was switched on.
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=group.members["Bo"])
        await auto_mode(group, 2)
        assert await group.speak_all() == ["Bo", "Ada", "Bo", "Ada", "Bo"]
        await auto_mode(group, 2)
        assert await group.speak() == "Ada"
        await regenerate(group.runtime, group.viewer, group.conversation_id)
        assert await group.speak_all() == ["Ada", "Ada", "Bo", "Ada", "Bo"]
        assert await remaining(group) is None


async def test_a_round_that_waits_for_a_person_need_not_any_more(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await group.say()
        assert await group.speak() == "Ada"
        await pause_round(group.runtime, group.viewer, group.conversation_id)
        await auto_mode(group, 1)
        assert [round.status for round in await group.rounds()] == ["superseded", "active"]
        assert await group.speak_all() == ["Ada", "Bo"]


async def test_a_space_can_let_characters_go_on_behind_everything_a_person_says(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_enabled=True, auto_mode_delay_ms=0
    ) as group:
        await group.say()
        assert await remaining(group) == 10
        assert await group.speak() == "Ada"
        assert await group.speak() == "Bo"
        assert (await remaining(group), await group.due()) == (9, "Ada")
        await stop_round(group.runtime, group.viewer, group.conversation_id)
        assert (await remaining(group), await group.due()) == (None, None)


async def test_the_copilot_writes_so_many_messages_and_the_last_is_answered_too(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", reply_order="natural", auto_mode_delay_ms=0) as group:
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=group.members["Ada"])
        await group.speak("Who are you?")
        await copilot(group, 2)
        assert (await group.run()).kind == "copilot"
        assert await group.speak("I am the owner.") == "Owner"
        assert await steps(group) == ("full", 1)
        assert await group.speak() == "Ada"
        assert await group.speak("Of this installation.") == "Owner"
        assert await steps(group) == ("none", 0)
        assert await group.speak_all() == ["Ada"]
        assert [message.role for message in await group.all_messages()] == [
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
        ]
        await group.say("Now I write.")
        assert await group.speak_all() == ["Ada"]


async def test_the_copilot_takes_its_turn_among_the_characters(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await copilot(group, 2)
        assert await group.speak_all() == ["Owner", "Ada", "Bo"] * 2
        await group.change_space(reply_order="pooled")
        await copilot(group, 1)
        names = await group.speak_all()
        assert names.count("Owner") == 1
        assert names[-1] != "Owner"


async def test_who_lets_a_model_write_does_not_write(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await copilot(group, 3)
        assert await code(group.say("Let me.")) == "copilot_blocked"
        assert STATUS_OF["copilot_blocked"] == 403
        assert await group.due() == "Owner"
        claim = await group.claim()
        async with group.runtime.bus.subscribe(user_topic(group.user_id)) as news:
            await copilot(group, 0)
            told = await news.next(unless=group.runtime.stopping, within=HANG_SECONDS)
            if told == {"copilot": {"remaining_steps": 3}, "conversation": str(group.conversation_id)}:
                # Through PostgreSQL, what was said before somebody listened may still be on its way.
                told = await news.next(unless=group.runtime.stopping, within=HANG_SECONDS)
            assert told == {"copilot": {"remaining_steps": 0}, "conversation": str(group.conversation_id)}
        # It was its turn: that is over, and what it wrote comes to nothing.
        assert await finish_run(group.runtime, claim, "As I was saying") is None
        assert (await group.run_of(claim)).text == "As I was saying"
        assert await group.places() == [("Owner", "skipped"), ("Ada", "pending"), ("Bo", "pending")]
        assert await group.speak_all() == ["Ada", "Bo"]
        await group.say("Let me.")
        assert (await group.told())[-1] == ("Owner", "Let me.")


async def test_the_two_are_never_on_together(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await auto_mode(group, 3)
        await copilot(group, 2)
        assert (await remaining(group), await steps(group)) == (None, ("full", 2))
        await auto_mode(group, 3)
        assert (await remaining(group), await steps(group)) == (3, ("none", 0))


async def test_in_a_branch_it_goes_on_in_that_branch(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await group.say()
        await group.speak_all()
        child = await fork(group.runtime, group.viewer, group.conversation_id, (await group.last()).id)
        branch = group.in_conversation(child.id)
        before = await group.told()
        await copilot(branch, 1)
        assert (await group.due(), await branch.due()) == (None, "Owner")
        assert await branch.speak_all() == ["Owner", "Ada", "Bo"]
        await auto_mode(branch, 1)
        assert await remaining(group) is None
        assert await branch.speak_all() == ["Ada", "Bo"]
        await impersonate(branch.runtime, branch.viewer, branch.conversation_id)
        assert await branch.speak_all() == ["Owner", "Ada", "Bo"]
        assert await group.told() == before


async def test_in_a_branch_it_leaves_the_round_elsewhere_alone(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", reply_order="list", auto_mode_delay_ms=0) as group:
        await group.say()
        await group.speak_all()
        child = await fork(group.runtime, group.viewer, group.conversation_id, (await group.last()).id)
        branch = group.in_conversation(child.id)
        await group.say("Still there?")
        reply = await group.claim()
        await copilot(branch, 1)
        assert await finish_run(group.runtime, reply, "I am.") is not None
        assert (await group.due(), await branch.due()) == (None, "Owner")
        await group.say("Good.")
        assert await group.due() == "Ada", "one writes oneself there"
