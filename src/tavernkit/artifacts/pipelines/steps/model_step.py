"""What the steps that ask a model have in common: whom they ask, how, and with which words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.step import Step
from tavernkit.prompt.message import Message


class ModelStep(Step, frozen=True, kw_only=True):
    """`system` and `prompt` are Liquid. Without provider and model, those of the chat are asked."""

    spellings: ClassVar[Mapping[str, str]] = {**Step.spellings, "providerId": "provider", "provider_id": "provider"}
    needs: ClassVar[Mapping[str, str]] = {**Step.needs, "prompt": "A step that asks a model needs a prompt."}

    prompt: str = ""
    system: str = ""
    provider: NonBlank | None = None
    model: NonBlank | None = None
    sampling: Mapping[str, object] = {}

    def check(self, problems: Problems, path: str) -> None:
        for name, template in (("system", self.system), ("prompt", self.prompt)):
            with problems.caught_at(f"{path}.{name}"):
                LiquidTemplate.parse(template)

    async def messages(self, scope: StepScope) -> list[Message]:
        system, prompt = (await scope.render(self.system)).strip(), (await scope.render(self.prompt)).strip()
        opening = [Message(role="system", content=system)] if system else []
        return [*opening, Message(role="user", content=prompt)]

    async def ask(
        self, scope: StepScope, messages: list[Message], *, schema: Mapping[str, object] | None = None, attempt: int = 1
    ) -> str:
        return await scope.ask(
            messages,
            provider=self.provider,
            model=self.model,
            sampling=self.sampling,
            json_schema=schema,
            attempt=attempt,
        )

    async def ask_again(
        self,
        scope: StepScope,
        messages: list[Message],
        answer: str,
        wanted: str,
        *,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        """The one repair: the model sees its answer and what is wrong with it."""
        repair = [Message(role="assistant", content=answer), Message(role="user", content=wanted)]
        return await self.ask(scope, [*messages, *repair], schema=schema, attempt=2)
