"""The step `guard`: yes or no, from a template or a model, for other steps to depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.model_step import ModelStep
from tavernkit.errors import StepFailed

GuardEngine: TypeAlias = Literal["liquid", "llm"]

_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_PLAIN = "Answer with one word: yes or no."


class GuardStep(ModelStep, frozen=True, kw_only=True, tag="guard"):
    """A template must print true or false and nothing else; a model must begin its answer with yes or no."""

    engine: GuardEngine = "liquid"
    template: str = ""

    @classmethod
    def usual(cls, said: Mapping[str, object]) -> Mapping[str, object]:
        return {"engine": "llm" if "prompt" in said else "liquid"}

    def check(self, problems: Problems, path: str) -> None:
        if self.engine == "llm":
            super().check(problems, path)
            if not self.prompt.strip():
                problems.error(f"{path}.prompt", self.needs["prompt"])
        elif not self.template.strip():
            problems.error(f"{path}.template", "A guard needs a template that prints true or false.")
        else:
            with problems.caught_at(f"{path}.template"):
                LiquidTemplate.parse(self.template)

    async def run(self, scope: StepScope) -> object:
        if self.engine == "llm":
            return await self._decide(scope)
        printed = (await scope.render(self.template)).strip().lower()
        if printed not in ("true", "false"):
            raise StepFailed("A guard's template must print true or false and nothing else.", code="guard_not_boolean")
        return printed == "true"

    async def _decide(self, scope: StepScope) -> bool:
        messages = await self.messages(scope)
        messages[-1] = messages[-1].with_(content=f"{messages[-1].content}\n\n{_PLAIN}")
        answer = await self.ask(scope, messages)
        verdict = _verdict(answer)
        if verdict is None:
            verdict = _verdict(await self.ask_again(scope, messages, answer, _PLAIN))
        if verdict is None:
            raise StepFailed("The model was asked twice and said neither yes nor no.", code="guard_not_boolean")
        return verdict


def _verdict(answer: str) -> bool | None:
    first = _WORD.search(answer)
    return None if first is None else _WORDS.get(first[0].lower())
