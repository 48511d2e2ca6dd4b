"""The steps that ask a model: `llm` for a text or for JSON, and `guard` for yes or no, as a template can say, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.content import parse_content
from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.model import ModelRequest
from tavernkit.artifacts.pipelines.schema import Misfit, check_schema, misfits
from tavernkit.artifacts.pipelines.step import Problems, Step, StepScope
from tavernkit.errors import InvalidArtifactError, StepFailed
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
        request = ModelRequest(
            run_id=scope.run_id,
            step=scope.step,
            messages=tuple(messages),
            provider=self.provider,
            model=self.model,
            sampling=self.sampling,
            json_schema=schema,
            attempt=attempt,
        )
        return await scope.ask(request)

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


LlmOutput: TypeAlias = Literal["text", "json"]


class LlmStep(ModelStep, frozen=True, kw_only=True, tag="llm"):
    """JSON is kept as values, never as a text that holds JSON; without a schema any JSON is taken."""

    spellings: ClassVar[Mapping[str, str]] = {**ModelStep.spellings, "jsonSchema": "schema", "json_schema": "schema"}

    prompt: NonBlank
    output: LlmOutput = "text"
    schema: Mapping[str, object] | None = None

    @classmethod
    def usual(cls, said: Mapping[str, object]) -> Mapping[str, object]:
        return {"output": "json" if said.get("schema") else "text"}

    @property
    def makes(self) -> LlmOutput:
        return self.output

    def check(self, problems: Problems, path: str) -> None:
        super().check(problems, path)
        if self.output == "text" and self.schema is not None:
            problems.error(f"{path}.schema", "A schema is for JSON. Say output json, or leave the schema out.")
        if self.schema is not None:
            with problems.caught_at(f"{path}.schema"):
                check_schema(self.schema)

    async def run(self, scope: StepScope) -> object:
        messages = await self.messages(scope)
        answer = await self.ask(scope, messages, schema=self.schema)
        if self.output == "text":
            return answer.strip()
        value, wrong = self._read(answer)
        if wrong:
            sentences = "\n".join(each.sentence for each in wrong)
            wanted = (
                f"That cannot be used:\n{sentences}\nAnswer again with the whole JSON, put right, and nothing else."
            )
            answer = await self.ask_again(scope, messages, answer, wanted, schema=self.schema)
            value, wrong = self._read(answer)
        if wrong:
            reasons = ", ".join(each.summary for each in wrong)
            raise StepFailed(f"The model's JSON cannot be used, asked twice: {reasons}.", code="json_invalid")
        return value

    def _read(self, answer: str) -> tuple[object, tuple[Misfit, ...]]:
        try:
            value = find_json(answer)
        except InvalidArtifactError as error:
            return None, (Misfit(sentence=str(error), summary="it is no JSON"),)
        return value, () if self.schema is None else misfits(value, self.schema)


_FENCE = re.compile(r"```[A-Za-z]*\s*\n(.*?)```", re.DOTALL)


def find_json(answer: str) -> object:
    """The value in an answer; InvalidArtifactError, about the answer as a whole, if there is none."""
    for text in _places(answer):
        try:
            return parse_content(text, "json")
        except InvalidArtifactError:
            continue
    return parse_content(answer, "json")


def _places(answer: str) -> Iterator[str]:
    yield answer.strip()
    fence = _FENCE.search(answer)
    if fence:
        yield fence[1]
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = answer.find(opening), answer.rfind(closing)
        if 0 <= start < end:
            yield answer[start : end + 1]


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
