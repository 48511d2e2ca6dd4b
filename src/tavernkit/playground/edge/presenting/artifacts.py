"""From artifacts to what the chat page shows of them: in panels and feeds, over the page, and among the messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import (
    Artifact,
    ArtifactVersion,
    ArtifactView,
    Projection,
    ProjectionItem,
    project,
    project_all,
    retained,
)
from tavernkit.artifacts.projection import presentation_of
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ArtifactHead, Conversation
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.artifact_cards import (
    IN_CHAT,
    IN_FEED,
    IN_OVERLAY,
    IN_PANEL,
    ContentLimits,
    ContentView,
    content_view,
    on_one_line,
    short_words,
)
from tavernkit.playground.edge.presenting.artifact_changes import (
    ArtifactChangeView,
    change_view,
    compared,
    is_comparable,
    marks_of,
)
from tavernkit.playground.edge.presenting.panel import PanelView, panel_access, panel_view
from tavernkit.playground.edge.presenting.step_failures import FailureView, failures_by_tag, schemas_by_tag
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.playground.story.artifacts.path import session_of, turns_before
from tavernkit.playground.story.artifacts.service import heads_at, newest_versions
from tavernkit.playground.story.artifacts.store import artifact_of, read_at_one_moment
from tavernkit.playground.story.paths.state import state_at
from tavernkit.playground.story.paths.variables import variables_of, written
from tavernkit.values import Json, JsonObject, Value

MOST_CARDS = 40
MOST_VARIABLES = 200
MOST_ITEMS = 50
LONGEST_GIST = 120


class VersionView(Value, frozen=True, kw_only=True):
    """A version of an artifact that is shown somewhere, and what it has changed, where that is shown as well."""

    tag: str
    version: ArtifactVersion
    content: ContentView
    change: ArtifactChangeView | None = None


class ArtifactCardView(VersionView, frozen=True, kw_only=True):
    """An artifact in a panel. `is_fresh`: the last turn has changed it. `opens_change`: it wants to be seen as what has
    changed. `earlier` are the versions before it, newest first, where it wants to be a timeline."""

    is_fresh: bool
    opens_change: bool
    earlier: tuple[VersionView, ...]
    failure: FailureView | None


class FeedView(Value, frozen=True, kw_only=True):
    """A timeline, newest first, of one artifact or of several that share it."""

    id: str
    items: tuple[VersionView, ...]
    tags: tuple[str, ...]
    failures: tuple[FailureView, ...]


class VariableView(Value, frozen=True, kw_only=True):
    """A chat variable: what stands in its box, whether that is JSON, and what it was when it was read; `current` is
    what it holds, where something else stands in the box."""

    name: str
    text: str
    is_json: bool
    was: str
    current: str


class StateView(Value, frozen=True, kw_only=True):
    """The tab with everything that stands in panels and feeds. `rest` are the tags of those that there is no room for;
    `is_awaited`: something is going to be kept here, and nothing is yet. `failed` are those whose steps have made
    nothing, by tag; `may_run`: what has failed can be run again. `more_variables` is how many there is no room for."""

    panel: PanelView
    cards: tuple[ArtifactCardView, ...]
    rest: tuple[str, ...]
    feeds: tuple[FeedView, ...]
    failed: Mapping[str, FailureView]
    is_awaited: bool
    may_run: bool
    variables: tuple[VariableView, ...]
    more_variables: int
    may_set: bool


class OverlayView(Value, frozen=True, kw_only=True):
    """A card over the page; `gist` is the beginning of it on one line."""

    conversation_id: UUID
    gist: str
    shown: VersionView


ChatArtifact: TypeAlias = tuple[Literal["item", "block"], VersionView]
"""What the swipe of a message has left in the chat: an item of its own behind it, or a block inside it."""


async def state_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    problem: str = "",
    typed: Mapping[str, str] = MappingProxyType({}),
) -> StateView:
    """The tab with what is kept of a story, as it is at the end of the path. `typed` is what stands in the boxes of
    variables that were not saved."""
    now = runtime.clock()
    async with read_at_one_moment(runtime.database) as session:
        found = await panel_access(session, viewer, conversation_id)
        heads = await heads_at(session, conversation_id, "panel", "feed")
        turn = await turns_before(session, conversation_id)
        artifacts = await _views_at(session, conversation_id, heads)
        failures = await failures_by_tag(session, conversation_id) if heads else {}
        schemas = await schemas_by_tag(session, conversation_id) if artifacts else {}
        variables = variables_of(await state_at(session, conversation_id, found[0].last_seq))
    by_tag = {
        tag: view.with_(versions=retained(view.versions, view.artifact.retention, now=now, turn=turn))
        for tag, view in artifacts.items()
    }
    shown = project_all(map(_quick_to_project, by_tag.values()))
    in_panels = [one for projections in shown.values() for one in projections if one.surface.place == "panel"]
    without_version = [head.tag for head in heads if head.tag in failures and head.tag not in artifacts]
    feeds = {surface: projections for surface, projections in shown.items() if surface.startswith("feed:")}
    return StateView(
        panel=panel_view(*found, "state", problem),
        cards=tuple(
            _card(projection, by_tag[projection.artifact.key.tag], turn, schemas, failures)
            for projection in in_panels[:MOST_CARDS]
        ),
        rest=tuple(projection.artifact.key.tag for projection in in_panels[MOST_CARDS:]),
        feeds=tuple(_feed(surface, projections, schemas, failures) for surface, projections in feeds.items()),
        failed={tag: failures[tag] for tag in without_version[:MOST_CARDS]},
        is_awaited=bool(heads),
        may_run=any(head.tag in failures and failures[head.tag].may_run for head in heads),
        variables=tuple(
            _variable(name, value, typed.get(name)) for name, value in sorted(variables.items())[:MOST_VARIABLES]
        ),
        more_variables=max(len(variables) - MOST_VARIABLES, 0),
        may_set=_may_set(*found),
    )


def _variable(name: str, value: Json, typed: str | None) -> VariableView:
    shown = value if isinstance(value, str) else written(value)
    return VariableView(
        name=name,
        text=shown if typed is None else typed,
        is_json=not isinstance(value, str),
        was=written(value),
        current="" if typed in (None, shown) else shown,
    )


def _may_set(conversation: Conversation, access: SpaceAccess) -> bool:
    """Whether the viewer may change the state of a story that they see."""
    in_use = access.space.status == "active" and conversation.status == "ready"
    return in_use and access.level >= Access.TAKE_PART


async def overlay_views(session: AsyncSession, conversation_id: UUID) -> tuple[OverlayView, ...]:
    """What lies over the page at the end of the path."""
    views = await _views_at(session, conversation_id, await heads_at(session, conversation_id, "overlay"))
    schemas = await schemas_by_tag(session, conversation_id) if views else {}
    overlays = []
    for view in views.values():
        projection = project(_quick_to_project(view))
        if projection is not None:
            item = projection.items[-1]
            shown = _shown(view.artifact, item.version, IN_OVERLAY, schemas, _change(item, view.previous))
            overlays.append(OverlayView(conversation_id=conversation_id, gist=_gist(item.version), shown=shown))
    return tuple(overlays)


async def chat_artifacts(
    session: AsyncSession, conversation_id: UUID, message_ids: Collection[UUID]
) -> Mapping[str, tuple[ChatArtifact, ...]]:
    """What the tellings of these messages have left in the chat, by message; the same statements for any number."""
    heads = await heads_at(session, conversation_id, "chat_history")
    if not heads:
        return {}
    place = await session_of(session, conversation_id)
    artifacts = {head.tag: artifact_of(head, place) for head in heads}
    limits = {tag: chat_limit(artifact, with_before=True) for tag, artifact in artifacts.items()}
    rows = await newest_versions(session, conversation_id, limits, message_ids=message_ids)
    schemas = await schemas_by_tag(session, conversation_id) if rows else {}
    shown: dict[tuple[str, str], ChatArtifact] = {}
    for tag, group in groupby(rows, key=lambda row: row.tag):
        ranked = list(group)
        most = chat_limit(artifacts[tag])
        permissions = {row.version.version for row in ranked if most is None or row.place <= most}
        versions = tuple(row.version for row in ranked)
        view = ArtifactView(artifact=artifacts[tag], versions=versions, head_version=None)
        projection = project(_quick_to_project(view))
        for item in () if projection is None else projection.items:
            if projection and item.version.turn_id is not None and item.version.version in permissions:
                # Of what one swipe has written several times, the last counts.
                drawn = _shown(artifacts[tag], item.version, IN_CHAT, schemas, _change(item, view.previous))
                shown[item.version.turn_id, tag] = projection.chat_form or "block", drawn
    wanted = {str(id) for id in message_ids}
    by_message: dict[str, tuple[ChatArtifact, ...]] = {}
    for (message_id, _), one in sorted(shown.items(), key=lambda entry: entry[0]):
        if message_id in wanted:
            by_message[message_id] = (*by_message.get(message_id, ()), one)
    return by_message


def chat_limit(artifact: Artifact, *, with_before: bool = False) -> int | None:
    """How many of the newest versions of an artifact stand in the chat, each behind its message; with the one before,
    where it is shown what has changed."""
    presentation = presentation_of(artifact)
    if presentation.mode == "timeline":
        return presentation.max_items
    return 2 if with_before and presentation.mode == "diff" else 1


async def _views_at(
    session: AsyncSession, conversation_id: UUID, heads: Iterable[ArtifactHead]
) -> dict[str, ArtifactView]:
    """These artifacts as they are along the path, with as many versions as are shown, by tag."""
    known = {head.tag: head for head in heads}
    if not known:
        return {}
    place = await session_of(session, conversation_id)
    artifacts = {tag: artifact_of(head, place) for tag, head in known.items()}
    limits = {tag: _most_shown(artifact) for tag, artifact in artifacts.items()}
    rows = await newest_versions(session, conversation_id, limits)
    return {
        tag: ArtifactView(
            artifact=artifacts[tag],
            versions=tuple(row.version for row in group),
            head_version=known[tag].latest_version,
        )
        for tag, group in groupby(rows, key=lambda row: row.tag)
    }


def _most_shown(artifact: Artifact) -> int:
    """How many versions are needed at most; what is shown once is compared with the one before."""
    presentation = presentation_of(artifact)
    if presentation.mode != "timeline":
        return 2
    return max(2, min(presentation.max_items or MOST_ITEMS, MOST_ITEMS))


def _quick_to_project(view: ArtifactView) -> ArtifactView:
    """The view, without the version before where the two are to be compared and that would take too long."""
    is_diff = presentation_of(view.artifact).mode == "diff"
    if is_diff and not is_comparable(view.previous, view.current):
        return view.with_(versions=(view.current,))
    return view


def _card(
    projection: Projection,
    view: ArtifactView,
    turn: int,
    schemas: Mapping[str, JsonObject],
    failures: Mapping[str, FailureView],
) -> ArtifactCardView:
    current, previous = view.current, view.previous
    change = compared(previous, current)
    earlier = [item.version for item in reversed(projection.items) if not item.is_current]
    tag = view.artifact.key.tag
    return ArtifactCardView(
        tag=tag,
        version=current,
        is_fresh=current.turn == turn,
        content=content_view(current.content, current.content_type, IN_PANEL, marks_of(change), schemas.get(tag)),
        change=change_view(change, previous),
        opens_change=projection.mode == "diff",
        earlier=tuple(_shown(view.artifact, version, IN_FEED, schemas) for version in earlier),
        failure=failures.get(tag),
    )


def _feed(
    surface: str,
    projections: tuple[Projection, ...],
    schemas: Mapping[str, JsonObject],
    failures: Mapping[str, FailureView],
) -> FeedView:
    """One timeline for all that share the surface, the newest first."""
    items = [(projection.artifact, item.version) for projection in projections for item in projection.items]
    newest = sorted(items, key=lambda entry: (entry[1].created_at, entry[1].version), reverse=True)[:MOST_ITEMS]
    tags = tuple(projection.artifact.key.tag for projection in projections)
    return FeedView(
        id=surface.partition(":")[2],
        items=tuple(_shown(artifact, version, IN_FEED, schemas) for artifact, version in newest),
        tags=tags,
        failures=tuple(failures[tag] for tag in tags if tag in failures),
    )


def _shown(
    artifact: Artifact,
    version: ArtifactVersion,
    limits: ContentLimits,
    schemas: Mapping[str, JsonObject],
    change: ArtifactChangeView | None = None,
) -> VersionView:
    tag = artifact.key.tag
    content = content_view(version.content, version.content_type, limits, schema=schemas.get(tag))
    return VersionView(tag=tag, version=version, content=content, change=change)


def _change(item: ProjectionItem, previous: ArtifactVersion | None) -> ArtifactChangeView | None:
    return None if item.change is None else change_view(item.change, previous)


def _gist(version: ArtifactVersion) -> str:
    """The beginning of a content, for the line that is there when the rest is folded."""
    content = version.content
    if isinstance(content, dict):
        return on_one_line(
            ", ".join(f"{in_words(key)}: {translated(short_words(content[key]))}" for key in [*content][:6]),
            LONGEST_GIST,
        )
    return short_words(content, LONGEST_GIST)
