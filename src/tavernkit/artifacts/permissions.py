"""Who may write what: one pipeline owns each tag, and a permission is for all artifacts or for states only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from tavernkit.errors import ArtifactPolicyError
from tavernkit.values import Value

WritePermission: TypeAlias = Literal["artifact_write", "state_write"]
STATE = "state"

_MOST_RIVALS = 4


class TagClaim(Value, frozen=True, kw_only=True):
    """A step of a profile that says it makes the persisted artifact of this tag."""

    tag: str
    pipeline: str
    step: str = ""


class TagCollision(Value, frozen=True, kw_only=True):
    """A tag that more than one step claims."""

    tag: str
    claims: tuple[TagClaim, ...]

    def __str__(self) -> str:
        rivals = [f"{claim.pipeline}/{claim.step}".rstrip("/") for claim in self.claims]
        if len(rivals) > _MOST_RIVALS:
            rivals[_MOST_RIVALS:] = [f"{len(rivals) - _MOST_RIVALS} more"]
        places = " and ".join(rivals)
        return f"art.{self.tag} is made by {places}. A tag has one writer: rename one of them."


def tag_collisions(claims: Iterable[TagClaim]) -> tuple[TagCollision, ...]:
    """Every tag that is claimed twice, for whoever saves or activates a profile."""
    by_tag: dict[str, list[TagClaim]] = {}
    for claim in claims:
        by_tag.setdefault(claim.tag, []).append(claim)
    return tuple(
        TagCollision(tag=tag, claims=tuple(rivals)) for tag, rivals in sorted(by_tag.items()) if len(rivals) > 1
    )


def check_permission(
    granted: Iterable[WritePermission], *, tag: str, kind: str, stored_kind: str | None = None
) -> None:
    """Raise ArtifactPolicyError unless a write of that kind is allowed, over what is stored already."""
    permissions = frozenset(granted)
    if "artifact_write" in permissions:
        return
    if "state_write" not in permissions:
        raise ArtifactPolicyError(f"art.{tag} cannot be written: the step has no artifact_write permission.", tag=tag)
    # The stored kind counts too, or a step could turn anything into a state and then own it.
    wrong = next((found for found in (kind, stored_kind) if found not in (None, STATE)), None)
    if wrong is not None:
        raise ArtifactPolicyError(
            f"art.{tag} is of kind {wrong!r}, and the permission state_write is for states only.", tag=tag
        )


def check_owner(owner: str | None, pipeline: str, *, tag: str) -> None:
    """Raise ArtifactPolicyError if the tag belongs to another pipeline."""
    if owner is not None and owner != pipeline:
        raise ArtifactPolicyError(
            f"art.{tag} belongs to the pipeline {owner!r}; {pipeline!r} cannot write it. "
            "Give the artifact another tag in one of the two.",
            tag=tag,
        )
