"""The step `transform`: regular expressions over a text, or a JSON patch over a value, without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.json_patch import apply_patch
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.step import Step
from tavernkit.artifacts.pipelines.threads import in_thread
from tavernkit.artifacts.wire import Wire
from tavernkit.errors import JsonPatchError, StepFailed
from tavernkit.reading import kind_of
from tavernkit.text.js_regex import compile_regex


class Rule(Wire, frozen=True, kw_only=True):
    """What `text.replace(pattern, replacement)` does in JavaScript."""

    spellings: ClassVar[Mapping[str, str]] = {"replace": "replacement"}
    needs: ClassVar[Mapping[str, str]] = {"pattern": "A rule needs a pattern."}

    pattern: NonBlank
    flags: str = "g"
    replacement: str = ""

    def check(self, problems: Problems, path: str) -> None:
        with problems.caught_at(f"{path}.pattern"):
            compile_regex(self.pattern, self.flags)


def apply_rules(text: str, rules: Iterable[Rule]) -> str:
    for rule in rules:
        text = compile_regex(rule.pattern, rule.flags).replace(text, rule.replacement)
    return text


class TransformStep(Step, frozen=True, kw_only=True, tag="transform"):
    """`source` is where the input is, such as `reply` or `art.world.value`; `default` stands in where nothing is.
    Rules make a text of a text. A patch (RFC 6902) is written out, or found at `patch_source`, where another step has
    put it."""

    needs: ClassVar[Mapping[str, str]] = {
        **Step.needs,
        "source": "A transform needs a source, such as reply or art.world.value.",
    }

    source: NonBlank
    default: object = None
    rules: tuple[Rule, ...] = ()
    patch: tuple[Mapping[str, object], ...] = ()
    patch_source: NonBlank | None = None

    @property
    def makes(self) -> Literal["text", "json"]:
        return "text" if self.rules else "json"

    def check(self, problems: Problems, path: str) -> None:
        if sum(map(bool, (self.rules, self.patch, self.patch_source))) != 1:
            problems.error(path, "A transform has rules, or a patch, or a patchSource: one of the three.")
        for place, rule in enumerate(self.rules):
            rule.check(problems, f"{path}.rules[{place}]")

    async def run(self, scope: StepScope) -> object:
        scope.input = value = self._input(scope)
        if self.rules:
            if not isinstance(value, str):
                raise StepFailed(f"Rules change a text, and {self.source} is {kind_of(value)}.", code="source_type")
            return await in_thread(apply_rules, value, self.rules)
        if self.patch_source is None:
            return await in_thread(apply_patch, value, self.patch)
        patch = scope.find(self.patch_source)
        if not isinstance(patch, list):
            raise StepFailed(f"A patch is a list, and {self.patch_source} is {kind_of(patch)}.", code="source_type")
        try:
            return await in_thread(apply_patch, value, patch)
        except JsonPatchError as error:
            # Its reason quotes the patch, which nobody has written into the profile and not everybody may see.
            raise StepFailed(f"{str(error).partition(':')[0]}.", code=error.code) from None

    def _input(self, scope: StepScope) -> object:
        if self.default is None:
            return scope.find(self.source)
        try:
            return scope.find(self.source)
        except StepFailed:
            return self.default
