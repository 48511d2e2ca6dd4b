"""The step `message_transform`: another wording of the user's current message; what was typed is kept."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.aside import aside
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.rules import Rule, apply_rules
from tavernkit.errors import StepFailed
from tavernkit.reading import LooseObject
from tavernkit.values import Json, Value

__all__ = ["MessageTransformStep"]


class MessageTransformStep(Value, frozen=True, kw_only=True):
    """The template comes first, then the rules; without a template the message itself is changed. With `select` the
    model is told the new wording; else it is only kept beside the raw one, under its `label`."""

    kind: ClassVar[Literal["message_transform"]] = "message_transform"
    makes: ClassVar[Literal["text"]] = "text"

    template: str | None = None
    rules: tuple[Rule, ...] = ()
    label: str = "rewritten"
    select: bool = True

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        template = loose.optional_text("template")
        rules = tuple(Rule.read(rule, problems) for rule in loose.objects("rules"))
        if template is None and not rules:
            problems.error(loose.path, "A message_transform needs a template or rules.")
        return cls(
            template=template,
            rules=rules,
            label=loose.text("label", default="rewritten"),
            select=loose.flag("select", default=True),
        )

    def write(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"label": self.label, "select": self.select}
        if self.template is not None:
            fields["template"] = self.template
        if self.rules:
            fields["rules"] = [rule.write() for rule in self.rules]
        return fields

    def check(self, problems: Problems, path: str) -> None:
        if self.template is not None:
            with problems.caught_at(f"{path}.template"):
                LiquidTemplate.parse(self.template)
        for place, rule in enumerate(self.rules):
            rule.check(problems, f"{path}.rules[{place}]")

    async def run(self, scope: StepScope) -> Json:
        message = scope.find("lastUserMessage")
        scope.input = message
        changed = message if self.template is None else await scope.render(self.template)
        changed = await aside(apply_rules, changed, self.rules)
        if not changed.strip():
            raise StepFailed("Nothing would be left of the user's message.", code="message_empty")
        return changed
