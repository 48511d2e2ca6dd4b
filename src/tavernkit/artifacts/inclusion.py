"""How an artifact enters the prompt. Shorthand becomes one normal form; contradictions are refused."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import ClassVar, Literal, TypeAlias, get_args

import msgspec

from tavernkit.artifacts.anchors import Anchor
from tavernkit.artifacts.content import ContentType
from tavernkit.artifacts.wire import Wire, WireRules, one_of
from tavernkit.errors import InvalidArtifactError

InclusionMode: TypeAlias = Literal["none", "append_after_last_user", "prepend_system", "as_message"]
Operation: TypeAlias = Literal["insert", "replace", "wrap", "merge_section"]
Target: TypeAlias = Literal["system", "timeline", "message_ref"]
Place: TypeAlias = Literal["before", "after", "replace", "wrap"]
Phase: TypeAlias = Literal["system", "early", "near_anchor", "after_last_user", "tail"]
DepthPolicy: TypeAlias = Literal["strict_drop", "clamp_to_oldest_kept", "relocate_to_nearest"]
Role: TypeAlias = Literal["system", "developer", "assistant", "user"]
Format: TypeAlias = ContentType
SelectorMode: TypeAlias = Literal["latest", "last_n", "all"]
SectionStrategy: TypeAlias = Literal["replace", "append", "prepend"]

_PLACES: dict[Operation, tuple[Place | None, ...]] = {
    "insert": ("before", "after"),
    "replace": ("replace",),
    "wrap": ("wrap",),
    "merge_section": (None,),
}
_AFTER_LAST_USER = Anchor(selector="after_last_user")


class SelectorRules(Wire, frozen=True, kw_only=True):
    """Which versions are told, as JSON says it."""

    spellings: ClassVar[Mapping[str, str]] = {"type": "mode", "lastN": "n", "last_n": "n"}

    mode: SelectorMode = "latest"
    n: int | None = None

    @classmethod
    def parse(cls, text: str) -> SelectorRules:
        return SelectorRules(mode=one_of(text, get_args(SelectorMode), what="versionSelector"))


class VersionSelector(SelectorRules, frozen=True, kw_only=True):
    """Which versions are told: the latest; the last `n`, the latest counted; or all that are kept."""

    def __post_init__(self) -> None:
        if (self.mode == "last_n") != (self.n is not None):
            raise InvalidArtifactError("versionSelector last_n, and no other, takes a number n of versions.")
        if self.n is not None and self.n < 1:
            raise InvalidArtifactError(f"versionSelector last_n needs at least 1 version, not {self.n}.")


class InclusionRules(WireRules, frozen=True, kw_only=True):
    """What is said about how an artifact enters the prompt. `mode` is shorthand; what is said beside it wins."""

    mode: InclusionMode | None = None
    operation: Operation | None = None
    target: Target | None = None
    anchor: Anchor | None = None
    place: Place | None = None
    phase: Phase | None = None
    depth_policy: DepthPolicy = "strict_drop"
    priority: float = 0
    role: Role | None = None
    format: Format | None = None
    versions: SelectorRules = msgspec.field(default=SelectorRules(), name="versionSelector")
    last_n: int | None = None
    section: str | None = None
    strategy: SectionStrategy = "replace"

    def normal(self) -> PromptInclusion | None:
        """The normal form; None for the mode none, which means that the model is never told."""
        mode, operation, target, anchor, place = self.mode, self.operation, self.target, self.anchor, self.place
        if mode == "none":
            return None
        if mode == "append_after_last_user":
            anchor = _AFTER_LAST_USER if anchor is None else anchor
        if mode == "prepend_system":
            target, place = target or "system", place or (None if operation else "before")
        if operation is None:
            operation = place if place in ("replace", "wrap") else "insert"
        if target is None:
            target = _target(operation, anchor, self.phase, self.section)
        if self.phase == "after_last_user" and anchor is None and target != "system":
            anchor = _AFTER_LAST_USER
        if place is None:
            place = _place(operation, target, anchor)
        return PromptInclusion(
            operation=operation,
            target=target,
            phase=self.phase or _phase(target, anchor, place),
            place=place,
            anchor=anchor,
            depth_policy=self.depth_policy,
            priority=self.priority,
            role=self.role or ("developer" if operation == "insert" else None),
            format=self.format,
            versions=self._selector(),
            section=self.section,
            strategy=self.strategy,
        )

    def _selector(self) -> VersionSelector:
        if self.last_n is not None and self.versions.mode != "last_n":
            raise InvalidArtifactError("lastN belongs to the versionSelector last_n. Set both.")
        return VersionSelector(mode=self.versions.mode, n=self.last_n if self.versions.n is None else self.versions.n)


class PromptInclusion(Wire, frozen=True, kw_only=True):
    """The normal form: every rule said. Make one with `InclusionRules(…).normal()`, which fills in the rest.

    `place` is None for merge_section. `role` is None where the target keeps its own. Without an anchor the phase says
    where an insert stands. `format` None follows the content. `section` names a part of the system prompt, or the
    key of a JSON object that is merged. Lower priorities come earlier within a phase.
    """

    written_as: ClassVar[type[WireRules]] = InclusionRules

    operation: Operation
    target: Target
    phase: Phase
    place: Place | None = None
    anchor: Anchor | None = None
    depth_policy: DepthPolicy = "strict_drop"
    priority: float = 0
    role: Role | None = None
    format: Format | None = None
    versions: VersionSelector = msgspec.field(default=VersionSelector(), name="versionSelector")
    section: str | None = None
    strategy: SectionStrategy = "replace"

    def __post_init__(self) -> None:
        problem = _contradiction(self)
        if problem:
            raise InvalidArtifactError(f"This prompt inclusion contradicts itself: {problem}")

    @property
    def needs_json(self) -> bool:
        """True when what is merged must be a JSON object."""
        return self.operation == "merge_section" and self.format == "json"


def _target(operation: Operation, anchor: Anchor | None, phase: Phase | None, section: str | None) -> Target:
    if anchor is None and (operation != "insert" or section is not None or phase == "system"):
        return "system"
    return "timeline" if operation == "insert" else "message_ref"


def _place(operation: Operation, target: Target, anchor: Anchor | None) -> Place | None:
    if operation == "insert":
        return "after" if target == "system" else _side(anchor)
    return None if operation == "merge_section" else operation


def _side(anchor: Anchor | None) -> Place:
    """On which side of its message an anchor stands, unless it is said."""
    if anchor is None or anchor.is_end or anchor.selector in ("after_last_user", "after_message_id"):
        return "after"
    if anchor.base is not None and not anchor.offset:
        return _side(anchor.base)
    return "before"


def _phase(target: Target, anchor: Anchor | None, place: Place | None) -> Phase:
    if target == "system":
        return "system"
    if anchor is None or anchor.is_end:
        return "tail"
    return "after_last_user" if anchor == _AFTER_LAST_USER and place == "after" else "near_anchor"


def _contradiction(rule: PromptInclusion) -> str | None:
    operation, target, anchor = rule.operation, rule.target, rule.anchor
    if rule.place not in _PLACES[operation]:
        allowed = " or ".join(str(place) for place in _PLACES[operation] if place)
        wanted = f"the place {allowed}" if allowed else "no place"
        return f"{operation} goes with {wanted}, not with {rule.place}."
    if not isfinite(rule.priority):
        return f"a priority of {rule.priority} has no place in an order. Use a number."
    if operation in ("replace", "wrap") and target == "timeline":
        return f"{operation} changes the system prompt or a message; the target timeline only takes inserts."
    if operation == "merge_section" and target == "timeline":
        return "merge_section changes the system prompt or a message; the target timeline only takes inserts."
    if (target == "system") != (rule.phase == "system"):
        return f"the target {target} does not go with the phase {rule.phase}."
    if target == "system" and anchor is not None:
        return f"the system prompt has no messages, so {anchor} is no place in it."
    if target == "system" and rule.role in ("user", "assistant"):
        return f"the system prompt cannot be spoken by the {rule.role}."
    if target == "message_ref" and anchor is None:
        return "the target message_ref needs an anchor that chooses the message."
    if operation != "insert" and anchor is not None and anchor.is_end:
        return f"{operation} needs a message, and offset 0 is behind the last one."
    if rule.phase == "near_anchor" and anchor is None:
        return "the phase near_anchor needs an anchor."
    if operation in ("wrap", "merge_section") and rule.role is not None and target == "message_ref":
        return f"a message that is changed by {operation} keeps its role. Leave the role out."
    if operation == "insert" and rule.role is None:
        return "an insert needs a role."
    return _section_contradiction(rule)


def _section_contradiction(rule: PromptInclusion) -> str | None:
    if rule.operation == "merge_section":
        if not rule.section:
            return "merge_section needs the name of a section."
        if rule.target == "message_ref" and rule.format != "json":
            return "a message has no named sections unless it is JSON. Say format json."
        if rule.format == "json" and rule.strategy != "replace":
            return f"JSON is merged key by key, so the strategy {rule.strategy} has no meaning for it."
        if rule.versions.mode != "latest":
            return "only one version can be merged into a section."
        return None
    if rule.strategy != "replace":
        return f"the strategy {rule.strategy} belongs to merge_section."
    if rule.section is not None and (rule.target != "system" or not rule.section):
        return "a section is a named part of the system prompt, so its target is system."
    return None
