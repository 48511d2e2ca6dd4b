"""What the page shows of an artifact. The data stays as it is; a projection never shows an old version as current."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from tavernkit.artifacts.artifact import Artifact, Presentation, PresentationMode
from tavernkit.artifacts.axes import Surface, is_on_page
from tavernkit.artifacts.content import ArtifactVersion
from tavernkit.artifacts.diff import ArtifactChange, change_between
from tavernkit.artifacts.view import ArtifactView
from tavernkit.values import Value

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
