"""The step `guard`: yes or no, from a template or a model, for other steps to depend on."""

from __future__ import annotations

import re
from typing import ClassVar, Literal, Self, TypeAlias, get_args

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.asking import Question
from tavernkit.errors import StepFailed
from tavernkit.reading import LooseObject
from tavernkit.values import Json, Value

__all__ = ["GuardEngine", "GuardStep"]

GuardEngine: TypeAlias = Literal["liquid", "llm"]

_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_PLAIN = "Answer with one word: yes or no."


class GuardStep(Value, frozen=True, kw_only=True):
    """A template must print true or false and nothing else; a model must begin its answer with yes or no."""

    kind: ClassVar[Literal["guard"]] = "guard"
    makes: ClassVar[Literal["json"]] = "json"

    template: str | None = None
    question: Question | None = None

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        engine: GuardEngine = "llm" if loose.has("prompt") else "liquid"
        if loose.has("engine"):
            allowed: tuple[GuardEngine, ...] = get_args(GuardEngine)
            engine = problems.word(loose.at("engine"), loose.raw("engine"), allowed, what="The engine", usual=engine)
        if engine == "llm":
            return cls(question=Question.read(loose, problems))
        if not loose.text("template").strip():
            problems.error(loose.at("template"), "A guard needs a template that prints true or false.")
        return cls(template=loose.text("template"))

    def write(self) -> dict[str, Json]:
        if self.question is not None:
            return {"engine": "llm", **self.question.write()}
        return {"engine": "liquid", "template": self.template}

    def check(self, problems: Problems, path: str) -> None:
        if self.question is not None:
            self.question.check(problems, path)
        if self.template is not None:
            with problems.caught_at(f"{path}.template"):
                LiquidTemplate.parse(self.template)

    async def run(self, scope: StepScope) -> Json:
        if self.question is not None:
            return await self._ask(scope, self.question)
        printed = (await scope.render(self.template or "")).strip().lower()
        if printed not in ("true", "false"):
            raise StepFailed("A guard's template must print true or false and nothing else.", code="guard_not_boolean")
        return printed == "true"

    async def _ask(self, scope: StepScope, question: Question) -> bool:
        messages = await question.messages(scope)
        messages[-1] = messages[-1].with_(content=f"{messages[-1].content}\n\n{_PLAIN}")
        answer = await question.ask(scope, messages)
        verdict = _verdict(answer)
        if verdict is None:
            verdict = _verdict(await question.ask_again(scope, messages, answer, _PLAIN))
        if verdict is None:
            raise StepFailed("The model was asked twice and said neither yes nor no.", code="guard_not_boolean")
        return verdict


def _verdict(answer: str) -> bool | None:
    first = _WORD.search(answer)
    return None if first is None else _WORDS.get(first[0].lower())
