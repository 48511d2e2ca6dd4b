"""What the steps that ask a model have in common: whom they ask, how, and with which words."""

from __future__ import annotations

from typing import Self

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.prompt.message import Message
from tavernkit.reading import LooseObject
from tavernkit.values import Json, JsonObject, Value

__all__ = ["Question"]


class Question(Value, frozen=True, kw_only=True):
    """`system` and `prompt` are Liquid. Without provider and model, those of the chat are asked."""

    prompt: str
    system: str = ""
    provider: str | None = None
    model: str | None = None
    sampling: JsonObject = {}

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        if not loose.text("prompt").strip():
            problems.error(loose.at("prompt"), "A step that asks a model needs a prompt.")
        return cls(
            prompt=loose.text("prompt"),
            system=loose.text("system"),
            provider=loose.optional_text("provider", "providerId", "provider_id") or None,
            model=loose.optional_text("model") or None,
            sampling=loose.object("sampling"),
        )

    def write(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"prompt": self.prompt}
        for name, value in (("system", self.system), ("provider", self.provider), ("model", self.model)):
            if value:
                fields[name] = value
        if self.sampling:
            fields["sampling"] = dict(self.sampling)
        return fields

    def check(self, problems: Problems, path: str) -> None:
        for name, template in (("system", self.system), ("prompt", self.prompt)):
            with problems.caught_at(f"{path}.{name}"):
                LiquidTemplate.parse(template)

    async def messages(self, scope: StepScope) -> list[Message]:
        system, prompt = (await scope.render(self.system)).strip(), (await scope.render(self.prompt)).strip()
        opening = [Message(role="system", content=system)] if system else []
        return [*opening, Message(role="user", content=prompt)]

    async def ask(
        self, scope: StepScope, messages: list[Message], *, schema: JsonObject | None = None, attempt: int = 1
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
        self, scope: StepScope, messages: list[Message], answer: str, wanted: str, *, schema: JsonObject | None = None
    ) -> str:
        """The one repair: the model sees its answer and what is wrong with it."""
        repair = [Message(role="assistant", content=answer), Message(role="user", content=wanted)]
        return await self.ask(scope, [*messages, *repair], schema=schema, attempt=2)
