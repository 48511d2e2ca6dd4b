"""Regular expressions of JavaScript, applied one after the other under their time limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from tavernkit.artifacts.artifact import NonBlank
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.wire import Wire
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
