"""The step `template`: a text made from a Liquid template."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.reading import LooseObject
from tavernkit.values import Json, Value

__all__ = ["TemplateStep"]


class TemplateStep(Value, frozen=True, kw_only=True):
    kind: ClassVar[Literal["template"]] = "template"
    makes: ClassVar[Literal["text"]] = "text"

    template: str

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        if not loose.has("template"):
            problems.error(loose.at("template"), "A template step needs a template.")
        return cls(template=loose.text("template"))

    def write(self) -> dict[str, Json]:
        return {"template": self.template}

    def check(self, problems: Problems, path: str) -> None:
        with problems.caught_at(f"{path}.template"):
            LiquidTemplate.parse(self.template)

    async def run(self, scope: StepScope) -> Json:
        return await scope.render(self.template)
