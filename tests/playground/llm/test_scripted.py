"""The scripted model says what it is told to."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.llm.base import Finished, ModelClient, ModelError, TextDelta
from tavernkit.playground.base.llm.scripted import ScriptedModel, canned_reply, split_words
from tests.playground.llm.asking import ask, question
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio


@given(st.text())
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text
    assert all(split_words(text))


async def test_replies_come_in_order_and_the_last_one_stays() -> None:
    model: ModelClient = ScriptedModel("First.", "And second.")
    assert [(await ask(model, "Go on"))[0] for _ in range(3)] == ["First.", "And second.", "And second."]
    await model.aclose()


async def test_a_reply_is_streamed_by_words() -> None:
    events = [event async for event in ScriptedModel("The tide comes.").stream(question("?"))]
    assert events == [
        TextDelta(text="The"),
        TextDelta(text=" tide"),
        TextDelta(text=" comes."),
        Finished(reason="stop", completion_tokens=3),
    ]


async def test_without_a_script_it_quotes_the_last_user_message() -> None:
    text, _ = await ask(ScriptedModel(), "Is there tea?")
    assert text == canned_reply("Is there tea?")
    assert '"Is there tea?," she repeats' in text


async def test_it_remembers_what_it_was_asked() -> None:
    model = ScriptedModel("Yes.")
    asked = question("Is there tea?", temperature=0.5)
    await ask(model, asked)
    assert model.requests == [asked]


async def test_an_error_is_raised_after_what_came_before_it() -> None:
    model = ScriptedModel(["Once upon", ModelError("It broke.", code="connection_error")], "Better.")
    events = model.stream(question("?"))
    assert [await anext(events), await anext(events)] == [TextDelta(text="Once"), TextDelta(text=" upon")]
    with pytest.raises(ModelError, match=r"It broke\."):
        await anext(events)
    assert (await ask(model, "Again?"))[0] == "Better."


async def test_it_holds_until_it_is_let_go() -> None:
    held = asyncio.Event()
    asking = asyncio.create_task(ask(ScriptedModel(["Wait", held, " for it."]), "?"))
    assert not await is_done_soon(asking)
    held.set()
    assert (await asking)[0] == "Wait for it."


async def test_a_reply_may_end_for_another_reason() -> None:
    assert (await ask(ScriptedModel(["Cut", Finished(reason="length")]), "?"))[1] == Finished(reason="length")


async def test_words_take_their_time() -> None:
    asking = asyncio.create_task(ask(ScriptedModel("one two three", delay=HANG_SECONDS), "?"))
    assert not await is_done_soon(asking)
    asking.cancel()


async def is_done_soon(task: asyncio.Task[Any]) -> bool:
    """Whether a task ends that waits for nothing: it would after a few turns of the loop."""
    for _ in range(20):
        await asyncio.sleep(0)
    return task.done()
