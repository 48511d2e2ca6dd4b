"""One TavernKit as the model of another: our own client, and the server as a process."""

from pathlib import Path

import httpx2
import pytest

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError, TextDelta
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient
from tests.playground.models_api.models_client import said
from tests.playground.support.server import ScriptedModel, ServerProcess, running

pytestmark = pytest.mark.anyio


async def heard(client: OpenAIClient, model: str, *texts: str) -> tuple[str, Finished]:
    request = ChatRequest(model=model, messages=tuple(said(*texts)), max_tokens=50, attempts=1)
    *pieces, finished = [event async for event in client.stream(request)]
    assert isinstance(finished, Finished)
    assert all(isinstance(piece, TextDelta) for piece in pieces)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), finished


async def test_our_own_client_talks_to_a_character(scripted_model: ScriptedModel, tmp_path: Path) -> None:
    with running(ServerProcess(tmp_path, model_url=scripted_model.base_url)) as server:
        origin = {"Origin": server.url}
        made = httpx2.post(f"{server.url}/api/v1/api_keys", json={"name": "it"}, headers=origin, trust_env=False)
        client = OpenAIClient(f"{server.url}/v1", api_key=made.json()["key"])
        try:
            model = next(name for name in await client.list_models() if name.startswith("ottoline-"))
            text, finished = await heard(client, model, "[[say:The kettle sings.]]")
            assert (text, finished.reason) == ("The kettle sings.", "stop")
            assert finished.completion_tokens == 3
            again, _ = await heard(client, model, "[[say:The kettle sings.]]", text, "[[say:Still.]]")
            assert again == "Still."
            with pytest.raises(ModelError, match="model"):
                await heard(client, "nobody-00000000", "Hm?")
            with pytest.raises(ModelError) as failed:
                await heard(client, model, "[[error:400]]")
            assert str(failed.value)
        finally:
            await client.aclose()
        read = httpx2.Client(
            base_url=f"{server.url}/api/v1",
            headers={"Authorization": f"Bearer {made.json()['key']}"},
            trust_env=False,
        )
        with read:
            said_by_people = [
                sum(message["role"] == "user" for message in messages)
                for space in read.get("/spaces").json()["items"]
                for conversation in read.get(f"/spaces/{space['id']}/conversations").json()["items"]
                for messages in [read.get(f"/conversations/{conversation['id']}/messages").json()["items"]]
            ]
        # Two turns in one conversation, the failed one in its own; nobody has said anything in the sample story.
        assert sorted(said_by_people) == [0, 1, 2]
