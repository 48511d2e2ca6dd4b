"""The step `template`: a text made from a Liquid template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.step import Step


class TemplateStep(Step, frozen=True, kw_only=True, tag="template"):
    needs: ClassVar[Mapping[str, str]] = {**Step.needs, "template": "A template step needs a template."}
    blank: ClassVar[Mapping[str, object]] = {**Step.blank, "template": ""}

    template: str

    @property
    def makes(self) -> Literal["text"]:
        return "text"

    def check(self, problems: Problems, path: str) -> None:
        with problems.caught_at(f"{path}.template"):
            LiquidTemplate.parse(self.template)

    async def run(self, scope: StepScope) -> object:
        return await scope.render(self.template)
