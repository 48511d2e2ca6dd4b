"""From a step's output to its artifacts: the content of each, and the view of whoever comes after it."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.artifacts.artifact import Artifact
from tavernkit.artifacts.content import ArtifactVersion, Writer, check_content, parse_content
from tavernkit.artifacts.json_patch import find_in_json
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.profile import StepPipeline
from tavernkit.artifacts.pipelines.step import Step, StepArtifact
from tavernkit.artifacts.retention import retained
from tavernkit.artifacts.view import ArtifactView, RunArtifact, SessionArtifacts
from tavernkit.values import Value


class StepProduct(Value, frozen=True, kw_only=True):
    """One artifact that a step has made. Until it is committed, the version's number is the one it should get."""

    artifact: Artifact
    version: ArtifactVersion


def products_of(pipeline: StepPipeline, step: Step, record: StepRecord, context: RunContext) -> tuple[StepProduct, ...]:
    """Everything that a step that is done has made; InvalidArtifactError or JsonPatchError if its output is unfit."""
    return tuple(_made(pipeline, step, record, context))


def _made(pipeline: StepPipeline, step: Step, record: StepRecord, context: RunContext) -> Iterator[StepProduct]:
    for place, definition in enumerate(step.artifacts):
        artifact = definition.in_session(context.session, id=f"{pipeline.id}/{step.id}/{place}")
        base = None if artifact.tag is None else record.bases.get(artifact.tag)
        written = None if artifact.tag is None else (record.committed or {}).get(artifact.tag)
        version = ArtifactVersion(
            version=written or (base or 0) + 1,
            content=_content(step, definition, record.value),
            created_at=context.now,
            content_type=artifact.content_type,
            based_on_version=base,
            turn=context.turn,
            turn_id=context.turn_id,
            variant_id=context.variant_id,
            writer=Writer(pipeline=pipeline.id, step=step.id),
        )
        yield StepProduct(artifact=artifact, version=version)


def _content(step: Step, definition: StepArtifact, value: object) -> object:
    content_type = definition.content_type
    if step.makes == "text":
        return parse_content(str(value), content_type)
    return check_content(find_in_json(value, definition.pointer), content_type)


def with_products(view: SessionArtifacts, made: tuple[StepProduct, ...], context: RunContext) -> SessionArtifacts:
    """The view of whoever may see this. Which version a write is based on stays as it was."""
    artifacts = dict(view.artifacts)
    for one in made:
        if one.artifact.access == "run_only" or one.artifact.tag is None:
            continue
        tag = one.artifact.tag
        before = () if tag not in artifacts else artifacts[tag].versions
        if before and before[-1].version >= one.version.version:
            continue
        versions = retained((*before, one.version), one.artifact.retention, now=context.now, turn=context.turn)
        artifacts[tag] = ArtifactView(artifact=one.artifact, versions=versions, head_version=view.base_version(tag))
    run = tuple(
        RunArtifact(artifact=one.artifact, version=one.version) for one in made if one.artifact.access == "run_only"
    )
    return view.with_(artifacts=dict(sorted(artifacts.items()))).with_run(*run)
