"""What an artifact says in the prompt: the same bytes for the same versions."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.inclusion import Format, VersionSelector
from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.values import Json

__all__ = ["render", "render_value", "select_versions"]


def select_versions(
    versions: Sequence[ArtifactVersion], selector: VersionSelector, *, overwrites: bool = False
) -> tuple[ArtifactVersion, ...]:
    """Those of the versions, oldest first, that are told; where only the latest is ever kept, every selector is it."""
    if selector.mode == "latest" or overwrites:
        return tuple(versions[-1:])
    return tuple(versions if selector.n is None else versions[-selector.n :])


def render(versions: Sequence[ArtifactVersion], format: Format, *, as_list: bool = False) -> str:
    """One text for all of them, oldest first; `as_list` says that there may be several, and then JSON is a list."""
    if not as_list:
        return render_value(versions[-1].content, format) if versions else ""
    match format:
        case "json":
            return write_json([version.content for version in versions]) if versions else ""
        case "markdown":
            parts = [
                f"### Version {version.version}\n\n{render_value(version.content, format)}" for version in versions
            ]
            return "\n\n".join(parts)
        case "text":
            return "\n\n".join(render_value(version.content, format) for version in versions)


def render_value(value: Json, format: Format) -> str:
    """Texts as they are; everything else as compact JSON, which Markdown puts into a fence."""
    if isinstance(value, str):
        return value
    written = write_json(value)
    return f"```json\n{written}\n```" if format == "markdown" else written
