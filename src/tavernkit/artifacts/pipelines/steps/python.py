"""The step `python`: a registered function does the work."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.reading import LooseObject
from tavernkit.values import Json, JsonObject, Value

__all__ = ["PythonStep"]


class PythonStep(Value, frozen=True, kw_only=True):
    kind: ClassVar[Literal["python"]] = "python"
    makes: ClassVar[Literal["json"]] = "json"

    function: str
    arguments: JsonObject = {}

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        if not loose.text("function", "callable"):
            problems.error(loose.at("function"), "A python step needs the name of a registered function.")
        return cls(function=loose.text("function", "callable"), arguments=loose.object("arguments", "args"))

    def write(self) -> dict[str, Json]:
        return {"function": self.function, "arguments": dict(self.arguments)}

    def check(self, problems: Problems, path: str) -> None:
        """Which functions there are is known to the application alone; `check_profile` is told."""

    async def run(self, scope: StepScope) -> Json:
        return await scope.call_function(self.function, self.arguments)
