"""The step `transform`: regular expressions over a text, or a JSON patch over a value, without asking anybody."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from tavernkit.artifacts.json_patch import apply_patch
from tavernkit.artifacts.pipelines.aside import aside
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.steps.rules import Rule, apply_rules
from tavernkit.errors import JsonPatchError, StepFailed
from tavernkit.reading import LooseObject, kind_of
from tavernkit.values import Json, JsonObject, Value

__all__ = ["TransformStep"]


class TransformStep(Value, frozen=True, kw_only=True):
    """`source` is where the input is, such as `reply` or `art.world.value`; `default` stands in where nothing is.
    Rules make a text of a text. A patch (RFC 6902) is written out, or found at `patch_source`, where another step has
    put it."""

    kind: ClassVar[Literal["transform"]] = "transform"

    source: str
    default: Json = None
    rules: tuple[Rule, ...] = ()
    patch: tuple[JsonObject, ...] = ()
    patch_source: str | None = None

    @property
    def makes(self) -> Literal["text", "json"]:
        return "text" if self.rules else "json"

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        if not loose.text("source"):
            problems.error(loose.at("source"), "A transform needs a source, such as reply or art.world.value.")
        rules = tuple(Rule.read(rule, problems) for rule in loose.objects("rules"))
        patch = tuple(operation.source for operation in loose.objects("patch"))
        patch_source = loose.optional_text("patchSource", "patch_source") or None
        if sum(map(bool, (rules, patch, patch_source))) != 1:
            problems.error(loose.path, "A transform has rules, or a patch, or a patchSource: one of the three.")
        return cls(
            source=loose.text("source"),
            default=loose.raw("default"),
            rules=rules,
            patch=patch,
            patch_source=patch_source,
        )

    def write(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"source": self.source}
        if self.default is not None:
            fields["default"] = self.default
        if self.rules:
            fields["rules"] = [rule.write() for rule in self.rules]
        if self.patch:
            fields["patch"] = [dict(operation) for operation in self.patch]
        if self.patch_source is not None:
            fields["patchSource"] = self.patch_source
        return fields

    def check(self, problems: Problems, path: str) -> None:
        for place, rule in enumerate(self.rules):
            rule.check(problems, f"{path}.rules[{place}]")

    async def run(self, scope: StepScope) -> Json:
        scope.input = value = self._input(scope)
        if self.rules:
            if not isinstance(value, str):
                raise StepFailed(f"Rules change a text, and {self.source} is {kind_of(value)}.", code="source_type")
            return await aside(apply_rules, value, self.rules)
        if self.patch_source is None:
            return await aside(apply_patch, value, self.patch)
        patch = scope.find(self.patch_source)
        if not isinstance(patch, list):
            raise StepFailed(f"A patch is a list, and {self.patch_source} is {kind_of(patch)}.", code="source_type")
        try:
            return await aside(apply_patch, value, patch)
        except JsonPatchError as error:
            # Its reason quotes the patch, which nobody has written into the profile and not everybody may see.
            raise StepFailed(f"{str(error).partition(':')[0]}.", code=error.code) from None

    def _input(self, scope: StepScope) -> Json:
        if self.default is None:
            return scope.find(self.source)
        try:
            return scope.find(self.source)
        except StepFailed:
            return self.default
