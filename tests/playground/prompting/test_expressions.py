"""The face beside a reply: named by the reply or the story, told by its words, or asked of the model; and kept."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select

from tavernkit.playground.base.blobs.store import NewBlob, store
from tavernkit.playground.base.database.models import CharacterAsset, MessagePicture
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.prompting.expressions import guessed_emotion, named_emotion
from tests.playground.characters.builders import picture
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio

EMOTIONS = ("joy", "anger", "sadness", "neutral", "smug")


async def with_faces(story: PromptStory, *names: str) -> None:
    blobs = {name: NewBlob.of(picture(size=(20, number + 1))) for number, name in enumerate(names)}
    async with story.runtime.database.write() as session:
        await store(session, blobs.values(), story.runtime.clock())
        session.add_all(
            CharacterAsset(
                id=story.runtime.ids(),
                character_id=story.member("Ada").character_id,
                kind="emotion",
                name=name,
                ext="png",
                sha256=blob.sha256,
            )
            for name, blob in blobs.items()
        )


async def shown(story: PromptStory) -> list[str]:
    """What the faces of all swipes are called, in the order in which they came."""
    async with story.runtime.database.read() as session:
        rows = await session.scalars(
            select(MessagePicture).where(MessagePicture.kind == "expression").order_by(MessagePicture.created_at)
        )
        return [row.title for row in rows]


@pytest.mark.parametrize(
    ("text", "state", "name"),
    [
        ('Hm. <Emotion="anger"> No! <Emotion="Joy">', {}, "joy"),
        ("{{emotion::sadness}} Oh.", {}, "sadness"),
        ("Oh.", {"variables.expression": "Smug"}, "smug"),
        ('<Emotion="unknown"> Oh.', {"variables.emotion": 5}, None),
    ],
)
def test_a_reply_or_a_variable_names_the_emotion(text: str, state: dict[str, Any], name: str | None) -> None:
    assert named_emotion(text, state, EMOTIONS) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("She smiles and laughs.", "joy"),
        ("He glares. “Out!” he shouts, furious.", "anger"),
        ("A smug look.", "smug"),
        ("The lamp is lit.", "neutral"),
    ],
)
def test_words_tell_the_emotion(text: str, name: str) -> None:
    assert guessed_emotion(text, EMOTIONS) == name


@given(st.text(), st.sets(st.text(min_size=1)))
def test_whatever_is_said_only_an_emotion_of_the_character_is_shown(text: str, names: set[str]) -> None:
    assert named_emotion(text, {}, names) in {*names, None}
    assert guessed_emotion(text, names) in {*names, None}


async def test_the_face_is_kept_with_the_swipe_in_branches_and_on_the_page(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "She smiles.", "She frowns, angry.") as story:
        await with_faces(story, "Joy.png", "anger-1", "anger-2")
        await story.say_as("Robin", "Hello.")
        first = await story.answered("Ada")
        assert first.status == "succeeded"
        assert await shown(story) == ["joy"]
        message = (await story.rows())[-1]
        await story.answered("Ada", kind="regenerate", target=message.id)
        assert await shown(story) == ["joy", "anger"]
        async with story.runtime.database.write() as session:
            await session.execute(delete(CharacterAsset))
        branch = await fork(story.runtime, story.viewer, story.conversation_id, message.id)
        async with browser(story.runtime, story.user_id) as client:
            for id in (story.conversation_id, branch.id):
                page = (await client.get(f"/conversations/{id}")).text
                assert 'alt="Ada: anger"' in page
                assert 'alt="Ada: joy"' not in page


async def test_the_model_is_asked_where_the_space_wants_it(sqlite_url: str, tmp_path: Path) -> None:
    refusal = ModelError("Away.", code="unavailable")
    async with prompt_story(sqlite_url, tmp_path, "The lamp is lit.", "Sadness.", "She smiles.", refusal) as story:
        await with_faces(story, "joy", "sadness")
        await story.set(display={"expressions": "model"})
        await story.say_as("Robin", "Hello.")
        await story.answered("Ada")
        assert await shown(story) == ["sadness"]
        asked = story.model.requests[-1].messages
        assert "joy, sadness" in asked[0]["content"]
        assert asked[1]["content"] == "The lamp is lit."
        await story.answered("Ada")
        assert await shown(story) == ["sadness", "joy"]


async def test_nothing_is_shown_where_it_is_off_or_there_are_no_faces(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "She smiles.", "She smiles.") as story:
        await story.say_as("Robin", "Hello.")
        await story.answered("Ada")
        await with_faces(story, "joy")
        await story.set(display={"expressions": "off"})
        await story.answered("Ada")
        assert await shown(story) == []
