"""The user's clock and calendar. Only a space may stand before a format, and only `time_UTC` names another zone."""

from __future__ import annotations

from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, NamePass, Pass, any_case
from tavernkit.sillytavern.macros.legacy.scanning import find_braced, find_exactly, find_pairs_in_line
from tavernkit.sillytavern.macros.packs.time import TIME, time_at

_READ = {definition.name: definition.handler for definition in TIME.definitions}


def _time_at(expansion: LegacyExpansion, offset: str) -> str:
    return time_at(expansion.environment, f"UTC{offset}")


TIME_PASSES: tuple[Pass, ...] = (
    NamePass("{{time}}", value=_READ["time"]),
    NamePass("{{date}}", value=_READ["date"]),
    NamePass("{{weekday}}", value=_READ["weekday"]),
    NamePass("{{isotime}}", value=_READ["isotime"]),
    NamePass("{{isodate}}", value=_READ["isodate"]),
    CallPass("{{datetimeformat ", find_braced(any_case(r"\{\{datetimeformat +"), at_least=0), _READ["datetimeformat"]),
    NamePass("{{idle_duration}}", value=_READ["idleDuration"]),
    CallPass("{{time_utc", find_exactly(any_case(r"\{\{time_UTC([-+][0-9]+)\}\}")), _time_at),
)

TIME_DIFF_PASS = CallPass("{{timediff::", find_pairs_in_line(any_case(r"\{\{timeDiff::")), _READ["timeDiff"])
