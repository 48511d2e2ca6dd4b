"""What a program is answered, and what becomes of the run when something is not as it should be."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.accounts.api_keys import revoke_api_key
from tavernkit.playground.base.database.models import ApiKey, Message, Run, SpaceMembership
from tavernkit.playground.base.llm.base import Finished, ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.story.replies.actions import request_stop
from tests.playground.models_api.models_client import ModelsClient, models_client, pieces_of, said
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio

HELLO = said("Hello?")


def text_of(events: list[Any]) -> str:
    deltas = [event["choices"][0]["delta"] for event in events if event != "[DONE]" and event.get("choices")]
    return "".join(delta.get("content", "") for delta in deltas)


async def newest(talk: ModelsClient, status: str) -> Run:
    """The newest run, as soon as there is one that is so."""

    async def is_so() -> bool:
        async with talk.runtime.database.read() as session:
            found = await session.scalar(select(Run.status).order_by(Run.created_at.desc()).limit(1))
        return found == status

    await eventually(is_so)
    return await talk.play.run()


async def test_a_reply_comes_whole(database_url: str, tmp_path: Path) -> None:
    end = Finished(reason="stop", prompt_tokens=70, completion_tokens=3)
    async with models_client(database_url, tmp_path, ScriptedModel(["  Tea is ready. ", end])) as talk:
        reply = await talk.reply(*HELLO, temperature=2, seed=7, tools=[], user="sam", tavernkit=None)
        run = await talk.play.run()
        (choice,) = reply["choices"]
        assert choice["message"] == {"role": "assistant", "content": "Tea is ready.", "refusal": None}
        assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "stop", None)
        assert reply["usage"] == {"prompt_tokens": 70, "completion_tokens": 3, "total_tokens": 73}
        assert (reply["object"], reply["model"]) == ("chat.completion", talk.model)
        assert (reply["id"], reply["created"]) == (f"chatcmpl-{run.id.hex}", int(run.created_at.timestamp()))
        async with talk.runtime.database.read() as session:
            message = await session.get_one(Message, UUID(reply["tavernkit"]["message_id"]))
        assert (message.content, message.run_id) == ("Tea is ready.", run.id)
        assert reply["tavernkit"]["run_id"] == str(run.id)
        assert str(run.speaker_membership_id).startswith(talk.model.rpartition("-")[2])


async def test_texts_may_come_in_parts(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel("Good.")) as talk:
        parts = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}]
        id = (await talk.reply({"role": "user", "content": parts}))["tavernkit"]["conversation_id"]
        assert await talk.told(id) == [("user", "Hello\nthere"), ("assistant", "Good.")]


async def test_a_reply_that_was_cut_says_so(sqlite_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(["Once upon a time.", Finished(reason="length")])
    async with models_client(sqlite_url, tmp_path, model) as talk:
        assert (await talk.reply(*HELLO))["choices"][0]["finish_reason"] == "length"
        events = pieces_of(await talk.ask(*HELLO, stream=True))
        assert events[-2]["choices"][0]["finish_reason"] == "length"


async def test_a_reply_comes_as_it_is_written(database_url: str, tmp_path: Path) -> None:
    text = "  One 😀 two,\nthree. "
    async with models_client(database_url, tmp_path, ScriptedModel(text)) as talk:
        answer = await talk.ask(*HELLO, stream=True)
        assert answer.headers["content-type"].startswith("text/event-stream")
        *events, last, done = pieces_of(answer)
        assert done == "[DONE]"
        assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert text_of(events).strip() == text.strip()
        assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == ({}, "stop")
        assert last["tavernkit"]["conversation_id"] == str(talk.play.conversation_id)
        run = await talk.play.run()
        for event in (*events, last):
            assert (event["object"], event["id"]) == ("chat.completion.chunk", f"chatcmpl-{run.id.hex}")
            assert "usage" not in event


async def test_what_it_used_is_told_at_the_end_if_asked_for(sqlite_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(["Good.", Finished(reason="stop", prompt_tokens=70, completion_tokens=1)])
    async with models_client(sqlite_url, tmp_path, model) as talk:
        *events, used, _ = pieces_of(await talk.ask(*HELLO, stream=True, stream_options={"include_usage": True}))
        assert used["choices"] == []
        assert used["usage"] == {"prompt_tokens": 70, "completion_tokens": 1, "total_tokens": 71}
        assert all(event["usage"] is None for event in events)


async def test_pieces_come_while_the_model_is_still_writing(database_url: str, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with (
        models_client(database_url, tmp_path, ScriptedModel(["One two", more, " three."])) as talk,
        talk.served() as c,
    ):
        body = {"model": talk.model, "messages": HELLO, "stream": True}
        async with asyncio.timeout(HANG_SECONDS), c.stream("POST", "/v1/chat/completions", json=body) as answer:
            heard = ""
            async for line in answer.aiter_lines():
                heard += line
                if " two" in line:
                    more.set()
            assert " three." in heard
            assert heard.endswith("data: [DONE]")


async def test_pieces_that_were_lost_are_made_up_for(database_url: str, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with models_client(database_url, tmp_path, ScriptedModel(["One two", more, " three."])) as talk:
        asking = asyncio.create_task(talk.ask(*HELLO, stream=True))
        run = await newest(talk, "running")
        # A piece from further on, as if some before it had been lost, and one of a run that nobody asked about.
        topic = conversation_topic(run.conversation_id)
        await talk.runtime.bus.publish(topic, {"run": str(run.id), "offset": 7, "text": " three"})
        await talk.runtime.bus.publish(topic, {"run": str(UUID(int=7)), "offset": 0, "text": "Four"})
        await talk.runtime.bus.publish(topic, {"gap": True})
        more.set()
        assert text_of(pieces_of(await asking)) == "One two three."


async def test_a_model_that_is_not_shown_while_writing_gives_one_piece(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel("One two three.")) as talk:
        change = {"settings_version": 0, "settings": {"llm": {"stream": False}}}
        space_id = (await talk.conversation(talk.play.conversation_id)).space_id
        answer = await talk.client.patch(f"/api/v1/spaces/{space_id}/settings", json=change)
        assert answer.status_code == 200, answer.text
        events = pieces_of(await talk.ask(*HELLO, stream=True))
        assert [event["choices"][0]["delta"] for event in events[:-1]][1:] == [{"content": "One two three."}, {}]


async def test_who_received_more_than_was_kept_still_goes_on_there(sqlite_url: str, tmp_path: Path) -> None:
    """The end of a reply in which the model speaks for the person is cut off, but it was streamed."""
    speech = ["Tea?"]
    async with models_client(sqlite_url, tmp_path, ScriptedModel(speech, "Here.")) as talk:
        async with talk.runtime.database.read() as session:
            person = (await session.scalars(select(SpaceMembership).where(SpaceMembership.kind == "human"))).one()
        speech[0] = f"Tea?\n{person.cached_display_name}: Yes, please!"
        events = pieces_of(await talk.ask(*HELLO, stream=True))
        heard, id = text_of(events), events[-2]["tavernkit"]["conversation_id"]
        assert await talk.told(id) == [("user", "Hello?"), ("assistant", "Tea?")]
        assert heard == speech[0]
        assert (await talk.reply(*said("Hello?", heard, "Yes.")))["tavernkit"]["conversation_id"] == id
        assert len(await talk.told(id)) == 4


FAULT = ModelError("The provider has no room. Try again later.", code="unavailable")


async def test_a_model_that_fails_is_told_with_its_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(FAULT)) as talk:
        answer = await talk.ask(*HELLO)
        assert answer.status_code == 502
        assert answer.json()["error"] == {
            "message": str(FAULT), "type": "server_error", "param": None, "code": "unavailable",
        }  # fmt: skip
        assert answer.headers["x-should-retry"] == "false"


async def test_a_model_that_fails_halfway_ends_the_stream_with_an_error(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(["One two", FAULT])) as talk:
        answer = await talk.ask(*HELLO, stream=True)
        *events, last = pieces_of(answer)
        assert (answer.status_code, last["error"]["message"]) == (200, str(FAULT))
        assert "One two".startswith(text_of(events))


async def test_a_reply_that_is_stopped_in_the_application_is_an_error(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(["One", asyncio.Event()])) as talk:
        for stream in (False, True):
            asking = asyncio.create_task(talk.ask(*HELLO, stream=stream))
            run = await newest(talk, "running")
            await request_stop(talk.runtime, talk.play.viewer, run.id)
            answer = await asking
            error = pieces_of(answer)[-1]["error"] if stream else answer.json()["error"]
            assert (error["code"], answer.status_code) == ("stopped", 200 if stream else 499)


async def test_a_reply_that_is_left_out_is_an_error(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        asking = asyncio.create_task(talk.ask(*HELLO))
        run = await newest(talk, "queued")
        async with talk.runtime.database.write() as session:
            await session.execute(update(Run).where(Run.id == run.id).values(status="skipped"))
        answer = await asking
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "skipped")


async def test_a_deleted_conversation_is_an_error(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        asking = asyncio.create_task(talk.ask(*said("Hello?", "Hello.", "Hello!")))
        run = await newest(talk, "queued")
        gone = await talk.client.delete(f"/api/v1/conversations/{run.conversation_id}")
        assert gone.status_code == 204, gone.text
        answer = await asking
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_only_one_at_a_time_may_speak(database_url: str, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with models_client(database_url, tmp_path, ScriptedModel([more, "Good."])) as talk:
        asking = asyncio.create_task(talk.ask(*HELLO))
        run = await newest(talk, "running")
        here = {"conversation_id": str(run.conversation_id)}
        refused = await talk.ask(*said("And?"), tavernkit=here)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "generation_locked")
        assert (await talk.ask(*said("And?"), tavernkit=here, stream=True)).status_code == 409
        more.set()
        assert (await asking).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_when_the_program_goes_away_the_run_is_stopped(database_url: str, tmp_path: Path, stream: bool) -> None:
    model = ScriptedModel(["One two", asyncio.Event()])
    async with models_client(database_url, tmp_path, model) as talk, talk.served() as client:
        body = {"model": talk.model, "messages": HELLO, "stream": stream}
        asking = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        await eventually(lambda: bool(model.requests))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        run = await newest(talk, "canceled")
        assert run.text.strip() in ("", "One two")


async def test_a_run_that_nobody_has_begun_is_taken_back_too(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk, talk.served() as client:
        body = {"model": talk.model, "messages": HELLO}
        asking = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        await newest(talk, "queued")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await newest(talk, "canceled")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_program_whose_key_is_revoked_is_sent_nothing_more_and_the_run_is_stopped(
    database_url: str, tmp_path: Path, stream: bool
) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(["One two", asyncio.Event()])) as talk:
        asking = asyncio.create_task(talk.ask(*HELLO, stream=stream))
        await newest(talk, "running")
        async with talk.runtime.database.read() as session:
            key_id = (await session.scalars(select(ApiKey.id))).one()
        await revoke_api_key(talk.runtime, talk.play.viewer, key_id)
        answer = await asking
        error = pieces_of(answer)[-1]["error"] if stream else answer.json()["error"]
        assert (error["code"], answer.status_code) == ("signed_out", 200 if stream else 401)
        await newest(talk, "canceled")


@pytest.mark.parametrize("stream", [True, False])
async def test_when_the_application_stops_nobody_is_kept_waiting(
    database_url: str, tmp_path: Path, stream: bool
) -> None:
    model = ScriptedModel()
    async with models_client(database_url, tmp_path, model, works=False) as talk:
        asking = asyncio.create_task(talk.ask(*HELLO, stream=stream))
        run = await newest(talk, "queued")
        talk.runtime.stopping.set()
        async with asyncio.timeout(HANG_SECONDS):
            answer = await asking
        error = pieces_of(answer)[-1]["error"] if stream else answer.json()["error"]
        assert (error["code"], answer.status_code) == ("stopping", 200 if stream else 503)
        # The request has asked no model, and the reply is not given up: whoever works next writes it.
        assert model.requests == []
        assert (await talk.play.run()).status == "queued"
        assert (await talk.play.run()).id == run.id
