"""What steps do, one class for each kind; `model_steps` has those that ask a model. Each can be checked and run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.json_patch import apply_patch
from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.model_steps import GuardStep, LlmStep
from tavernkit.artifacts.pipelines.step import BUILT_IN_KINDS, Problems, Step, StepScope, in_thread
from tavernkit.artifacts.wire import Wire
from tavernkit.errors import JsonPatchError, StepFailed
from tavernkit.reading import kind_of
from tavernkit.text.js_regex import compile_regex


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


class PythonStep(Step, frozen=True, kw_only=True, tag="python"):
    """Which functions there are is known to the application alone; `check_profile` is told."""

    spellings: ClassVar[Mapping[str, str]] = {**Step.spellings, "callable": "function", "args": "arguments"}
    needs: ClassVar[Mapping[str, str]] = {
        **Step.needs,
        "function": "A python step needs the name of a registered function.",
    }

    function: NonBlank
    arguments: Mapping[str, object] = {}

    async def run(self, scope: StepScope) -> object:
        return await scope.call_function(self.function, self.arguments)


for _kind in (TemplateStep, LlmStep, TransformStep, MessageTransformStep, GuardStep, PythonStep):
    BUILT_IN_KINDS.register(_kind)
