"""What LiquidJS would ask Node, answered by Python: dates in words, zones, Base64 and hashes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from tavernkit.text.js_dates import parse_date
from tavernkit.values import Json

_SHIFT = re.compile(r"(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3]):?(?P<minutes>[0-5][0-9])?")
_MACHINE_ZONES = frozenset({"Factory", "localtime"})
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _date(text: str) -> float | None:
    milliseconds = parse_date(text)
    return None if math.isnan(milliseconds) else milliseconds


def _offset(name: str, milliseconds: float) -> float | None:
    """How many milliseconds a zone is ahead of UTC at a moment; None for a zone that there is not."""
    if shift := _SHIFT.fullmatch(name):
        minutes = int(shift["hours"]) * 60 + int(shift["minutes"] or 0)
        return (-minutes if shift["sign"] == "-" else minutes) * 60_000
    zone = _zones().get(name.lower())
    if zone is None:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        moment = _FIRST if milliseconds < 0 else _LAST
    shown = min(max(moment, _FIRST), _LAST).astimezone(ZoneInfo(zone)).utcoffset()
    return (shown or timedelta()).total_seconds() * 1000


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """The names of zones by their lower case; those that mean a setting of the machine are none."""
    return {name.lower(): name for name in available_timezones() - _MACHINE_ZONES}


def _encode(source: str, target: str, text: str) -> str:
    if (source, target) == ("utf8", "base64"):
        return base64.b64encode(_bytes(text)).decode()
    return base64.b64decode(f"{text}===").decode("utf-8", "replace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


ANSWERS: Final[Mapping[str, Callable[..., Json]]] = {
    "date": _date,
    "offset": _offset,
    "encode": _encode,
    "sha256": lambda text: hashlib.sha256(_bytes(text)).hexdigest(),
    "hmac_sha256": lambda text, key: hmac.new(_bytes(key), _bytes(text), "sha256").hexdigest(),
}
