"""How long versions stay, and which of them go: decided here for every store, so that none loses any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from tavernkit.artifacts.version import ArtifactVersion
from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Value

__all__ = ["PruneReason", "Pruned", "Retention", "RetentionMode", "outlived", "prune", "retained"]

RetentionMode: TypeAlias = Literal["ephemeral", "windowed", "durable"]
PruneReason: TypeAlias = Literal["window", "turns", "ttl", "reset"]


class Retention(Value, frozen=True, kw_only=True):
    """`ephemeral` lives for one run and is never stored; `windowed` keeps what is within all of its limits; `durable`
    keeps everything, or what is within limits that are meant to be very large.

    `max_versions` counts the latest; `max_turns` counts turns of the user; the latest version never goes.
    """

    mode: RetentionMode = "durable"
    max_versions: int | None = None
    max_turns: int | None = None
    ttl: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("max_versions", "max_turns"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise InvalidArtifactError(f"{name} must be at least 1, not {limit}: the latest version always stays.")
        if self.ttl is not None and self.ttl <= timedelta(0):
            raise InvalidArtifactError("A time to live must be longer than nothing.")
        if self.mode == "windowed" and not self.is_limited:
            raise InvalidArtifactError("A windowed retention needs max_versions, max_turns or ttl.")
        if self.mode == "ephemeral" and self.is_limited:
            raise InvalidArtifactError("An ephemeral artifact is not stored, so it can have no limits. Leave them out.")

    @property
    def is_limited(self) -> bool:
        return self.max_versions is not None or self.max_turns is not None or self.ttl is not None

    @property
    def is_overwrite(self) -> bool:
        """True when only the latest version is ever kept."""
        return self.mode == "ephemeral" or self.max_versions == 1


class Pruned(Value, frozen=True, kw_only=True):
    """Every version is in exactly one of the two; both are oldest first."""

    kept: tuple[ArtifactVersion, ...]
    gone: tuple[tuple[PruneReason, ArtifactVersion], ...]


def prune(versions: Iterable[ArtifactVersion], retention: Retention, *, now: datetime, turn: int) -> Pruned:
    """Part the versions into those that stay and those that go; with several limits, all must hold."""
    return _parted(sorted(versions, key=lambda version: version.version), retention, now=now, turn=turn)


def outlived(
    counted: Iterable[tuple[int, ArtifactVersion]], retention: Retention, *, now: datetime, turn: int
) -> tuple[tuple[PruneReason, ArtifactVersion], ...]:
    """Which of these versions go, and why; each comes with how many newer ones there are. So a store that has found
    out which could go need not read those that stay."""
    return tuple(
        (reason, version)
        for newer, version in counted
        if newer > 0 and (reason := _reason(version, newer, retention, now, turn)) is not None
    )


def retained(
    versions: Sequence[ArtifactVersion], retention: Retention, *, now: datetime, turn: int
) -> tuple[ArtifactVersion, ...]:
    """The versions, oldest first, that may still be read: what has expired since the last write is not shown. Which is
    older is for the caller to say: along a path it need not be the lower number."""
    return _parted(versions, retention, now=now, turn=turn).kept if retention.is_limited else tuple(versions)


def _parted(in_order: Sequence[ArtifactVersion], retention: Retention, *, now: datetime, turn: int) -> Pruned:
    counted = zip(range(len(in_order) - 1, -1, -1), in_order, strict=True)
    gone = outlived(counted, retention, now=now, turn=turn)
    numbers = {version.version for _, version in gone}
    return Pruned(kept=tuple(version for version in in_order if version.version not in numbers), gone=gone)


def _reason(version: ArtifactVersion, newer: int, limits: Retention, now: datetime, turn: int) -> PruneReason | None:
    if limits.max_versions is not None and newer >= limits.max_versions:
        return "window"
    if limits.max_turns is not None and turn - version.turn >= limits.max_turns:
        return "turns"
    if limits.ttl is not None and now - version.created_at >= limits.ttl:
        return "ttl"
    return None
