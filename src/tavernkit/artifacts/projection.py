"""What the page shows of an artifact, and what a version changed; an old version is never shown as current."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from tavernkit.artifacts.artifact import Artifact, Presentation, PresentationMode, Surface, is_on_page
from tavernkit.artifacts.candidate import render_value
from tavernkit.artifacts.content import ArtifactVersion
from tavernkit.artifacts.json_patch import make_patch
from tavernkit.artifacts.view import ArtifactView
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


ChatForm: TypeAlias = Literal["item", "block"]


class ProjectionItem(Value, frozen=True, kw_only=True):
    """One version as it is shown; `change` is there in a diff, against the version before it that is still kept."""

    version: ArtifactVersion
    is_current: bool
    change: ArtifactChange | None = None


class Projection(Value, frozen=True, kw_only=True):
    """What stands on one surface, oldest first. `chat_form` says how it stands in the chat: as an item of its own, or
    as a block inside what is there."""

    artifact: Artifact
    surface: Surface
    mode: PresentationMode
    items: tuple[ProjectionItem, ...]
    chat_form: ChatForm | None = None


def presentation_of(artifact: Artifact) -> Presentation:
    """The presentation that was chosen, or what is usual for the surface: a feed is a timeline, all else the latest."""
    if artifact.presentation is not None:
        return artifact.presentation
    is_feed = artifact.surface is not None and artifact.surface.place == "feed"
    return Presentation(mode="timeline" if is_feed else "latest_only")


def project(view: ArtifactView) -> Projection | None:
    """What is shown of an artifact; None if people must not see it, or it has no place on the page."""
    artifact, surface = view.artifact, view.artifact.surface
    if not is_on_page(artifact.visibility) or surface is None or surface.place == "internal":
        return None
    presentation = presentation_of(artifact)
    chat_form: ChatForm | None = None
    if surface.place == "chat_history":
        chat_form = "item" if artifact.visibility == "prompt_and_ui" else "block"
    return Projection(
        artifact=artifact,
        surface=surface,
        mode=presentation.mode,
        items=_items(view, presentation),
        chat_form=chat_form,
    )


def project_all(views: Iterable[ArtifactView]) -> dict[str, tuple[Projection, ...]]:
    """Every projection by its surface, as `panel:<id>`; several artifacts can share one, in the order of their tags."""
    by_surface: dict[str, list[Projection]] = {}
    for view in views:
        projection = project(view)
        if projection is not None:
            by_surface.setdefault(str(projection.surface), []).append(projection)
    return {surface: tuple(projections) for surface, projections in by_surface.items()}


def _items(view: ArtifactView, presentation: Presentation) -> tuple[ProjectionItem, ...]:
    match presentation.mode:
        case "latest_only":
            return (ProjectionItem(version=view.current, is_current=True),)
        case "diff":
            change = change_between(view.previous, view.current)
            return (ProjectionItem(version=view.current, is_current=True, change=change),)
        case "timeline":
            shown = view.versions if presentation.max_items is None else view.versions[-presentation.max_items :]
            return tuple(ProjectionItem(version=version, is_current=version is view.current) for version in shown)
