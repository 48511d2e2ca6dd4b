"""What a version changed: a JSON patch or a unified diff, against the version before it that is still kept."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from tavernkit.artifacts.candidate import render_value
from tavernkit.artifacts.content import ArtifactVersion
from tavernkit.artifacts.json_patch import make_patch
from tavernkit.values import Value

ChangeKind: TypeAlias = Literal["json_patch", "unified", "full"]

_CONTEXT = 3
_MOST_PAIRS = 200_000
"""Of lines that are compared with each other; more could take minutes."""


class ArtifactChange(Value, frozen=True, kw_only=True):
    """`patch` holds RFC 6902 operations, `text` a unified diff, `value` everything where nothing came before."""

    kind: ChangeKind
    version: int
    from_version: int | None = None
    patch: tuple[Mapping[str, object], ...] = ()
    text: str = ""
    value: object = None

    @property
    def summary(self) -> str:
        """The change in a few words, without what it says."""
        match self.kind:
            case "full":
                return "first version"
            case "json_patch":
                paths = ", ".join(sorted(str(operation["path"]) or "/" for operation in self.patch)[:8])
                more = f" and {len(self.patch) - 8} more" if len(self.patch) > 8 else ""
                return f"{_count(len(self.patch), 'change')}: {paths}{more}" if self.patch else "no change"
            case "unified":
                lines = self.text.split("\n")[2:]
                added = sum(line.startswith("+") for line in lines)
                removed = sum(line.startswith("-") for line in lines)
                return f"{_count(added, 'line')} added, {removed} removed" if added or removed else "no change"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def change_between(before: ArtifactVersion | None, after: ArtifactVersion) -> ArtifactChange:
    """What became of `before`; without one, the full value."""
    if before is None:
        return ArtifactChange(kind="full", version=after.version, value=after.content)
    if before.content_type == after.content_type == "json":
        patch = tuple(make_patch(before.content, after.content))
        return ArtifactChange(kind="json_patch", version=after.version, from_version=before.version, patch=patch)
    old, new = (render_value(version.content, "text").splitlines() for version in (before, after))
    names = (f"version {before.version}", f"version {after.version}")
    if len(old) * len(new) <= _MOST_PAIRS:
        lines = difflib.unified_diff(old, new, *names, n=_CONTEXT, lineterm="")
    else:
        lines = _in_one_piece(old, new, *names)
    return ArtifactChange(kind="unified", version=after.version, from_version=before.version, text="\n".join(lines))


def _in_one_piece(old: list[str], new: list[str], old_name: str, new_name: str) -> Iterator[str]:
    """A unified diff in which all from the first line that differs to the last is one change."""
    if old == new:
        return
    most = min(len(old), len(new))
    start = next((place for place in range(most) if old[place] != new[place]), most)
    end = next((place for place in range(most - start) if old[-1 - place] != new[-1 - place]), most - start)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    before = old[max(start - _CONTEXT, 0) : start]
    behind = old[len(old) - end :][:_CONTEXT]
    around, first = len(before) + len(behind), start - len(before) + 1
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    yield f"@@ -{first},{around + len(gone)} +{first},{around + len(come)} @@"
    yield from (f" {line}" for line in before)
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in come)
    yield from (f" {line}" for line in behind)
