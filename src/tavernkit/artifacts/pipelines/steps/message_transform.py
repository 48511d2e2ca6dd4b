"""The step `message_transform`: another wording of the user's current message; what was typed is kept."""

from __future__ import annotations

from typing import Literal

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.step import Step
from tavernkit.artifacts.pipelines.steps.transform import Rule, apply_rules
from tavernkit.artifacts.pipelines.threads import in_thread
from tavernkit.errors import StepFailed


class MessageTransformStep(Step, frozen=True, kw_only=True, tag="message_transform"):
    """The template comes first, then the rules; without a template the message itself is changed. With `select` the
    model is told the new wording; else it is only kept beside the raw one, under its `label`."""

    template: str | None = None
    rules: tuple[Rule, ...] = ()
    label: str = "rewritten"
    select: bool = True

    @property
    def makes(self) -> Literal["text"]:
        return "text"

    def check(self, problems: Problems, path: str) -> None:
        if self.template is None and not self.rules:
            problems.error(path, "A message_transform needs a template or rules.")
        if self.template is not None:
            with problems.caught_at(f"{path}.template"):
                LiquidTemplate.parse(self.template)
        for place, rule in enumerate(self.rules):
            rule.check(problems, f"{path}.rules[{place}]")

    async def run(self, scope: StepScope) -> object:
        message = str(scope.find("lastUserMessage"))
        scope.input = message
        changed = message if self.template is None else await scope.render(self.template)
        changed = await in_thread(apply_rules, changed, self.rules)
        if not changed.strip():
            raise StepFailed("Nothing would be left of the user's message.", code="message_empty")
        return changed
