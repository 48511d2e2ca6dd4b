"""Watching a build: events, the collector that turns them into a trace, and the trace itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import JsonObject, Value

Event: TypeAlias = Literal[
    "middleware_start", "middleware_finish", "middleware_error", "warning", "stat", "trim", "lore_scan"
]


class Instrumenter(Protocol):
    """Receives every event of a build. Builds without one pay nothing."""

    def __call__(self, event: Event, /, **payload: Any) -> None: ...


class TraceStage(Value, frozen=True, kw_only=True):
    """One stage of one build; `duration_ms` is its own time, without the stages inside it."""

    name: str
    duration_ms: float
    stats: JsonObject = {}
    warnings: tuple[str, ...] = ()


class Later:
    """A text that is worked out when it is first asked for, as that takes long."""

    def __init__(self, text: str | Callable[[], str]) -> None:
        self._text = text

    def __str__(self) -> str:
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[type[Later], tuple[str]]:
        return Later, (str(self),)


class Trace(Value, frozen=True, kw_only=True):
    """A whole build, stage by stage, in the order the stages began."""

    stages: tuple[TraceStage, ...]
    written_fingerprint: Later = msgspec.field(name="fingerprint")
    started_at: datetime
    finished_at: datetime
    total_warnings: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The plan's; see `Plan.fingerprint`."""
        return str(self.written_fingerprint)

    @property
    def duration_ms(self) -> float:
        """The sum of the stages' own times."""
        return sum(stage.duration_ms for stage in self.stages)

    @property
    def is_success(self) -> bool:
        return not any("error" in stage.stats for stage in self.stages)


class TraceCollector:
    """Collects the events of one build. Counters arrive as `stat` events and are attached to their stage."""

    def __init__(self) -> None:
        self._durations: dict[str, float] = {}
        self._stats: dict[str, dict[str, Any]] = {}
        self._warnings: list[tuple[str | None, str]] = []

    def __call__(self, event: Event, /, **payload: Any) -> None:
        match event:
            case "middleware_start":
                self._begin(payload["name"])
            case "middleware_finish":
                self._durations[payload["name"]] += payload["duration_ms"]
                self._stats[payload["name"]].update(payload.get("stats", {}))
            case "middleware_error":
                self._durations[payload["name"]] += payload["duration_ms"]
                self._stats[payload["name"]]["error"] = type(payload["error"]).__name__
            case "warning":
                warning: BuildWarning = payload["warning"]
                self._warnings.append((warning.stage, warning.message))
            case "stat":
                self._attach(payload["stage"], {payload["key"]: payload["value"]})
            case "trim" | "lore_scan":
                self._attach(payload["stage"], {key: value for key, value in payload.items() if key != "stage"})

    @property
    def stages(self) -> tuple[TraceStage, ...]:
        """The stages seen so far."""
        return tuple(
            TraceStage(
                name=name,
                duration_ms=self._durations[name],
                stats=self._stats[name],
                warnings=tuple(message for stage, message in self._warnings if stage == name),
            )
            for name in self._durations
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(message for _, message in self._warnings)

    def to_trace(self, *, fingerprint: Later, started_at: datetime, finished_at: datetime) -> Trace:
        """The trace of the build that has just ended."""
        return Trace(
            stages=self.stages,
            written_fingerprint=fingerprint,
            started_at=started_at,
            finished_at=finished_at,
            total_warnings=self.warnings,
        )

    def _begin(self, name: str) -> None:
        self._durations.setdefault(name, 0.0)
        self._stats.setdefault(name, {})

    def _attach(self, stage: str | None, stats: dict[str, Any]) -> None:
        if stage is not None:
            self._begin(stage)
            self._stats[stage].update(stats)
