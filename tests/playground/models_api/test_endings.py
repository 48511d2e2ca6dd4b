"""What a program may end its messages with, and what it may ask of the reply."""

from pathlib import Path

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.models_api.models_client import models_client, pieces_of, said
from tests.playground.models_api.test_completing import text_of

pytestmark = pytest.mark.anyio

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {}}]}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_assistant_message_at_the_end_is_continued_and_only_what_is_new_is_answered(
    database_url: str, tmp_path: Path, stream: bool
) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel("hot, with milk.", "Yes.")) as talk:
        answer = await talk.ask(*said("How is the tea?", "The tea is"), stream=stream)
        assert answer.status_code == 200, answer.text
        new = text_of(pieces_of(answer)) if stream else answer.json()["choices"][0]["message"]["content"]
        assert new.strip() == "hot, with milk."
        (id, *_) = reversed(await talk.conversations())
        assert await talk.told(id) == [("user", "How is the tea?"), ("assistant", "The tea is hot, with milk.")]
        # Whoever puts both together goes on in the same story.
        again = await talk.reply(*said("How is the tea?", "The tea is" + new, "For me?"))
        assert again["tavernkit"]["conversation_id"] == str(id)


async def test_a_named_conversation_goes_on_only_with_the_reply_that_it_ends_with(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel("The tea is", "hot.")) as talk:
        place = {"conversation_id": (await talk.reply(*said("How is the tea?")))["tavernkit"]["conversation_id"]}
        other = await talk.ask({"role": "assistant", "content": "The soup is"}, tavernkit=place)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
        await talk.reply({"role": "assistant", "content": "The tea is"}, tavernkit=place)
        assert (await talk.told(place["conversation_id"]))[-1] == ("assistant", "The tea is hot.")


@pytest.mark.parametrize("role", ["system", "developer"])
async def test_a_system_message_at_the_end_is_an_instruction_for_the_next_reply(
    database_url: str, tmp_path: Path, role: str
) -> None:
    model = ScriptedModel("Good night.")
    async with models_client(database_url, tmp_path, model) as talk:
        reply = await talk.reply(*said("Hello?"), {"role": role, "content": "It is late."})
        assert reply["choices"][0]["message"]["content"] == "Good night."
        told = await talk.told(reply["tavernkit"]["conversation_id"])
        assert told == [("user", "Hello?"), ("system", "It is late."), ("assistant", "Good night.")]
        assert "It is late." in str(model.requests[-1].messages)


async def test_calls_of_tools_and_their_results_are_left_out(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel("Warm.")) as talk:
        result = {"role": "tool", "tool_call_id": "1", "content": "21 degrees"}
        reply = await talk.reply(*said("How warm is it?"), CALL, result)
        told = await talk.told(reply["tavernkit"]["conversation_id"])
        assert told == [("user", "How warm is it?"), ("assistant", "Warm.")]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_max_tokens_and_stop_reach_the_model_and_end_the_reply(
    database_url: str, tmp_path: Path, name: str
) -> None:
    model = ScriptedModel("One. END two.")
    async with models_client(database_url, tmp_path, model) as talk:
        reply = await talk.reply(*said("Count."), stop=["END", "HALT"], **{name: 7})
        assert reply["choices"][0]["message"]["content"] == "One."
        assert model.requests[-1].max_tokens == 7
        assert model.requests[-1].stop[:2] == ("END", "HALT")
        await talk.reply(*said("Count!"), stop="HALT", **{name: 1_000_000})
        # Never longer than the story lets it.
        assert 7 < (model.requests[-1].max_tokens or 0) < 1_000_000
        assert model.requests[-1].stop[0] == "HALT"
        await talk.reply(*said("Again."), stop=None, n=1)
        assert "HALT" not in model.requests[-1].stop


async def test_what_cannot_be_done_for_a_reply_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(), works=False) as talk:
        for field, value in (("n", 2), ("max_tokens", 0), ("stop", ["a", "b", "c", "d", "e"]), ("stop", 7)):
            answer = await talk.ask(*said("Hm?"), **{field: value})
            assert answer.status_code == 400
            assert answer.json()["error"]["param"].startswith(field)
        assert "Only one reply per request" in (await talk.ask(*said("Hm?"), n=2)).json()["error"]["message"]
