"""Writing the chat as system messages, for models that take nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.risuai.template.line import Line


def systemize(lines: Iterable[Line]) -> None:
    """Turn what user and character say into system messages that name the speaker."""
    for line in lines:
        if line.role not in ("user", "assistant"):
            continue
        if line.name is not None and line.name.startswith("example_"):
            line.content = f"{line.name}: {line.content}"
        elif not line.has_name_in_text:
            line.content = f"{line.role}: {line.content}"
        line.role = "system"
        line.memo = None
        line.name = None
