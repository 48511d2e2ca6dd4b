"""What a version changed: a JSON patch or a unified diff, against the version before it that is still kept."""

from __future__ import annotations

import difflib
from typing import Literal, TypeAlias

from tavernkit.artifacts.json_patch import make_patch
from tavernkit.artifacts.rendering import render_value
from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.values import Json, JsonObject, Value

__all__ = ["Change", "ChangeKind", "change_between"]

ChangeKind: TypeAlias = Literal["json_patch", "unified", "full"]


class Change(Value, frozen=True, kw_only=True):
    """`patch` holds RFC 6902 operations, `text` a unified diff, `value` everything where nothing came before."""

    kind: ChangeKind
    version: int
    from_version: int | None = None
    patch: tuple[JsonObject, ...] = ()
    text: str = ""
    value: Json = None

    @property
    def summary(self) -> str:
        """The change in a few words, without what it says."""
        match self.kind:
            case "full":
                return "first version"
            case "json_patch":
                paths = ", ".join(sorted(operation["path"] or "/" for operation in self.patch)[:8])
                more = f" and {len(self.patch) - 8} more" if len(self.patch) > 8 else ""
                return f"{_count(len(self.patch), 'change')}: {paths}{more}" if self.patch else "no change"
            case "unified":
                lines = [line for line in self.text.split("\n") if not line.startswith(("+++", "---"))]
                added = sum(line.startswith("+") for line in lines)
                removed = sum(line.startswith("-") for line in lines)
                return f"{_count(added, 'line')} added, {removed} removed" if added or removed else "no change"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def change_between(before: ArtifactVersion | None, after: ArtifactVersion) -> Change:
    """What became of `before`; without one, the full value."""
    if before is None:
        return Change(kind="full", version=after.version, value=after.content)
    if before.content_type == after.content_type == "json":
        patch = tuple(make_patch(before.content, after.content))
        return Change(kind="json_patch", version=after.version, from_version=before.version, patch=patch)
    lines = difflib.unified_diff(
        render_value(before.content, "text").splitlines(),
        render_value(after.content, "text").splitlines(),
        fromfile=f"version {before.version}",
        tofile=f"version {after.version}",
        lineterm="",
    )
    return Change(kind="unified", version=after.version, from_version=before.version, text="\n".join(lines))
