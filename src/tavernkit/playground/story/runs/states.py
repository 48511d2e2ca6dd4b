"""The life of a run and of a round: what there is, and what may follow what.

queued  → running, canceled, skipped
running → succeeded, failed, canceled, skipped, and back to queued when a worker hands it back untouched

A round is active until it is finished, superseded by another, or canceled. While it is active, somebody is about to
speak (`ai_generating`), or it waits for a person: they paused it (`paused`), or a reply went wrong (`failed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

RunKind: TypeAlias = Literal["user_turn", "auto_mode", "regenerate", "force_talk", "copilot", "continue", "impersonate"]
RunStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "canceled", "skipped"]
SchedulingState: TypeAlias = Literal["ai_generating", "paused", "failed"]
RoundEnd: TypeAlias = Literal["finished", "superseded", "canceled"]

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

AGAINST_A_TARGET: frozenset[RunKind] = frozenset({"regenerate", "continue"})
"""Runs whose reply becomes another swipe of a message that is there."""

WRITTEN_FOR_A_PERSON: frozenset[RunKind] = frozenset({"copilot", "impersonate"})
"""Runs whose reply is what a person says."""
