"""How long versions stay, and which of them go: decided here for every store, so that none loses any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Literal, TypeAlias, get_args

from tavernkit.artifacts.content import ArtifactVersion
from tavernkit.artifacts.wire import Wire, WireRules, one_of
from tavernkit.errors import InvalidArtifactError

RetentionMode: TypeAlias = Literal["ephemeral", "windowed", "durable"]
RetentionWord: TypeAlias = Literal["ephemeral", "windowed", "durable", "overwrite", "append", "ttl"]
PruneReason: TypeAlias = Literal["window", "turns", "ttl", "reset"]


_MOST_SECONDS = 100 * 366 * 24 * 60 * 60
"""A hundred years."""


class RetentionRules(WireRules, frozen=True, kw_only=True):
    """A policy as it is written: overwrite keeps the latest version, append and ttl what is within the limits."""

    spellings: ClassVar[Mapping[str, str]] = {"policy": "mode", "ttl": "ttl_seconds"}

    mode: RetentionWord | None = None
    max_versions: int | None = None
    max_turns: int | None = None
    ttl_seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Retention:
        return cls(mode=one_of(text, get_args(RetentionWord), what="retention")).normal()

    def normal(self) -> Retention:
        limits = (self.max_versions, self.max_turns, self.ttl_seconds)
        limited = any(limit is not None for limit in limits)
        match self.mode:
            case "overwrite" if limited:
                raise InvalidArtifactError(
                    "The retention overwrite keeps the latest version only, and takes no limits."
                )
            case "overwrite":
                return Retention(mode="windowed", max_versions=1)
            case "ttl" if self.ttl_seconds is None:
                raise InvalidArtifactError("A retention by time to live needs ttlSeconds.")
            case None | "append" | "ttl":
                mode: RetentionMode = "windowed" if limited else "durable"
            case said:
                mode = said
        versions, turns, seconds = limits
        return Retention(mode=mode, max_versions=versions, max_turns=turns, ttl_seconds=seconds)


class Retention(Wire, frozen=True, kw_only=True):
    """`ephemeral` lives for one run and is never stored; `windowed` keeps what is within all of its limits; `durable`
    keeps everything, or what is within limits that are meant to be very large.

    `max_versions` counts the latest; `max_turns` counts turns of the user; the latest version never goes.
    """

    written_as: ClassVar[type[WireRules]] = RetentionRules

    mode: RetentionMode = "durable"
    max_versions: int | None = None
    max_turns: int | None = None
    ttl_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("max_versions", self.max_versions), ("max_turns", self.max_turns)):
            if limit is not None and limit < 1:
                raise InvalidArtifactError(f"{name} must be at least 1, not {limit}: the latest version always stays.")
        if self.ttl_seconds is not None and abs(self.ttl_seconds) > _MOST_SECONDS:
            raise InvalidArtifactError(f"ttlSeconds is at most {_MOST_SECONDS:,}. To keep versions forever, omit it.")
        if self.ttl is not None and self.ttl <= timedelta(0):
            raise InvalidArtifactError("A time to live must be longer than nothing.")
        if self.mode == "windowed" and not self.is_limited:
            raise InvalidArtifactError("A windowed retention needs max_versions, max_turns or ttl.")
        if self.mode == "ephemeral" and self.is_limited:
            raise InvalidArtifactError("An ephemeral artifact is not stored, so it cannot have limits. Remove them.")

    @property
    def is_limited(self) -> bool:
        return self.max_versions is not None or self.max_turns is not None or self.ttl_seconds is not None

    @property
    def ttl(self) -> timedelta | None:
        return None if self.ttl_seconds is None else timedelta(seconds=self.ttl_seconds)

    @property
    def is_overwrite(self) -> bool:
        """True when only the latest version is ever kept."""
        return self.mode == "ephemeral" or self.max_versions == 1


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
    if not retention.is_limited:
        return tuple(versions)
    counted = zip(range(len(versions) - 1, -1, -1), versions, strict=True)
    gone = {version.version for _, version in outlived(counted, retention, now=now, turn=turn)}
    return tuple(version for version in versions if version.version not in gone)


def _reason(version: ArtifactVersion, newer: int, limits: Retention, now: datetime, turn: int) -> PruneReason | None:
    if limits.max_versions is not None and newer >= limits.max_versions:
        return "window"
    if limits.max_turns is not None and turn - version.turn >= limits.max_turns:
        return "turns"
    if limits.ttl is not None and now - version.created_at >= limits.ttl:
        return "ttl"
    return None
