"""A session as steps and templates see it: each tag's value, what it was before, and which version may be built on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TypeAlias, TypedDict

from tavernkit.artifacts.artifact import Artifact
from tavernkit.artifacts.candidate import PromptCandidate
from tavernkit.artifacts.content import ArtifactVersion, Writer
from tavernkit.artifacts.retention import retained
from tavernkit.artifacts.store import ArchiveRow, ArtifactRecord
from tavernkit.values import Value

SwipePath: TypeAlias = Mapping[str, str]
"""The swipe that is chosen in each turn, by the ids of both."""

StepOrder: TypeAlias = Callable[[Writer | None], tuple[int, int]]
"""The place of a writer's pipeline in the profile, and of its step in the pipeline."""


class ArtifactView(Value, frozen=True, kw_only=True):
    """What is read of one persisted artifact. `versions` are oldest first and end with the value; `head_version` is
    the latest in the store, which a write must be based on even where an earlier state is read."""

    artifact: Artifact
    versions: tuple[ArtifactVersion, ...]
    head_version: int | None

    @property
    def current(self) -> ArtifactVersion:
        return self.versions[-1]

    @property
    def previous(self) -> ArtifactVersion | None:
        return self.versions[-2] if len(self.versions) > 1 else None

    @property
    def value(self) -> object:
        return self.current.content

    @property
    def history(self) -> list[object]:
        """The values before the current one, oldest first."""
        return [version.content for version in islice(self.versions, len(self.versions) - 1)]

    @property
    def meta(self) -> dict[str, object]:
        return {
            "version": self.current.version,
            "basedOnVersion": self.current.based_on_version,
            "kind": self.artifact.kind,
            "contentType": self.current.content_type,
            "createdAt": self.current.created_at.isoformat(),
            "turn": self.current.turn,
        }


class TemplateArtifact(TypedDict):
    """`art.<tag>` in templates."""

    value: object
    history: list[object]
    meta: dict[str, object]


class RunArtifact(Value, frozen=True, kw_only=True):
    """What a step has made in this run: an artifact that is not stored, or not yet."""

    artifact: Artifact
    version: ArtifactVersion


class SessionArtifacts(Value, frozen=True, kw_only=True):
    """Frozen, so that every step of a run reads the same; `run` holds what this run has made and does not store."""

    artifacts: Mapping[str, ArtifactView] = {}
    heads: Mapping[str, int | None] = {}
    run: tuple[RunArtifact, ...] = ()

    def __getitem__(self, tag: str) -> ArtifactView:
        return self.artifacts[tag]

    def __contains__(self, tag: object) -> bool:
        return tag in self.artifacts

    def __iter__(self) -> Iterator[ArtifactView]:
        return iter(self.artifacts.values())

    def base_version(self, tag: str) -> int | None:
        """What a write that was worked out from this view is based on."""
        return self.heads.get(tag)

    def art(self) -> dict[str, TemplateArtifact]:
        """`art` in templates: `art.<tag>.value`, `.history`, `.meta`. Only what is persisted and has a value."""
        return {
            tag: {"value": view.value, "history": view.history, "meta": view.meta}
            for tag, view in self.artifacts.items()
        }

    def run_values(self) -> dict[str, object]:
        """`run` in templates: `run.<name>` is the value that a run_only artifact has in this run."""
        return {made.artifact.tag: made.version.content for made in self.run if made.artifact.tag is not None}

    def with_run(self, *made: RunArtifact) -> SessionArtifacts:
        """The view for the steps that come after these have been made; a name that is made again is replaced."""
        for artifact in (item.artifact for item in made):
            if artifact.access != "run_only":
                raise ValueError(f"{artifact.name} is persisted: commit it to a store, and read the session again.")
        names = {item.artifact.tag for item in made} - {None}
        kept = [item for item in self.run if item.artifact.tag not in names]
        return self.with_(run=(*kept, *made))

    def candidates(self, order: StepOrder | None = None) -> tuple[PromptCandidate, ...]:
        """Everything that has rules for the prompt, to be given to `include_artifacts`."""
        place = order or (lambda _: (0, 0))
        stored = (
            PromptCandidate(artifact=view.artifact, versions=view.versions, order=place(view.current.writer))
            for view in self
            if view.artifact.inclusion is not None
        )
        made = (
            PromptCandidate(artifact=item.artifact, versions=(item.version,), order=place(item.version.writer))
            for item in self.run
            if item.artifact.inclusion is not None
        )
        return (*stored, *made)


def session_artifacts(
    records: Iterable[ArtifactRecord],
    *,
    now: datetime,
    turn: int,
    before_turn: int | None = None,
    path: SwipePath | None = None,
    archives: Iterable[ArchiveRow] = (),
) -> SessionArtifacts:
    """The session as it is, or as it was before a turn, or along a path of swipes.

    A regeneration reads what the turn has read the first time: the state before it, though the store has gone on. What
    has been archived since is needed for that; pass it. Writes are still based on the latest version of all.
    """
    archived: dict[str, list[ArtifactVersion]] = {}
    if before_turn is not None or path is not None:
        for row in archives:
            if row.reason != "reset":
                archived.setdefault(row.key.tag, []).extend(row.items)
    artifacts: dict[str, ArtifactView] = {}
    heads: dict[str, int | None] = {}
    for record in records:
        tag = record.artifact.key.tag
        heads[tag] = record.latest_version
        seen = record.versions
        if before_turn is not None or path is not None:
            pool = sorted((*archived.get(tag, ()), *record.versions), key=lambda version: version.version)
            seen = tuple(version for version in pool if _is_seen(version, before_turn, path))
        versions = retained(seen, record.artifact.retention, now=now, turn=turn)
        if versions:
            artifacts[tag] = ArtifactView(
                artifact=record.artifact, versions=versions, head_version=record.latest_version
            )
    return SessionArtifacts(artifacts=artifacts, heads=heads)


def _is_seen(version: ArtifactVersion, before_turn: int | None, path: SwipePath | None) -> bool:
    if before_turn is not None and version.turn >= before_turn:
        return False
    if path is None or version.turn_id is None:
        return True
    chosen = path.get(version.turn_id)
    return chosen is not None and version.variant_id in (None, chosen)
