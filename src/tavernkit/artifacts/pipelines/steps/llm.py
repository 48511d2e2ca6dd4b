"""The step `llm`: a model is asked for a text, or for JSON that is checked against a schema, with one repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.content import parse_content
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.schema import Misfit, check_schema, misfits
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.model_step import ModelStep
from tavernkit.errors import InvalidArtifactError, StepFailed

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
