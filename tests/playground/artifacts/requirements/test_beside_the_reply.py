"""The reply is a text; what pipelines make stands beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tavernkit.dialects import NOTE_LABEL
from tavernkit.playground.base.database.models import MessageSwipe, Provider
from tavernkit.playground.base.llm.base import ThoughtDelta
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.artifacts.service import list_artifacts
from tavernkit.playground.story.prompting.inputs import REASONING
from tests.playground.artifacts.requirements.watching import heard, listening, thought, told
from tests.playground.pipelines.profile_story import ProfileStory, counting, profile, profile_story

pytestmark = pytest.mark.anyio


def in_the_chat(**fields: Any) -> dict[str, Any]:
    """A step behind each reply that puts a line into the chat, for people."""
    artifact = {"tag": "applause", "visibility": "ui_only", "uiSurface": "chat_history", **fields}
    return {"id": "clap", "kind": "template", "hook": "after", "template": "Applause.", "artifacts": [artifact]}


async def applause(play: ProfileStory) -> tuple[str | None, object]:
    view = await list_artifacts(play.runtime, play.viewer, play.conversation_id)
    return str(view["applause"].artifact.surface), view["applause"].value


@pytest.mark.parametrize("visibility", ["ui_only", "prompt_and_ui"])
async def test_r2_the_prompt_is_made_of_what_was_said_and_not_of_what_stands_in_the_chat(
    database_url: str, tmp_path: Path, visibility: str
) -> None:
    model = ScriptedModel("The lamp is lit.")
    content = profile(in_the_chat(visibility=visibility))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        await play.turn("Is anybody there?")
        assert await applause(play) == ("chat_history", "Applause.")
        assert await play.messages() == [("user", "Is anybody there?"), ("assistant", "The lamp is lit.")]
        await play.turn("And now?")
        assert told(model)[-3:] == ["Is anybody there?", "The lamp is lit.", "And now?"]
        assert not [text for text in told(model) if "Applause" in text]


async def test_r20_only_text_streams_and_what_stands_beside_it_comes_when_it_has_ended(
    database_url: str, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(("The lamp is lit,", gate, " and nobody is there."))
    async with profile_story(database_url, tmp_path, model, profile(in_the_chat())) as play, listening(play) as news:
        async with play.working():
            await play.say()
            await play.until(lambda run: play.runtime.live_text.get(run.id) == "The lamp is lit,")
            gate.set()
            await play.until(lambda run: run.status == "succeeded")
        items = await heard(play, news)
    pieces = [place for place, item in enumerate(items) if "text" in item]
    updated = [place for place, item in enumerate(items) if item.get("pipeline", {}).get("type") == "artifact.updated"]
    assert len(pieces) > 1, "it came as a whole"
    assert "".join(items[place]["text"] for place in pieces) == "The lamp is lit, and nobody is there."
    assert all(set(items[place]) == {"run", "offset", "text"} for place in pieces)
    assert updated
    assert max(pieces) < min(updated)


async def test_r21_each_artifact_is_told_once_and_whole(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    content = profile(in_the_chat(), counting())
    async with profile_story(database_url, tmp_path, model, content) as play, listening(play) as news:
        async with play.working():
            await play.turn()
        items = await heard(play, news)
    updated = [item["pipeline"]["data"] for item in items if item.get("pipeline", {}).get("type") == "artifact.updated"]
    assert sorted((data["tag"], data["version"], data["content"]) for data in updated) == [
        ("applause", 1, "Applause."),
        ("count", 1, 1),
    ]


async def test_r22_what_the_model_thinks_is_kept_for_people_and_never_told_again(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel((ThoughtDelta(thought="She hides the key."), "Sit down."))
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        await play.turn()
        assert await play.messages() == [("user", "Hello?"), ("assistant", "Sit down.")]
        async with play.runtime.database.read() as session:
            kept = [swipe.metadata_ for swipe in await session.scalars(select(MessageSwipe))]
        assert [metadata[REASONING] for metadata in kept if REASONING in metadata] == ["She hides the key."]
        await play.turn("And now?")
        assert not [text for text in told(model) if "key" in text]


async def test_g9_a_note_keeps_its_place_in_what_is_sent(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("She is tired.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(thought())) as play, play.working():
        await play.turn("May I?")
        sent = [(message["role"], message["content"]) for message in model.requests[-1].messages]
        assert sent[-2:] == [("user", "May I?"), ("system", "She is tired.")]


async def test_g9_a_note_is_labelled_where_the_provider_knows_none_and_goes_no_further_up(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("She is tired.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(thought())) as play:
        async with play.runtime.database.write() as session:
            for provider in await session.scalars(select(Provider)):
                provider.kind, provider.model = "anthropic", "scripted"
        async with play.working():
            await play.turn("May I?")
        prompt = model.requests[-1].prompt
        assert isinstance(prompt, dict)
        assert "tired" not in str(prompt["system"])
        last = prompt["messages"][-1]
        assert last["role"] == "user"
        texts = "\n".join(part["text"] for part in last["content"])
        assert texts.index("May I?") < texts.index(NOTE_LABEL) < texts.index("She is tired.")
