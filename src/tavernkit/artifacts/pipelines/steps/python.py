"""The step `python`: a registered function does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.step import Step


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
