"""Prompts of a long story share most of what is kept of them."""

import json
import random
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import LargeBinary, cast, func, select

from tavernkit.playground.base.database.models import PromptPiece, PromptSnapshot, Provider, Run
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.inputs import load_inputs
from tavernkit.playground.story.prompting.records import document_of, explanation_of, keep_prompt, record_of
from tests.playground.prompting.prompt_story import PromptStory, prompt_story

pytestmark = pytest.mark.anyio

SYLLABLES = [first + second for first in ("ba", "do", "ki", "lu", "me", "na", "ro", "se") for second in "lnrst"]
CHANCE = random.Random(26)
WORDS = ["".join(CHANCE.choices(SYLLABLES, k=CHANCE.randint(1, 3))) for _ in range(4000)]
PLACES = [f"Harbour{number}" for number in range(40)]

TURNS = 30
STORY = 1000


def prose(chance: random.Random, words: int) -> str:
    """Sentences, one of which may name a place of the lorebook."""
    text = " ".join(chance.choices(WORDS, k=words)).capitalize()
    return f"{text} {chance.choice(PLACES)}." if chance.random() < 0.3 else f"{text}."


async def long_story(story: PromptStory, chance: random.Random, kind: str) -> None:
    """Fill the window: a preset's prompts, a card, lore that comes and goes, a note at a depth, and many messages."""
    entries = {
        str(uid): {"uid": uid, "key": [place], "content": prose(chance, 80), "comment": place}
        for uid, place in enumerate(PLACES)
    }
    book, _ = await import_lorebook(
        story.runtime, story.viewer, json.dumps({"entries": entries}).encode(), name="Coast"
    )
    await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, user_id=story.user_id))
    await story.set(authors_note={"text": prose(chance, 30)})
    async with story.runtime.database.write() as session:
        for provider in await session.scalars(select(Provider)):
            provider.kind, provider.context_tokens, provider.response_tokens = kind, 8192, 400
    for _ in range(70):
        await turn(story, chance)


async def turn(story: PromptStory, chance: random.Random) -> None:
    await story.say_as("Robin", prose(chance, 40))
    await story.say_as("Ada", prose(chance, 90))


@pytest.mark.parametrize("kind", ["openai", "openai_text"])
async def test_a_thousand_prompts_of_a_long_story_share_most_of_their_bytes(
    sqlite_url: str, tmp_path: Path, kind: str
) -> None:
    chance = random.Random(7)
    card = {"description": prose(chance, 500), "personality": prose(chance, 60), "scenario": prose(chance, 60)}
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": card}) as story:
        await long_story(story, chance, kind)
        whole: list[int] = []
        kept: list[int] = []
        for _ in range(TURNS):
            await turn(story, chance)
            run = await story.plan("Ada")
            async with story.runtime.database.write() as session:
                prompt = build_prompt(await load_inputs(session, run.id, story.runtime.clock()), is_traced=True)
                await keep_prompt(session, run.id, record_of(prompt), story.runtime.clock())
            await story.columns(Run, run.id, status="skipped")
            document = msgspec.to_builtins(document_of(prompt)) | {"explanation": explanation_of(prompt).to_dict()}
            whole.append(len(json.dumps(document, ensure_ascii=False).encode()))
            kept.append(await kept_bytes(story))
        tokens = sum(block["tokens"] for block in document["blocks"])
    assert 6500 < tokens < 8192
    # The first prompt has all pieces, each further one only what is new in it.
    each = (kept[-1] - kept[0]) / (TURNS - 1)
    assert kept[0] + (STORY - 1) * each < 0.06 * STORY * sum(whole) / TURNS


async def kept_bytes(story: PromptStory) -> int:
    """All that the rows of kept prompts hold."""
    columns = [column for row in (PromptPiece, PromptSnapshot) for column in row.__table__.columns]
    sizes = [func.coalesce(func.sum(func.length(cast(column, LargeBinary))), 0) for column in columns]
    async with story.runtime.database.read() as session:
        return sum([await session.scalar(select(size)) or 0 for size in sizes])
