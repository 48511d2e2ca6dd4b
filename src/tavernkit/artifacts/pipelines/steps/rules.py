"""Regular expressions of JavaScript, applied one after the other under their time limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.reading import LooseObject
from tavernkit.text.js_regex import compile_regex
from tavernkit.values import Json, Value

__all__ = ["Rule", "apply_rules"]


class Rule(Value, frozen=True, kw_only=True):
    """What `text.replace(pattern, replacement)` does in JavaScript."""

    pattern: str
    flags: str = "g"
    replacement: str = ""

    @classmethod
    def read(cls, loose: LooseObject, problems: Problems) -> Self:
        if not loose.text("pattern"):
            problems.error(loose.at("pattern"), "A rule needs a pattern.")
        return cls(
            pattern=loose.text("pattern"),
            flags=loose.text("flags", default="g"),
            replacement=loose.text("replacement", "replace"),
        )

    def write(self) -> dict[str, Json]:
        return {"pattern": self.pattern, "flags": self.flags, "replacement": self.replacement}

    def check(self, problems: Problems, path: str) -> None:
        with problems.caught_at(f"{path}.pattern"):
            compile_regex(self.pattern, self.flags)


def apply_rules(text: str, rules: Iterable[Rule]) -> str:
    for rule in rules:
        text = compile_regex(rule.pattern, rule.flags).replace(text, rule.replacement)
    return text
