"""What a step has around it while it works: values for templates, a model to ask, and nothing of other steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TypeVar, TypeVarTuple

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.model import (
    ModelCall,
    ModelRequest,
    ModelUsage,
    StepFunctionCall,
    StepFunctions,
    ask_counted,
)
from tavernkit.errors import StepFailed
from tavernkit.prompt.message import Message

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

# Few, and no others' threads: a profile with very many costly steps keeps other steps waiting and nobody else.
_workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="steps")


async def in_thread(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """What the work comes to. Who is cancelled while waiting for it leaves it to end by itself, as its limits say."""
    return await asyncio.get_running_loop().run_in_executor(_workers, work, *arguments)


class StepScope:
    """`input` and `usage` are filled in by the step's work: what it was worked out from, and what it has cost, beside
    what it has cost `before`, when it was interrupted."""

    def __init__(
        self,
        *,
        run_id: str,
        step: str,
        values: Mapping[str, object],
        now: datetime,
        random: Callable[[], float],
        call: ModelCall,
        functions: StepFunctions,
        before: ModelUsage,
    ) -> None:
        self.values = values
        self.input: object = None
        self.usage = before
        self._run_id = run_id
        self._step = step
        self._now = now
        self._random = random
        self._call = call
        self._functions = functions

    async def render(self, template: str) -> str:
        """A template's text. Values are put in once: what looks like a template in them stays as it is."""
        return await in_thread(self._rendered, template)

    def _rendered(self, template: str) -> str:
        return LiquidTemplate.parse(template).render(self.values, clock=lambda: self._now, random=self._random)

    def find(self, path: str) -> object:
        """The value at a dotted path, such as `art.world.value`; StepFailed if there is none."""
        value: object = self.values
        for name in path.split("."):
            if isinstance(value, Mapping) and name in value:
                value = value[name]
            else:
                raise StepFailed(f"There is no {path}: nothing is at {name!r}.", code="source_missing")
        # Each key is asked for, so that reading all of `art` is noted as reading each of it.
        return {key: value[key] for key in value} if isinstance(value, Mapping) else value

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        provider: str | None,
        model: str | None,
        sampling: Mapping[str, object],
        json_schema: Mapping[str, object] | None = None,
        attempt: int = 1,
    ) -> str:
        """What a model says to these messages."""
        self.input = [{"role": message.role, "content": message.content} for message in messages]
        request = ModelRequest(
            run_id=self._run_id,
            step=self._step,
            messages=tuple(messages),
            provider=provider,
            model=model,
            sampling=sampling,
            json_schema=json_schema,
            attempt=attempt,
        )
        answer = await ask_counted(self._call, request, self._count)
        return answer.text

    def _count(self, usage: ModelUsage) -> None:
        self.usage = self.usage.plus(usage)

    async def call_function(self, name: str, arguments: Mapping[str, object]) -> object:
        """What a registered function gives; StepFailed if there is none of that name."""
        function = self._functions.get(name)
        if function is None:
            raise StepFailed(f"No step function named {name!r} is registered.", code="function_unknown")
        self.input = dict(arguments)
        return await function(
            StepFunctionCall(arguments=arguments, values=self.values, now=self._now, random=self._random)
        )
