"""A model that says what it is told to: for tests and demonstrations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from typing import TypeAlias

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.values import Json

Step: TypeAlias = str | ThoughtDelta | asyncio.Event | ModelError | Finished
"""Text is streamed word by word, a thought is passed on, an Event is waited for, an error is raised, a Finished ends
the reply."""

Reply: TypeAlias = Step | Sequence[Step]


class ScriptedModel:
    """A ModelClient that gives the replies in order, and the last one again and again; `requests` is what it was asked.

    Without replies it gives the canned one. `delay` is in seconds, before each word.
    """

    def __init__(self, *replies: Reply, delay: float = 0) -> None:
        self._replies = replies
        self._delay = delay
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        words = 0
        for step in self._steps(request):
            match step:
                case asyncio.Event():
                    await step.wait()
                case ModelError():
                    raise step
                case ThoughtDelta():
                    yield step
                case Finished():
                    yield step
                    return
                case _:
                    for word in split_words(step):
                        await asyncio.sleep(self._delay)
                        yield TextDelta(text=word)
                        words += 1
        yield Finished(reason="stop", completion_tokens=words)

    async def list_models(self) -> tuple[str, ...]:
        return ("scripted",)

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _steps(self, request: ChatRequest) -> Sequence[Step]:
        if not self._replies:
            return (canned_reply(last_user_message(request.messages)),)
        reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        return (reply,) if isinstance(reply, Step) else reply


def split_words(text: str) -> list[str]:
    """The words of a text, each with the space before it; joined, they are the text."""
    return re.findall(r"\s*\S+|\s+", text)


def last_user_message(messages: Sequence[Json]) -> str:
    """The text of the last message with the role `user`, whole or in parts; empty when there is none."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content", message.get("parts"))
            parts = content if isinstance(content, list) else [{"text": content}]
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return "\n".join(text for text in texts if isinstance(text, str))
    return ""


def canned_reply(message: str) -> str:
    """A pleasant paragraph that quotes what was said."""
    quote = " ".join(message.split())
    opening = (
        f'"{quote}," she repeats, as if to taste the words.' if quote else "She waits, and the silence is friendly."
    )
    return (
        f"{opening} Outside, the rain has stopped, and the lamp draws a warm circle on the table. "
        "*She pours two cups of tea and pushes one across.* Take your time. The evening is long, and so is the story."
    )
