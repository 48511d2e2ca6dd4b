"""Where every character of a prompt comes from is kept with it, and told of the next one."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import LorebookEntry, Space
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.previews.explanations import preview_explanation, read_explained, read_explanation
from tavernkit.playground.story.previews.service import read_prompt
from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.prompts import make_older
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

CARD = {"description": "{{char}} paints.\x00\ud800 And {{user}} watches."}


async def test_the_sources_of_a_prompt_that_was_sent_are_read_back(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        explanation = await read_explanation(story.runtime, story.viewer, run.id)
        (request,) = story.model.requests
    # The model gets no halves of characters, but the explanation knows them.
    told = [message.content.replace("\x00", "").replace("\ud800", "\ufffd") for message in explanation.messages]
    assert told == [message["content"] for message in request.messages]
    spans = [(span.text, str(span.source)) for message in explanation.messages for span in message.spans]
    assert ("Ada", "{{char}} in description of Ada") in [
        (text, source.partition(", through")[0]) for text, source in spans
    ]
    assert any("\x00\ud800" in text for text, _ in spans)
    assert ("Hello?", "message 0") in spans
    assert explanation.coverage.share == 1
    for message in explanation.messages:
        assert "".join(span.text for span in message.spans) == message.content


async def test_a_prompt_that_an_earlier_version_has_kept_opens_and_is_told_by_its_blocks(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(
        database_url, tmp_path, "Yes.", cards={"Ada": {"description": "Ada paints. " * 20}}
    ) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        before = await read_prompt(story.runtime, story.viewer, run.id)
        await make_older(story.runtime, run.id)
        assert await read_prompt(story.runtime, story.viewer, run.id) == before
        explanation = await read_explanation(story.runtime, story.viewer, run.id)
    assert [message.content for message in explanation.messages] == [block.content for block in before.blocks]
    assert str(explanation.messages[-1].spans[0].source) == "block message:0 of the stage history"


async def test_the_explanation_of_a_prompt_is_for_those_who_see_the_prompt(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        stranger = await person(story)
        for refused in (
            await refusal_of(read_explanation(story.runtime, stranger, run.id)),
            await refusal_of(preview_explanation(story.runtime, stranger, story.conversation_id)),
        ):
            assert refused.code == "not_found"


async def test_programs_get_the_sources_of_a_sent_prompt_and_of_the_next(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        async with api_client(story.runtime, story.user_id) as client:
            sent = (await client.get(f"/runs/{run.id}/explanation")).json()
            following = await client.post(f"/conversations/{story.conversation_id}/preview/explanation", json={})
    for document in (sent, following.json()):
        for message in document["messages"]:
            assert "".join(span["text"] for span in message["spans"]) == message["content"]
    assert sent["messages"][-1]["spans"] == [{"text": "Hello?", "source": {"kind": "history", "message": 0}}]
    assert "Yes." in json.dumps(following.json())


SCRIPT = {"scriptName": "Loud", "findRegex": "/hello/g", "replaceString": "HELLO", "placement": [1], "promptOnly": True}


@pytest.mark.parametrize("platform", ["sillytavern", "risuai"])
async def test_each_source_is_linked_to_the_page_that_changes_it(
    sqlite_url: str, tmp_path: Path, platform: str
) -> None:
    own = {"name": "Mine", "entries": [{"keys": ["sea"], "content": "The card knows the sea.", "insertion_order": 1}]}
    card = {"description": "{{char}} paints.", "character_book": own, "extensions": {"regex_scripts": [SCRIPT]}}
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": card}) as story:
        entries = {"7": {"uid": 7, "key": ["harbour"], "content": "The harbour is old.", "comment": "Harbour"}}
        file = json.dumps({"entries": {"3": {"uid": 3, "key": ["x"], "content": "X."}, **entries}}).encode()
        book, _ = await import_lorebook(story.runtime, story.viewer, file, name="Coast")
        await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, user_id=story.user_id))
        prompts = [{"identifier": "main", "name": "Main", "content": "Write as {{char}}."}]
        preset = await create_preset(
            story.runtime, story.viewer, NewPreset(kind="chat", name="Mine", data={"prompts": prompts})
        )
        if platform == "sillytavern":
            await story.columns(Space, story.space_id, preset_id=preset.id)
        await story.set(prompt={"platform": platform}, authors_note={"text": "Slowly."})
        said = await story.say_as("Robin", "hello at the harbour, by the sea")
        run = await story.answered("Ada")
        async with api_client(story.runtime, story.user_id) as client:
            explained = (await client.get(f"/runs/{run.id}/explanation")).json()
            preview = (await client.post(f"/conversations/{story.conversation_id}/preview/explanation", json={})).json()
        async with story.runtime.database.read() as session:
            entry_id = await session.scalar(select(LorebookEntry.id).where(LorebookEntry.uid == 7))
        member = story.member("Ada")
        addresses = {link["url"] for link in explained["links"]}
        assert addresses <= {link["url"] for link in preview["links"]}
        async with browser(story.runtime, story.user_id) as client:
            for address in addresses:
                assert (await client.get(address.partition("#")[0])).status_code == 200, address
        expected = {
            f"/characters/{member.character_id}/edit#description",
            f"/lorebooks/{book.id}/entries/{entry_id}",
            f"/characters/{member.character_id}/lorebook",
            f"/conversations/{story.conversation_id}?message={said.id}#message_{said.id}",
            f"/conversations/{story.conversation_id}/panel/prompt",
        }
        if platform == "sillytavern":
            expected |= {
                f"/presets/{preset.id}/prompts/edit?identifier=main",
                f"/scripts/character/{member.character_id}/sillytavern/0",
            }
        assert expected <= addresses
        by_kind = {link["kind"]: link for link in explained["links"]}
        assert (by_kind["lorebook"]["uid"], by_kind["lorebook"]["may_change"]) == ("7", True)
        assert by_kind["message"]["message_id"] == str(said.id)
        assert by_kind["message"]["swipe_id"] == str(said.active_swipe_id)
        # Another member sees the same sources, and no way into what is not shared with them.
        guest = await person(story)
        await story.columns(Space, story.space_id, kind="discussion")
        await add_member(story.runtime, story.viewer, story.space_id, user_id=guest.user_id)
        theirs = await read_explained(story.runtime, guest, run.id)
        assert {link.kind for link in theirs.links} == {"message", "injections"}
