"""A run can be built again after everything that its prompt was made of has changed, and its reply with it."""

import asyncio
import json
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, func, select, update

from tavernkit import __version__
from tavernkit.playground.base.database.models import (
    Character,
    InputDocument,
    Lorebook,
    LorebookEntry,
    Preset,
    PromptBlock,
    PromptInputRecord,
    PromptSnapshot,
    Provider,
    ReplyStream,
    Run,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.llm.base import ThoughtDelta
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.messages.service import edit_message, hide_message
from tavernkit.playground.story.pipelines.choosing import choose_profile
from tavernkit.playground.story.pipelines.documents import Choose, NewProfile
from tavernkit.playground.story.pipelines.service import create_profile
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.previews.service import read_prompt
from tavernkit.playground.story.prompting.records import note_removed_prompts
from tavernkit.playground.story.replaying.replay import (
    Difference,
    Replay,
    read_run,
    read_run_file,
    replay_run,
    replayed,
    write_run,
)
from tavernkit.playground.story.sweeping.service import sweep
from tests.playground.artifacts.requirements.watching import places_of
from tests.playground.pipelines.profile_story import DICE, THOUGHT, counting, profile
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio

ENTRIES = [
    {"uid": 0, "key": ["harbour"], "content": "The harbour freezes {{random:early,late}}. " * 3, "sticky": 3},
    {"uid": 1, "key": ["ferry"], "content": "The ferry is late.", "cooldown": 2, "constant": False},
    {"uid": 2, "key": ["turn"], "content": "A gull cries.", "probability": 50, "useProbability": True},
]
WORLD = {"entries": {str(entry["uid"]): entry for entry in ENTRIES}}
CARD: dict[str, Any] = {
    "description": "{{char}} of the {{random::north::south}} keeps a ledger, on {{date}} at {{time}}. " * 4,
    "mes_example": "<START>\n{{user}}: Hm?\n{{char}}: {{roll:1d20}}!",
    "character_book": {
        "extensions": {},
        "entries": [
            {
                "keys": ["ledger"],
                "content": "The ledger is blue.",
                "enabled": True,
                "insertion_order": 1,
                "extensions": {},
            }
        ],
    },
    "extensions": {
        "regex_scripts": [
            {
                "scriptName": "loud",
                "findRegex": "/soft/g",
                "replaceString": "LOUD",
                "placement": [1, 2],
                "promptOnly": True,
            }
        ]
    },
}
RISU = {
    "description": "{{char}} rolls {{roll::20}}.{{setvar::mood::grim}} Mood {{getvar::mood}}.",
    "extensions": {"risuai": {"defaultVariables": "mood=calm"}},
}
PROMPT = {"identifier": "main", "content": "Tell of {{char}}.{{setvar::turns::{{lastMessageId}}}} {{pick::a::b::c}}"}


THINKING = "She wants to leave, and does not say so."
LONG = "A sentence that is long enough to be kept by its hash, and not where it stands, in every prompt."
REPLIES = [f"A soft reply, number {number}: the harbour waits." for number in range(120)]


async def _lore(story: PromptStory) -> None:
    book, _ = await import_lorebook(story.runtime, story.viewer, json.dumps(WORLD).encode(), name="Coast")
    await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, user_id=story.user_id))


async def _preset(story: PromptStory) -> None:
    row = await create_preset(
        story.runtime, story.viewer, NewPreset(kind="chat", name="Own", data={"prompts": [PROMPT], "temperature": 0.5})
    )
    await story.columns(Space, story.space_id, preset_id=row.id)


async def _follow(story: PromptStory) -> None:
    new = NewProfile(name="World", content=profile(THOUGHT, DICE, counting()))
    made = (await create_profile(story.runtime, story.viewer, new))[0]
    await choose_profile(story.runtime, story.viewer, Choose(conversation_id=story.conversation_id, profile_id=made.id))


async def _change_everything(story: PromptStory) -> None:
    """Edit all that the prompts were made of, and remove what can be removed."""
    async with story.runtime.database.write() as session:
        for card in await session.scalars(select(Character)):
            card.data = {**card.data, "data": {"name": card.name, "description": "Somebody else."}}
        await session.execute(update(LorebookEntry).values(data={"key": ["turn"], "content": "Rewritten."}))
        for book in await session.scalars(select(Lorebook)):
            book.settings_version += 1
        await session.execute(update(Preset).values(data={"prompts": [{"identifier": "main", "content": "New."}]}))
        await session.execute(update(SpaceMembership).values(persona="Nobody."))
        await session.execute(update(Provider).values(context_tokens=4096, model="other"))
    await story.set(world_info={"depth": 0}, prompt={"history_messages": 3}, authors_note={"text": "Note."})
    for row in (await story.rows())[:2]:
        await edit_message(story.runtime, story.viewer, row.id, content="Edited.", revision=row.revision)
    await hide_message(story.runtime, story.viewer, (await story.rows())[-1].id)


async def _runs(story: PromptStory) -> list[UUID]:
    async with story.runtime.database.read() as session:
        return list(await session.scalars(select(PromptSnapshot.run_id).order_by(PromptSnapshot.created_at)))


async def _provider(story: PromptStory) -> Provider:
    async with story.runtime.database.read() as session:
        return (await session.scalars(select(Provider).where(Provider.is_default))).one()


async def _replays(story: PromptStory) -> list[Replay]:
    return [await replay_run(story.runtime, story.viewer, run_id) for run_id in await _runs(story)]


async def _reply(story: PromptStory, name: str, **options: Any) -> Run:
    run = await story.plan(name, **options)
    ended = await story.until(lambda newest: newest.id == run.id and newest.status not in ("queued", "running"))
    assert ended.status == "succeeded", ended.error
    return ended


async def _change_the_rules(story: PromptStory, turn: int) -> None:
    """Every few turns, prompts are made in another way."""
    match turn:
        case 8:
            await _preset(story)
        case 14:
            await story.columns(Space, story.space_id, card_handling_mode="append")
        case 18:
            await _follow(story)
        case 26:
            async with story.runtime.database.write() as session:
                await session.execute(update(Provider).values(kind="openai_text", model="mistral"))
        case 30:
            async with story.runtime.database.write() as session:
                await session.execute(update(Provider).values(kind="openai", model="gpt-4o"))
            await story.set(prompt={"platform": "risuai"})
        case 36:
            branch = await fork(story.runtime, story.viewer, story.conversation_id, (await story.rows())[-3].id)
            story.conversation_id = branch.id


async def test_a_run_is_replayed_with_its_artifacts_and_its_recorded_reply(database_url: str, tmp_path: Path) -> None:
    """On both databases: what is kept there is read back from there."""
    thinking = (
        ThoughtDelta(thought="She is "),
        ThoughtDelta(thought="tired."),
        "A soft ",
        "reply.\nRobin: Oh!",
        "{{x}}",
    )
    async with prompt_story(database_url, tmp_path, thinking, THINKING, thinking, cards={"Ada": CARD}) as story:
        await _lore(story)
        await story.set(llm={"record": True})
        await story.say_as("Robin", "Is the harbour here?")
        first = await story.answered("Ada")
        await _follow(story)
        await story.say_as("Robin", LONG)
        second = await story.answered("Ada")
        said = await story.last_swipe()
        await _change_everything(story)
        replays = [await replay_run(story.runtime, story.viewer, run.id) for run in (first, second)]
        assert all(replay.is_whole for replay in replays), replays
        reply = replays[1].reply
        assert reply is not None
        assert (reply.text, reply.reasoning) == (said.content, "She is tired.")
        files = [write_run(await read_run(story.runtime, story.viewer, run.id)) for run in (first, second)]
        assert await places_of(story.runtime, THINKING) == set()
    assert await replayed(read_run_file(files[0])) == replays[0]
    # A file is not to tell what the model alone was told.
    assert THINKING.encode() not in files[1]
    refused = await refusal_of(replayed(read_run_file(files[1])))
    assert "must not see" in str(refused)


async def test_what_is_not_as_it_was_is_named(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story:
        await story.set(llm={"record": True})
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        kept = await read_run(story.runtime, story.viewer, run.id)
    assert kept.stream is not None
    other = kept.with_(
        turn=kept.turn.with_(tavernkit="0.0.1", extensions=(*kept.turn.extensions, "dice (dice 1.0)"), seed=1),
        stream=kept.stream.with_(reply=kept.stream.reply.with_(text="No.")),
    )
    replay = await replayed(other)
    assert not replay.is_same
    assert replay.difference is not None
    assert replay.difference.place.startswith("messages[")
    assert replay.reasons == (
        f"The prompt was built by TavernKit 0.0.1; this is {__version__}.",
        "The extension dice (dice 1.0) was loaded then, and is not now.",
    )
    assert replay.reply is not None
    assert replay.reply.difference == Difference(place="text:0", kept="No.", rebuilt="Yes.")


async def test_replays_are_for_those_who_may_see_the_prompt(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        refused = await refusal_of(replay_run(story.runtime, await person(story), run.id))
        assert refused.code == "not_found"
        async with story.runtime.database.write() as session:
            await session.execute(delete(PromptInputRecord))
        refused = await refusal_of(replay_run(story.runtime, story.viewer, run.id))
        assert refused.code == "conflict"


async def test_documents_are_kept_once_and_go_with_the_last_prompt_that_names_them(
    database_url: str, tmp_path: Path
) -> None:
    big = {**CARD, "description": "Ada keeps ledgers. " * 20_000}
    async with prompt_story(database_url, tmp_path, *REPLIES, cards={"Ada": big}) as story:
        await story.columns(Provider, (await _provider(story)).id, context_tokens=1_000_000)
        await _lore(story)
        await story.set(llm={"record": True})
        for turn in range(24):
            await story.say_as("Robin", f"{LONG} {turn}")
        await story.answered("Ada")
        sizes = [await _bytes_kept(story)]
        for _turn in range(3):
            await story.say_as("Robin", LONG)
            await story.answered("Ada")
            sizes.append(await _bytes_kept(story))
        growth = [after - before for before, after in pairwise(sizes)]
        assert max(growth) < 6_000, (sizes, growth)
        newest = (await _runs(story))[-1]
        async with story.runtime.database.write() as session:
            await session.execute(delete(PromptSnapshot).where(PromptSnapshot.run_id != newest))
            await note_removed_prompts(session)
        await sweep(story.runtime, asyncio.Event())
        assert (await replay_run(story.runtime, story.viewer, newest)).is_whole
        story.skipped += timedelta(days=8)
        await sweep(story.runtime, asyncio.Event())
        assert (await replay_run(story.runtime, story.viewer, newest)).reply is None
        async with story.runtime.database.write() as session:
            await session.execute(delete(PromptSnapshot))
            await note_removed_prompts(session)
        await sweep(story.runtime, asyncio.Event())
        async with story.runtime.database.read() as session:
            for row in (InputDocument, PromptInputRecord, PromptBlock, ReplyStream):
                assert await session.scalar(select(func.count()).select_from(row)) == 0


async def _bytes_kept(story: PromptStory) -> int:
    async with story.runtime.database.read() as session:
        rows = [
            *await session.scalars(select(InputDocument.content)),
            *await session.scalars(select(PromptInputRecord.content)),
        ]
    return sum(map(len, rows))


async def test_forty_turns_are_replayed_to_the_same_bytes_after_everything_was_edited(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path, *REPLIES, cards={"Ada": CARD, "Zed": CARD}) as story:
        await _lore(story)
        await story.set(authors_note={"text": "Mind the {{random::tide::wind}}.", "interval": 2})
        async with story.working():
            for turn in range(40):
                await _change_the_rules(story, turn)
                await story.say_as("Robin", f"Turn {turn}: is the {('ferry', 'ledger', 'soft lamp')[turn % 3]} here?")
                speaker = ("Ada", "Zed")[turn % 5 == 4]
                await _reply(story, speaker)
                if turn % 4 == 3:
                    await _reply(story, speaker, kind="regenerate", target=(await story.rows())[-1].id)
                if turn % 10 == 7:
                    await _reply(story, speaker, kind="continue", target=(await story.rows())[-1].id)
                if turn % 10 == 5:
                    row = (await story.rows())[-2]
                    text = f"Edited in turn {turn}."
                    await edit_message(story.runtime, story.viewer, row.id, content=text, revision=row.revision)
        before = await _replays(story)
        assert len(before) >= 50
        kept = [await read_prompt(story.runtime, story.viewer, run_id) for run_id in await _runs(story)]
        kinds = {(one.request["kind"], one.report["platform"]) for one in kept}
        await _change_everything(story)
        after = await _replays(story)
    assert [replay.difference for replay in (*before, *after) if not replay.is_same] == []
    assert kinds == {("openai", "sillytavern"), ("openai_text", "sillytavern"), ("openai", "risuai")}
    # A reply that is told anew answers the same prompt.
    assert len({replay.fingerprint for replay in after}) >= 40
