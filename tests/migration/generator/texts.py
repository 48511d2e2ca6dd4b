"""Texts, dates and pictures by chance."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from random import Random
from struct import pack

from tests.characters.card_files import SIGNATURE, chunk

_WORDS = (
    *("the", "lantern", "river", "*slowly*", "“stay”", "winter", "Mira's", "door", "{{user}}", "and", "{{char}}", "—"),
    *("сад", "雪が", "🦊", "under", "<b>bold</b>", "again", "**never**", "salt,", "ship;", "ashes!", "glass & smoke"),
    *("(softly)", "one", "two", "`code`", "$5", "100%", "a/b", "\\n", "quiet", "\n\n", "end."),
)
_BEGIN = datetime(2023, 6, 19, 14, 20, tzinfo=UTC)


def sentence(random: Random, words: int = 12) -> str:
    return " ".join(random.choices(_WORDS, k=words))


def hex_id(random: Random) -> str:
    """An identifier in the form of a UUID."""
    digits = f"{random.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def moment(number: int) -> datetime:
    """A time that grows with the number, so that no two messages of a folder have the same."""
    return _BEGIN + timedelta(seconds=37 * number)


def iso(number: int) -> str:
    return moment(number).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def old_date(number: int) -> str | int:
    """A date as one of the versions before wrote it."""
    at = moment(number)
    hour = at.hour % 12 or 12
    half = "am" if at.hour < 12 else "pm"
    return (
        f"{at:%B} {at.day}, {at.year} {hour}:{at.minute:02}{half}",
        int(at.timestamp() * 1000),
        f"{at.year}-{at.month}-{at.day}@{at:%H}h{at:%M}m{at:%S}s",
        f"{at.year}-{at.month}-{at.day} @{at:%H}h {at:%M}m {at:%S}s 0ms",
    )[number % 4]


def chat_name(character: str, number: int) -> str:
    return f"{character} - {moment(number):%Y-%m-%d@%Hh%Mm%Ss}{number % 1000:03}ms"


def picture(random: Random, *chunks: bytes) -> bytes:
    """A PNG of 8 by 8 pixels; further chunks stand before its end, where SillyTavern puts the card."""
    rows = b"".join(b"\0" + random.randbytes(24) for _ in range(8))
    header = chunk(b"IHDR", pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
    return SIGNATURE + header + chunk(b"IDAT", zlib.compress(rows)) + b"".join(chunks) + chunk(b"IEND", b"")
