"""The life of a run: which status may follow which.

queued  → running, canceled, skipped
running → succeeded, failed, canceled, skipped, and back to queued when a worker hands it back untouched
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = ["ACTIVE", "FINAL", "TRANSITIONS", "RunStatus"]

RunStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "canceled", "skipped"]

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "canceled", "skipped"}),
    "running": frozenset({"succeeded", "failed", "canceled", "skipped", "queued"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "canceled": frozenset(),
    "skipped": frozenset(),
}
ACTIVE: frozenset[RunStatus] = frozenset({"queued", "running"})
FINAL: frozenset[RunStatus] = frozenset(TRANSITIONS) - ACTIVE
