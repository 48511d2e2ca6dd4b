"""The step `llm`: a model is asked for a text, or for JSON that is checked against a schema, with one repair."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, TypeAlias, get_args

from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.schema import Misfit, check_schema, misfits
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.asking import Question
from tavernkit.artifacts.pipelines.steps.json_answer import find_json
from tavernkit.errors import InvalidArtifactError, StepFailed
from tavernkit.reading import LooseObject
from tavernkit.values import Json, JsonObject, Value

__all__ = ["LlmOutput", "LlmStep"]

LlmOutput: TypeAlias = Literal["text", "json"]


class LlmStep(Value, frozen=True, kw_only=True):
    """JSON is kept as values, never as a text that holds JSON; without a schema any JSON is taken."""

    kind: ClassVar[Literal["llm"]] = "llm"

    question: Question
    output: LlmOutput = "text"
    schema: JsonObject | None = None

    @property
    def makes(self) -> LlmOutput:
        return self.output

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        schema = loose.object("schema", "jsonSchema", "json_schema") or None
        output: LlmOutput = "text" if schema is None else "json"
        if loose.has("output"):
            allowed: tuple[LlmOutput, ...] = get_args(LlmOutput)
            output = problems.word(loose.at("output"), loose.raw("output"), allowed, what="The output", usual=output)
        if output == "text" and schema is not None:
            problems.error(loose.at("schema"), "A schema is for JSON. Say output json, or leave the schema out.")
        return cls(question=Question.read(loose, problems), output=output, schema=schema)

    def write(self) -> dict[str, Json]:
        fields = {**self.question.write(), "output": self.output}
        return fields if self.schema is None else {**fields, "schema": dict(self.schema)}

    def check(self, problems: Problems, path: str) -> None:
        self.question.check(problems, path)
        if self.schema is not None:
            with problems.caught_at(f"{path}.schema"):
                check_schema(self.schema)

    async def run(self, scope: StepScope) -> Json:
        messages = await self.question.messages(scope)
        answer = await self.question.ask(scope, messages, schema=self.schema)
        if self.output == "text":
            return answer.strip()
        value, wrong = self._read(answer)
        if wrong:
            sentences = "\n".join(each.sentence for each in wrong)
            wanted = (
                f"That cannot be used:\n{sentences}\nAnswer again with the whole JSON, put right, and nothing else."
            )
            answer = await self.question.ask_again(scope, messages, answer, wanted, schema=self.schema)
            value, wrong = self._read(answer)
        if wrong:
            reasons = ", ".join(each.summary for each in wrong)
            raise StepFailed(f"The model's JSON cannot be used, asked twice: {reasons}.", code="json_invalid")
        return value

    def _read(self, answer: str) -> tuple[Json, tuple[Misfit, ...]]:
        try:
            value = find_json(answer)
        except InvalidArtifactError as error:
            return None, (Misfit(sentence=str(error), summary="it is no JSON"),)
        return value, () if self.schema is None else misfits(value, self.schema)
