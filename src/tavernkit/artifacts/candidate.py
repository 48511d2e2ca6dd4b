"""What may enter the prompt, and the order in which it does, whoever finished first."""

from __future__ import annotations

from typing import TypeAlias, TypedDict, get_args

from tavernkit.artifacts.artifact import Artifact
from tavernkit.artifacts.axes import Visibility, is_in_prompt
from tavernkit.artifacts.inclusion import Format, Operation, Phase, PromptInclusion
from tavernkit.artifacts.rendering import render, render_value, select_versions
from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.prompt.block import Block
from tavernkit.values import JsonObject, Value

SortKey: TypeAlias = tuple[int, float, int, int, str, int, str]

_PHASES: dict[Phase, int] = {phase: place for place, phase in enumerate(get_args(Phase))}


class PromptCandidate(Value, frozen=True, kw_only=True):
    """An artifact with the versions that may be read, oldest first. `order` is the place of the pipeline in the profile
    and of the step in the pipeline."""

    artifact: Artifact
    versions: tuple[ArtifactVersion, ...]
    order: tuple[int, int] = (0, 0)


class ArtifactSource(TypedDict):
    """Where a text came from, in a block's metadata."""

    stage: str
    id: str
    artifact: str
    version: int
    operation: Operation
    visibility: Visibility


def sources_of(block: Block) -> list[JsonObject]:
    """The artifacts that have made or changed a block, as its metadata names them."""
    named = block.metadata.get("artifacts")
    return [source for source in named if isinstance(source, dict)] if isinstance(named, list) else []


class Prepared(Value, frozen=True, kw_only=True):
    """A candidate that has been worded. `before` and `after` stand around what is wrapped; else `before` is all.
    `source` says where the text came from, for a block's metadata."""

    candidate: PromptCandidate
    inclusion: PromptInclusion
    key: SortKey
    source: ArtifactSource
    before: str
    after: str = ""
    value: object = None
    versions: tuple[int, ...] = ()
    reaches_back: bool = True
    """False when more versions were asked for than are ever kept."""

    @property
    def artifact(self) -> Artifact:
        return self.candidate.artifact

    @property
    def merges_json(self) -> bool:
        """Whether it is merged key by key: no format follows the content. What is appended or prepended is text."""
        rules = self.inclusion
        follows = rules.format is None and rules.strategy == "replace" and self.artifact.content_type == "json"
        return rules.needs_json or (rules.operation == "merge_section" and follows)

    @property
    def is_blank(self) -> bool:
        return not (self.before.strip() or self.after.strip())


def sort_key(candidate: PromptCandidate, inclusion: PromptInclusion) -> SortKey:
    """Phase, priority, pipeline, step, tag by code point, version, id: no two artifacts have the same."""
    artifact = candidate.artifact
    version = candidate.versions[-1].version if candidate.versions else 0
    phase = _PHASES[inclusion.phase]
    return (phase, inclusion.priority, *candidate.order, artifact.tag or "", version, artifact.id)


def prepare(candidate: PromptCandidate) -> Prepared | None:
    """Choose versions and word them; None if there are no rules, no versions, or the model must not see it."""
    artifact, inclusion = candidate.artifact, candidate.artifact.inclusion
    if inclusion is None or not candidate.versions or not is_in_prompt(artifact.visibility):
        return None
    overwrites = artifact.retention.is_overwrite
    chosen = select_versions(candidate.versions, inclusion.versions, overwrites=overwrites)
    format = inclusion.format or artifact.content_type
    before, after = _worded(chosen, inclusion, format, as_list=inclusion.versions.mode != "latest" and not overwrites)
    wanted, window = inclusion.versions.n, artifact.retention.max_versions
    return Prepared(
        candidate=candidate,
        inclusion=inclusion,
        key=sort_key(candidate, inclusion),
        source=_source(artifact, inclusion, chosen[-1].version),
        before=before,
        after=after,
        value=chosen[-1].content,
        versions=tuple(version.version for version in chosen),
        reaches_back=wanted is None or window is None or overwrites or wanted <= window,
    )


def _source(artifact: Artifact, inclusion: PromptInclusion, version: int) -> ArtifactSource:
    name = artifact.tag or artifact.id
    space = "art" if artifact.access == "persisted" else "run"
    return {
        "stage": "artifacts",
        "id": f"{space}:{name}@{version}",
        "artifact": name,
        "version": version,
        "operation": inclusion.operation,
        "visibility": artifact.visibility,
    }


def _worded(
    chosen: tuple[ArtifactVersion, ...], inclusion: PromptInclusion, format: Format, *, as_list: bool
) -> tuple[str, str]:
    value = chosen[-1].content
    if inclusion.operation == "wrap" and isinstance(value, dict) and ("pre" in value or "post" in value):
        return render_value(value.get("pre") or "", format), render_value(value.get("post") or "", format)
    return render(chosen, format, as_list=as_list), ""
