"""Pictures of messages in prompts: in every dialect that can write them, left out with a reason where none can, and
never among what is kept of a prompt."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tavernkit import Attachment
from tavernkit.playground.base.database.models import Blob, MessagePicture, Provider, Space
from tavernkit.playground.base.llm.vision import guess_sight
from tavernkit.playground.story.paths.pictures import PictureIn, set_pictures, upload_picture
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.previews.service import preview_prompt, read_prompt
from tavernkit.playground.story.prompting.inputs import MAX_SENT_PICTURES
from tavernkit.playground.story.prompting.records import OMITTED
from tavernkit.prompt.tokens import attachment_tokens
from tests.playground.characters.builders import picture
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts
from tests.playground.support.prompts import kept_pieces
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio

DOOR = picture("teal")
DATA = b64encode(DOOR).decode()
URL = f"data:image/png;base64,{DATA}"


async def show(story: PromptStory, name: str, content: str, *pictures: bytes, title: str = "") -> None:
    """Somebody shows pictures, and nobody answers."""
    message = await story.say_as(name, content)
    given = [
        await upload_picture(story.runtime, story.viewer, story.conversation_id, one, title=title) for one in pictures
    ]
    async with story.runtime.database.write() as session:
        swipe_id = message.active_swipe_id
        assert swipe_id is not None
        await set_pictures(session, story.runtime, story.viewer, swipe_id, [PictureIn(id=one.id) for one in given])


async def speak(story: PromptStory, **columns: Any) -> None:
    async with story.runtime.database.write() as session:
        await session.execute(update(Provider).values(**columns))


EXPECTED: dict[str, tuple[dict[str, Any], Any]] = {
    "openai": (
        {"kind": "openai", "model": "gpt-4o"},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ),
    "openrouter": (
        {"kind": "openai", "model": "anthropic/claude-sonnet-4", "base_url": "https://openrouter.ai/api/v1"},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ),
    "anthropic": (
        {"kind": "anthropic", "model": "claude-sonnet-4"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    ),
    "google": (
        {"kind": "google", "model": "gemini-2.5-flash"},
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
    ),
    "mistral": (
        {"kind": "openai", "model": "pixtral-12b", "settings": {"dialect": "mistral"}},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ),
    "cohere": (
        {"kind": "openai", "model": "command-a-vision", "settings": {"dialect": "cohere"}},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ),
    "xai": (
        {"kind": "openai", "model": "grok-4", "settings": {"dialect": "xai"}},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ),
}


@pytest.mark.parametrize("dialect", EXPECTED)
async def test_a_picture_is_sent_in_the_dialect_of_the_model(sqlite_url: str, tmp_path: Path, dialect: str) -> None:
    columns, part = EXPECTED[dialect]
    async with prompt_story(sqlite_url, tmp_path) as story:
        await speak(story, **columns)
        await show(story, "Robin", "What is this?", DOOR)
        prompt = await story.prompt("Ada")
    parts = found_parts({"messages": prompt.request.messages, "prompt": prompt.request.prompt}, part.keys())
    assert part in parts
    assert prompt.inputs.pictures.sent == 1


def found_parts(value: Any, keys: Any) -> list[Any]:
    """Every object in a value that has exactly these keys."""
    if isinstance(value, dict):
        own = [value] if value.keys() == keys else []
        return own + [one for item in value.values() for one in found_parts(item, keys)]
    return [one for item in value for one in found_parts(item, keys)] if isinstance(value, list | tuple) else []


async def test_a_model_that_does_not_see_gets_the_words_and_the_report_says_so(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Indeed.") as story:
        await speak(story, model="gpt-3.5-turbo")
        await show(story, "Robin", "What is this?", DOOR)
        await show(story, "Robin", "", DOOR, title="A teal door")
        prompt = await story.prompt("Ada")
        assert texts(prompt)[-2:] == ["What is this?", "[Picture: A teal door]"]
        run = await story.answered("Ada")
        assert run.debug[OMITTED] == 2
        kept = await read_prompt(story.runtime, story.viewer, run.id)
        sentence = "2 pictures are not sent: gpt-3.5-turbo does not see pictures."
        assert [warning["message"] for warning in kept.report["warnings"] if warning["code"] == OMITTED] == [sentence]
        async with browser(story.runtime, story.user_id) as client:
            chat = (await client.get(f"/conversations/{story.conversation_id}")).text
            assert "2 pictures not sent" in chat
            assert "gpt-3.5-turbo does not see pictures" in chat
            assert sentence in (await client.get(f"/runs/{run.id}")).text
        await speak(story, sees_pictures="yes")
        assert (await story.prompt("Ada")).inputs.pictures.sent == 2


async def test_what_is_kept_of_a_prompt_names_pictures_by_their_hash(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "A door.") as story:
        await show(story, "Robin", "What is this?", DOOR, title="Door")
        run = await story.answered("Ada")
        assert URL in json.dumps(story.model.requests[-1].messages)
        assert DATA not in "".join(await kept_pieces(story.runtime))
        kept = await read_prompt(story.runtime, story.viewer, run.id)
        name = sha256(DOOR).hexdigest()
        placeholder = f"data:image/png;base64,<picture {name}, {len(DOOR)} bytes>"
        assert kept.request["messages"][-1]["content"][1]["image_url"]["url"] == placeholder
        (block,) = [block for block in kept.blocks if block.pictures]
        (one,) = block.pictures
        assert (one.sha256, one.width, one.height, one.title, one.tokens) == (name, 40, 60, "Door", 255)
        assert block.tokens > 255
        preview = await preview_prompt(story.runtime, story.viewer, story.conversation_id)
        assert DATA not in json.dumps(preview.request)
        async with browser(story.runtime, story.user_id) as client:
            for page in (f"/runs/{run.id}", f"/conversations/{story.conversation_id}/preview"):
                text = (await client.get(page)).text
                assert f"/api/v1/blobs/{name}" in text
                assert DATA not in text


async def test_the_newest_pictures_are_sent_and_the_preset_decides_whether_and_how(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        await speak(story, context_tokens=100_000)
        for number in range(MAX_SENT_PICTURES // 10 + 1):
            await show(story, "Robin", f"Look {number}.", *[DOOR] * 10)
        await show(story, "Ada", "I drew it.", DOOR)
        prompt = await story.prompt("Ada")
        assert (prompt.inputs.pictures.sent, dict(prompt.inputs.pictures.omitted)) == (
            MAX_SENT_PICTURES,
            {"limit": 10, "role": 1},
        )
        shown = [message["content"][0]["text"] for message in prompt.request.messages if len(message["content"]) == 11]
        assert [text for text in shown if text.startswith("Look")] == ["Look 1.", "Look 2."]
        for data, detail in (({"inline_image_quality": "low"}, "low"), ({"media_inlining": False}, None)):
            new = NewPreset(kind="chat", name=f"{data}", data=data)
            row = await create_preset(story.runtime, story.viewer, new)
            await story.columns(Space, story.space_id, preset_id=row.id)
            parts = found_parts(list((await story.prompt("Ada")).request.messages), {"url", "detail"})
            assert {part["detail"] for part in parts} == ({detail} if detail else set())


def test_a_picture_costs_what_openai_says() -> None:
    sizes = {(1024, 1024): 765, (2048, 4096): 1105, (512, 512): 255, (40, 60): 255}
    assert {size: attachment_tokens(Attachment(width=size[0], height=size[1])) for size in sizes} == sizes
    assert attachment_tokens(Attachment(width=4096, height=8192, detail="low")) == 85


def test_models_that_see_are_known_by_their_names() -> None:
    seeing = (
        "gpt-4o-mini", "gpt-5", "o3", "claude-3-5-haiku-latest", "claude-opus-4-1", "models/gemini-2.0-flash",
        "gemma3:4b", "llava:13b", "qwen2.5-vl-72b-instruct", "meta-llama/llama-4-scout", "pixtral-large-latest",
        "x-ai/grok-4", "llama3.2-vision", "minicpm-v:8b", "moondream", "glm-4.5v", "google/gemma-3-27b-it",
    )  # fmt: skip
    blind = (
        "gpt-3.5-turbo", "o1-mini", "o3-mini", "claude-2.1", "claude-instant-1", "llama3.1:8b", "mistral-7b-instruct",
        "deepseek-chat", "SmolLM2 135M", "gemma3:1b", "gemini-embedding-001", "qwen2.5-7b", "command-r", "grok-3", "",
    )  # fmt: skip
    assert [name for name in seeing if not guess_sight(name)] == []
    assert [name for name in blind if guess_sight(name)] == []


async def test_a_picture_of_a_swipe_that_is_not_seen_is_not_sent(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        await show(story, "Robin", "What is this?", DOOR)
        async with story.runtime.database.write() as session:
            await session.execute(update(MessagePicture).values(kind="kept"))
        assert (await story.prompt("Ada")).inputs.pictures.sent == 0
        async with story.runtime.database.read() as session:
            assert await session.get(Blob, sha256(DOOR).hexdigest()) is not None
