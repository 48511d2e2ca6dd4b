"""Replacing a text by another that is read for `$` patterns, as JavaScript's `replace` reads it."""

from __future__ import annotations

import re

from tavernkit.risuai.triggers.run import TriggerRun

_SPECIAL = re.compile(r"[\\^$.*+?()[\]{}|/-]")


def replace_all(run: TriggerRun, text: str, wanted: str, replacement: str) -> str:
    """The text with every `wanted` replaced."""
    return _replace(run, text, wanted, replacement, "g", -1)


def replace_first(run: TriggerRun, text: str, wanted: str, replacement: str) -> str:
    """The text with the first `wanted` replaced."""
    return _replace(run, text, wanted, replacement, "", 1)


def _replace(run: TriggerRun, text: str, wanted: str, replacement: str, flags: str, count: int) -> str:
    found = text.count(wanted) if count < 0 else 1
    run.shared.budget.write(found * len(replacement))
    if "$" not in replacement or wanted not in text:
        return text.replace(wanted, replacement, count)
    pattern = run.regex(_SPECIAL.sub(r"\\\g<0>", wanted), flags)
    return run.match(text, lambda limit: pattern.replace(text, replacement, limit=limit))
