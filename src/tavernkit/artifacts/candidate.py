"""What may enter the prompt: what it says there, in which order, and what became of each, to explain the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, TypedDict, get_args

import msgspec

from tavernkit.artifacts.artifact import Artifact, Visibility, is_in_prompt
from tavernkit.artifacts.content import ArtifactVersion, write_json
from tavernkit.artifacts.inclusion import Format, Operation, Phase, PromptInclusion, Role, VersionSelector
from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import Plan
from tavernkit.values import JsonObject, Value

REPORT = "artifacts"
"""Where a plan's metadata has the decisions, as JSON."""

InclusionReason: TypeAlias = Literal[
    "placed",
    "clamped",
    "relocated",
    "not_visible",
    "empty",
    "superseded",
    "anchor_not_found",
    "anchor_trimmed",
    "section_not_found",
    "merge_type_error",
    "not_text",
    "over_budget",
    "taken_out",
]
INCLUDED: tuple[InclusionReason, ...] = ("placed", "clamped", "relocated")


class InclusionDecision(Value, frozen=True, kw_only=True):
    """One artifact. `versions` are those that are told; `role` is the role in our own terms, before any dialect.

    placed              it stands where its rules say
    clamped             its anchor was trimmed, and it stands before the oldest message that is left
    relocated           its anchor was trimmed, and it stands beside the nearest message that is left
    not_visible         its visibility keeps it from the model
    empty               it has nothing to say
    superseded          another artifact that comes later replaces the same thing
    anchor_not_found    there is no such message in the chat
    anchor_trimmed      its message was left out of the prompt
    section_not_found   the system prompt has no section of that name
    merge_type_error    what is merged, or what it is merged into, is no JSON object
    not_text            its message has no words of its own that could be changed, such as one that calls a tool
    over_budget         there was no room for it
    taken_out           another hook has removed it
    """

    artifact: str
    operation: Operation
    reason: InclusionReason
    versions: tuple[int, ...] = ()
    role: Role | None = None

    @property
    def is_included(self) -> bool:
        return self.reason in INCLUDED


class InclusionReport(Value, frozen=True, kw_only=True):
    """Every decision of a build, in the order of the prompt."""

    decisions: tuple[InclusionDecision, ...] = ()

    @property
    def included(self) -> tuple[InclusionDecision, ...]:
        return tuple(decision for decision in self.decisions if decision.is_included)

    @property
    def left_out(self) -> tuple[InclusionDecision, ...]:
        return tuple(decision for decision in self.decisions if not decision.is_included)


def inclusion_report(plan: Plan) -> InclusionReport:
    """What has become of the artifacts that `include_artifacts` was given for this plan."""
    found = plan.metadata.get(REPORT)
    decisions = list(found) if isinstance(found, Sequence) else []
    return InclusionReport(decisions=msgspec.convert(decisions, tuple[InclusionDecision, ...]))


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
