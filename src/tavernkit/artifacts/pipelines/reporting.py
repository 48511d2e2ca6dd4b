"""What is said about a step when its run has ended: versions, changes in a few words and hashes, never the content."""

from __future__ import annotations

from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.planning import Planned
from tavernkit.artifacts.pipelines.products import StepProduct, products_of
from tavernkit.artifacts.pipelines.report import CommitOutcome, StepReport
from tavernkit.artifacts.redaction import log_entry
from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.artifacts.view import SessionArtifacts


def step_report(item: Planned, record: StepRecord, view: SessionArtifacts, context: RunContext) -> StepReport:
    """`view` is what the step's hook has begun with."""
    made = products_of(item.pipeline, item.step, record, context) if record.committed is not None else ()
    return StepReport(
        pipeline=record.pipeline,
        step=record.step,
        kind=item.step.kind,
        hook=item.step.hook,
        status=record.status,
        commit=_outcome(record),
        reason=record.reason,
        code=record.code,
        message=record.message,
        read=record.read,
        wrote=tuple(log_entry(one.artifact, _before(one, view), one.version) for one in made),
        archived=record.archived,
        usage=record.usage,
        started_at=record.started_at,
        ended_at=record.ended_at,
    )


def _outcome(record: StepRecord) -> CommitOutcome:
    if record.committed is not None:
        return "committed"
    if record.rejected:
        return "rejected"
    return "withheld" if record.status == "done" else "nothing"


def _before(made: StepProduct, view: SessionArtifacts) -> ArtifactVersion | None:
    """What the step has read of its own artifact."""
    tag = made.artifact.tag
    if made.artifact.access == "run_only" or tag is None or tag not in view:
        return None
    earlier = [version for version in view[tag].versions if version.version < made.version.version]
    return earlier[-1] if earlier else None
