"""Labels of steps: how one stands, why it was left out, where it runs."""

from __future__ import annotations

from collections.abc import Mapping

STATES: Mapping[str, str] = {
    "waiting": "Waiting",
    "running": "At work",
    "done": "Done",
    "skipped": "Left out",
    "error": "Failed",
    "aborted": "Stopped",
}
REASONS: Mapping[str, str] = {
    "disabled": "It is switched off.",
    "not_due": "Its turn has not come: it runs every few turns only.",
    "guard_not_matched": "Its guard has said no.",
    "dependency_skipped": "A step that it depends on was left out.",
    "dependency_failed": "A step that it depends on has failed.",
    "run_aborted": "The run was stopped before it began.",
}
HOOKS: Mapping[str, str] = {"before": "before the reply", "after": "behind the reply"}
