"""A provider may have the tokenizer file of its model, and prompts for it are counted with it."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Blob, Provider
from tavernkit.prompt.tokens import default_estimator
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.support.web import api_client, browser
from tests.prompt.tokens.test_tokenizer_file import byte_level_bpe, llama_like

pytestmark = pytest.mark.anyio

BYTES = json.dumps(byte_level_bpe()).encode()
"""Most letters are a token of their own."""


def form(data: bytes) -> dict[str, tuple[str, bytes, str]]:
    return {"file": ("tokenizer.json", data, "application/json")}


async def provider_of(story: PromptStory) -> Provider:
    return (await story.prompt("Ada")).inputs.provider


async def test_prompts_are_counted_with_the_tokenizer_of_the_provider(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        await story.say_as("Robin", "abcdefghij " * 200)
        before = (await story.prompt("Ada")).plan.trim_report
        path = f"/providers/{(await provider_of(story)).id}/tokenizer"
        made = await client.put(path, files=form(BYTES))
        assert made.json()["has_tokenizer"] is True, made.text
        prompt = await story.prompt("Ada")
        after = prompt.plan.trim_report
        assert before is not None
        assert after is not None
        assert after.final_tokens > 1.5 * before.final_tokens
        assert prompt.inputs.estimator.estimate("hello", prompt.inputs.provider.model) == 1
        # The same file is loaded once.
        assert (await story.prompt("Ada")).inputs.estimator is prompt.inputs.estimator
        assert (await client.put(path, files=form(json.dumps(llama_like()).encode()))).status_code == 200
        async with story.runtime.database.read() as session:
            assert len((await session.scalars(select(Blob.sha256).join(Provider))).all()) == 1
        assert (await client.delete(path)).json()["has_tokenizer"] is False
        assert (await story.prompt("Ada")).inputs.estimator is default_estimator()
        async with story.runtime.database.read() as session:
            sizes = (await session.scalars(select(Blob.size))).all()
        assert len(BYTES) not in sizes


async def test_what_is_no_tokenizer_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    empty = json.dumps({**byte_level_bpe(), "model": {"type": "BPE", "vocab": {}, "merges": []}}).encode()
    async with prompt_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        path = f"/providers/{(await provider_of(story)).id}/tokenizer"
        for data in (b"{", b"[]", b'{"model": 1}', empty):
            refused = await client.put(path, files=form(data))
            assert refused.status_code == 422
            assert "This tokenizer.json cannot be used" in refused.json()["error"]["sentence"]
        assert (await provider_of(story)).tokenizer_sha256 is None


async def test_the_page_of_a_model_takes_a_tokenizer_and_forgets_it(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        page = f"/models/{(await provider_of(story)).id}"
        assert "Tokens are counted with o200k_base, the model&#39;s own tokenizer." in (await client.get(page)).text
        refused = await client.post(f"{page}/tokenizer", files=form(b"{"))
        assert refused.status_code == 422
        assert "This tokenizer.json cannot be used" in refused.text
        assert (await client.post(f"{page}/tokenizer", files=form(BYTES))).status_code == 303
        assert "Tokens are counted with this model&#39;s tokenizer file." in (await client.get(page)).text
        assert (await client.post(f"{page}/tokenizer/remove")).status_code == 303
        assert "the model&#39;s own tokenizer" in (await client.get(page)).text
