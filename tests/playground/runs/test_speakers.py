"""Who speaks: by hand, as people would, one after the other, or each once; and why."""

import random
from pathlib import Path

import pytest

from tavernkit import Character
from tavernkit.playground.story.messages.service import exclude_message, hide_message
from tavernkit.playground.story.runs.requests import force_talk
from tavernkit.playground.story.runs.round_control import set_auto_mode
from tavernkit.sillytavern.groups import (
    GroupMember,
    GroupStrategy,
    StoryGroup,
    activate,
    mentions_in_any_script,
)
from tests.playground.runs.group import Group, group_story, seeded_ids

pytestmark = pytest.mark.anyio


async def causes(group: Group) -> list[tuple[str, str]]:
    """Who was chosen for the newest round, and why."""
    return [(group.name(slot.membership_id), slot.reason["cause"]) for slot in await group.slots()]


async def let_go_on(group: Group, rounds: int = 1) -> None:
    await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=rounds)


async def test_by_hand_nobody_answers_a_person_and_somebody_speaks_where_nobody_asked(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="manual") as group:
        await group.mute("Cy")
        await group.say("Ada?")
        assert (await group.rounds(), await group.runs()) == ([], [])
        forced = await force_talk(group.runtime, group.viewer, group.conversation_id)
        assert (group.name(forced.speaker_membership_id) in ("Ada", "Bo"), forced.reason) == (True, "manual")
        assert len(await group.speak_all()) == 1
        await let_go_on(group)
        [slot] = await group.slots()
        assert (slot.reason["cause"], slot.reason["pool"]) == ("manual", 2)
        assert slot.reason["sentence"].endswith("was drawn from 2, as the group waits to be told who speaks.")


async def test_naturally_whoever_is_mentioned_speaks_first_in_the_order_of_the_words(
    database_url: str, tmp_path: Path
) -> None:
    levels = {"Ada the Tall": 1.0, "Bo": 0.0, "小红": 0.0, "Зоя": 0.0}
    async with group_story(database_url, tmp_path, *levels, talkativeness=levels, reply_order="natural") as group:
        await group.say("小红你好! And what does bo say to the weather?")
        assert await causes(group) == [("小红", "mention"), ("Bo", "mention"), ("Ada the Tall", "talkativeness")]
        first, second, third = (slot.reason for slot in await group.slots())
        assert (first["word"], first["sentence"]) == ("小红", "小红 was mentioned as '小红'.")
        assert second["word"] == "Bo"
        assert third["roll"] <= third["threshold"] == 1.0
        assert await group.speak_all() == ["小红", "Bo", "Ada the Tall"]
        await group.mute("Bo")
        await group.say("Bo? Зоя?")
        assert (await causes(group))[0] == ("Зоя", "mention")
        assert "Bo" not in dict(await causes(group))


async def test_how_talkative_somebody_is_says_the_card_unless_the_member_says_otherwise(
    database_url: str, tmp_path: Path
) -> None:
    levels = {"Ada": 1.0, "Bo": 0.0, "Cy": 1.0}
    async with group_story(database_url, tmp_path, *levels, talkativeness=levels, reply_order="natural") as group:
        await group.say("Hm.")
        assert set(await causes(group)) == {("Ada", "talkativeness"), ("Cy", "talkativeness")}
        await group.speak_all()
        await group.change("Bo", talkativeness=1.0)
        await group.change("Cy", talkativeness=0.0)
        await group.say("Hm.")
        assert set(await causes(group)) == {("Ada", "talkativeness"), ("Bo", "talkativeness")}
        await group.speak_all()
        await group.change("Bo", talkativeness=None)
        await group.change("Ada", talkativeness=0.0)
        await group.say("Hm.")
        # Where everybody is silent, somebody speaks all the same.
        [(_, cause)] = await causes(group)
        assert cause == "random"
        await group.speak_all()
        await group.change("Cy", talkativeness=0.000001)
        for _ in range(3):
            await group.say("Hm.")
            # And it is never who wants to be silent, if somebody else does not quite.
            assert [name for name, _ in await causes(group)] == ["Cy"]
            await group.speak_all()


async def test_nobody_answers_themselves_unless_a_person_has_spoken_or_the_space_allows_it(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", talkativeness=1.0, reply_order="natural", auto_mode_delay_ms=0
    ) as group:
        await group.say("Bo, then Ada.")
        assert await group.speak_all() == ["Bo", "Ada"]
        await let_go_on(group)
        assert await group.speak_all() == ["Bo"]
        await group.say("Bo first again.")
        assert await group.speak_all() == ["Bo", "Ada"]
        await group.change_space(allow_self_responses=True)
        await let_go_on(group)
        assert sorted(await group.speak_all()) == ["Ada", "Bo"]


async def test_pooled_lets_each_speak_once_and_then_anybody_but_the_last(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="pooled", auto_mode_delay_ms=0
    ) as group:
        await group.say("Bo?")
        await let_go_on(group, rounds=5)
        names = await group.speak_all()
        assert sorted(names[:3]) == ["Ada", "Bo", "Cy"]
        assert names[3] != names[2]
        assert names[4] != names[3]
        reasons = [(await group.slots(round))[0].reason for round in await group.rounds()]
        assert [(reason["cause"], reason["pool"]) for reason in reasons] == [
            ("pooled", 3),
            ("pooled", 2),
            ("pooled", 1),
            ("pooled_again", 2),
            ("pooled_again", 2),
        ]
        await group.say("And anew.")
        assert (await group.slots())[0].reason["pool"] == 3


async def test_what_is_excluded_counts_as_said_and_what_is_hidden_does_not(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="pooled", auto_mode_delay_ms=60_000
    ) as group:
        await group.say()
        first = await group.speak()
        reply = await group.last()
        await exclude_message(group.runtime, group.viewer, reply.id)
        await let_go_on(group)
        assert (await group.slots())[0].reason["pool"] == 1
        assert await group.speak() != first
        await hide_message(group.runtime, group.viewer, (await group.last()).id)
        await hide_message(group.runtime, group.viewer, reply.id)
        await let_go_on(group)
        assert (await group.slots())[0].reason["pool"] == 2


async def test_whoever_knows_the_round_can_choose_again_and_comes_to_the_same(
    database_url: str, tmp_path: Path
) -> None:
    names = ("Ada", "Bo", "Cy", "Dee", "Eli")
    async with group_story(database_url, tmp_path, *names, reply_order="natural") as group:
        cast = StoryGroup.of(
            *(
                GroupMember(avatar=str(group.members[name]), character=Character(name=name), talkativeness=0.5)
                for name in names
            )
        ).with_(activation_strategy=GroupStrategy.NATURAL)
        for said in ("Hm.", "Cy?", "What now, Dee and Ada?"):
            await group.say(said)
            round = (await group.rounds())[-1]
            again = activate(
                cast,
                chat=(),
                user_input=said,
                random=random.Random(round.id.int).random,
                mentions=mentions_in_any_script,
            )
            slots = await group.slots(round)
            assert [str(slot.membership_id) for slot in slots] == list(again.speakers)
            assert [slot.reason["sentence"] for slot in slots] == list(again.explain(cast))
            await group.speak_all()


@pytest.mark.parametrize("order", ["natural", "pooled"])
async def test_the_same_ids_give_the_same_speakers_on_any_database(
    migrated_sqlite_url: str, migrated_postgres_url: str, tmp_path: Path, order: str
) -> None:
    async def spoken(url: str, folder: Path, seed: int) -> list[str]:
        async with group_story(
            url, folder, "Ada", "Bo", "Cy", "Dee", ids=seeded_ids(seed), reply_order=order, auto_mode_delay_ms=0
        ) as group:
            names = []
            for _ in range(3):
                await group.say("Hm.")
                names += await group.speak_all()
            await let_go_on(group, rounds=3)
            return names + await group.speak_all()

    assert await spoken(migrated_sqlite_url, tmp_path, 7) == await spoken(migrated_postgres_url, tmp_path, 7)
