"""What became of each artifact that wanted into the prompt, so that the prompt can be explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from tavernkit.artifacts.inclusion import Operation, Role
from tavernkit.prompt.plan import Plan
from tavernkit.values import Value

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
