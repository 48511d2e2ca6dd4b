"""What the prompts of the last turns would have been with something changed."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import ModelPrice, PromptSnapshot, Provider, Run
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.replaying.changes import EntryOff, WhatIf
from tavernkit.playground.story.replaying.what_if import (
    ask_what_if,
    changed_prompt,
    next_what_if,
    what_if,
)
from tavernkit.prompt.what_if import WhatIfReport
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.replaying.told import CARD, ENTRIES, TALK, tell, world
from tests.playground.spaces.cast import person
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def _tried(story: PromptStory, last: int = 200, **change: Any) -> WhatIfReport:
    return await what_if(story.runtime, story.viewer, story.conversation_id, WhatIf(**change), last=last)


def _by_turn(report: WhatIfReport) -> list[tuple[list[str], list[str]]]:
    """Which entries each turn has gained and lost."""
    found = [turn.change for turn in report.turns if turn.change is not None]
    return [([entry.name for entry in one.gained], [entry.name for entry in one.lost]) for one in found]


NOTHING: tuple[list[str], list[str]] = ([], [])


async def test_entries_gained_and_lost_are_named_turn_by_turn(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        nothing = await _tried(story)
        deeper = await _tried(story, settings={"world_info": {"depth": 3}})
        off = await _tried(story, entries_off=[EntryOff(book="Coast", entry="1")])
        edited = [{**ENTRIES[0], "key": ["weather"]}, {**ENTRIES[1], "sticky": 0}]
        other = await _tried(story, lorebooks=[world(*edited)])
        added = await _tried(story, last=2, lorebooks=[world({**ENTRIES[0], "key": ["night"]}, name="More")])
    assert (nothing.changed, nothing.before, len(nothing.turns)) == (0, nothing.after, 5)
    # With depth 1 an entry is found in the message alone; the ferry stays for two messages.
    assert _by_turn(deeper)[:2] == [NOTHING, (["Harbour"], [])]
    assert deeper.lost == 0
    assert _by_turn(off) == [NOTHING, NOTHING, ([], ["Ferry"]), NOTHING, NOTHING]
    assert _by_turn(other)[:2] == [([], ["Harbour"]), (["Harbour"], [])]
    # What it says has the key of the other one.
    assert _by_turn(added) == [NOTHING, (["Harbour", "Harbour"], [])]
    assert [turn.number for turn in added.turns] == [turn.number for turn in nothing.turns[-2:]]


async def test_lore_that_stays_is_carried_to_the_next_turn(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        longer = [{**ENTRIES[0], "sticky": 10}, ENTRIES[1]]
        report = await _tried(story, lorebooks=[world(*longer)])
    assert _by_turn(report) == [NOTHING, *[(["Harbour"], [])] * 4]


async def test_tokens_evictions_reuse_and_cost_are_compared(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Hm. " * 60, cards={"Ada": CARD}) as story:
        async with story.runtime.database.write() as session:
            session.add(
                ModelPrice(model="gpt-4o", prompt_price=2.0, completion_price=1.0, updated_at=story.runtime.clock())
            )
        await tell(story)
        report = await _tried(story, settings={"llm": {"context_tokens": 700, "max_tokens": 300}})
        blank = await _tried(story, card_fields_off=["description"])
    assert report.before.evictions == 0
    assert report.after.evictions > 0
    assert report.after.tokens < report.before.tokens
    assert report.before.cost == pytest.approx(report.before.tokens * 2 / 1_000_000)
    assert report.after.reuse is not None
    assert report.before.reuse is not None
    assert report.after.reuse < report.before.reuse
    last = report.turns[-1].change
    assert last is not None
    assert last.evicted.keys() == {"Message"}
    assert blank.changed == 5
    assert blank.after.tokens < blank.before.tokens


async def test_prompts_fields_and_blocks_are_switched_off_in_the_next_prompt(sqlite_url: str, tmp_path: Path) -> None:
    prompts = [{"identifier": "main", "content": "Tell of {{char}}."}, {"identifier": "mine", "content": "Rhyme."}]
    order = [{"identifier": one, "enabled": True} for one in ("main", "mine", "charDescription", "chatHistory")]
    data = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}]}
    async with prompt_story(sqlite_url, tmp_path, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        other = await create_preset(story.runtime, story.viewer, NewPreset(kind="chat", name="Rhymes", data=data))

        async def texts(**change: Any) -> list[str]:
            found = await next_what_if(
                story.runtime, story.viewer, story.conversation_id, WhatIf(**change), kind="normal"
            )
            assert found.change.before.reuse is not None
            return [block.content for block in found.prompt.blocks]

        usual = await texts()
        rhyming = await texts(preset_id=other.id)
        assert rhyming[:3] == ["Tell of Ada.", "Rhyme.", "Ada keeps a ledger."]
        assert await texts(preset=data) == rhyming
        assert await texts(preset_id=other.id, prompts_off=["mine"]) == ["Tell of Ada.", *rhyming[2:]]
        assert await texts(card_fields_off=["description"]) == [one for one in usual if "ledger" not in one]
        assert await texts(blocks_off=["charDescription"]) == [one for one in usual if "ledger" not in one]
        card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Zed", "description": "{{char}}!"}}
        assert "Ada!" in await texts(card=card)


async def test_many_turns_are_a_job_whose_result_is_all_that_is_stored(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        change = WhatIf(settings={"world_info": {"depth": 3}})
        async with running_job_worker(story.runtime):
            job = await ask_what_if(story.runtime, story.viewer, story.conversation_id, change, last=3)
            ended = await ended_job(story.runtime, job.id)
        assert (ended.status, len(ended.result["turns"]), ended.result["unkept"]) == ("succeeded", 3, 0)
        run_id = (await story.run()).id
        shown = await changed_prompt(story.runtime, story.viewer, run_id, WhatIf(card_fields_off=["description"]))
        assert not any("ledger" in block.content for block in shown.blocks)
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(PromptSnapshot)) == len(TALK)
            assert await session.scalar(select(func.count()).select_from(Run)) == len(TALK)
            assert (await session.scalars(select(Provider.model).distinct())).all() == ["gpt-4o"]


async def test_what_cannot_be_tried_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Hm.") as story:
        await story.say_as("Robin", "Hello?")
        await story.answered("Ada")
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"settings": {"world_info": {"scan": 1}}}, "does not exist"),
            ({"settings": {"model": {"preset_id": None}}}, "cannot be tried"),
            ({"preset": {"nothing": 1}}, "cannot be read"),
            ({"lorebooks": [{"a": 1}]}, "cannot be read"),
            ({"card_fields_off": ["name"]}, "no field name"),
            ({"card": {"x": "y" * 5_000_000}}, "at most"),
        ]
        for change, words in wrong:
            refused = await refusal_of(_tried(story, **change))
            assert words in str(refused), change
        stranger = await person(story)
        refused = await refusal_of(what_if(story.runtime, stranger, story.conversation_id, WhatIf()))
        assert refused.code in ("not_found", "forbidden")
