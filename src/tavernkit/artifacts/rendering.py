"""What an artifact says in the prompt: the same bytes for the same versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.inclusion import Format, VersionSelector
from tavernkit.artifacts.version import ArtifactVersion


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
            texts = _spoken(versions, format)
            return "\n\n".join(f"### Version {number}\n\n{text}" for number, text in texts)
        case "text":
            return "\n\n".join(text for _, text in _spoken(versions, format))


def _spoken(versions: Sequence[ArtifactVersion], format: Format) -> Iterator[tuple[int, str]]:
    """The versions that have something to say."""
    for version in versions:
        text = render_value(version.content, format)
        if text.strip():
            yield version.version, text


def render_value(value: object, format: Format) -> str:
    """Texts as they are; everything else as compact JSON, which Markdown puts into a fence."""
    if isinstance(value, str):
        return value
    written = write_json(value)
    return f"```json\n{written}\n```" if format == "markdown" else written
