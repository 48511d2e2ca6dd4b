"""Where versions go that are no longer kept: rows that are written together with the prune that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from tavernkit.artifacts.artifact import ArtifactKey
from tavernkit.artifacts.retention import PruneReason
from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.values import Value


class ArchiveRow(Value, frozen=True, kw_only=True):
    """Versions that one prune took away for one reason; it belongs to its artifact, and to no generation's prompt."""

    id: str
    key: ArtifactKey
    items: tuple[ArtifactVersion, ...]
    reason: PruneReason
    pruned_at: datetime
    run_id: str | None = None
    step_run_id: str | None = None

    @property
    def from_version(self) -> int:
        return self.items[0].version

    @property
    def to_version(self) -> int:
        return self.items[-1].version


def archive_rows(
    key: ArtifactKey,
    gone: Iterable[tuple[PruneReason, ArtifactVersion]],
    *,
    ids: Callable[[], str],
    now: datetime,
    run_id: str | None = None,
    step_run_id: str | None = None,
) -> tuple[ArchiveRow, ...]:
    """One row for each reason, holding every version that goes."""
    by_reason: dict[PruneReason, list[ArtifactVersion]] = {}
    for reason, version in gone:
        by_reason.setdefault(reason, []).append(version)
    return tuple(
        ArchiveRow(
            id=ids(),
            key=key,
            items=tuple(items),
            reason=reason,
            pruned_at=now,
            run_id=run_id,
            step_run_id=step_run_id,
        )
        for reason, items in by_reason.items()
    )
