"""Cards as JSON, on their own or inside something else."""

from __future__ import annotations

from tavernkit.characters.bundle import Bundle
from tavernkit.characters.decode import check_has_card_fields, decode_card
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder, parse_json
from tavernkit.values import Json


def read_json(data: bytes, limits: CardLimits) -> Bundle:
    """Read a JSON file that is a card."""
    report = ReportBuilder()
    source = parse_card_json(data, report, limits, what="The JSON file")
    check_has_card_fields(source)
    card = decode_card(source, report, limits=limits)
    return Bundle(format="json", card=card, report=report.build("json"))


def parse_card_json(
    data: bytes, report: ReportBuilder, limits: CardLimits, *, what: str, error: type[ParseError] = ParseError
) -> Json:
    """Parse JSON under the limits for cards, and note bytes that are not text; `error` is what its container raises."""
    if not _is_utf8(data):
        report.converted("", "bytes that are not UTF-8 became replacement characters")
    try:
        return parse_json(data, what=what, max_bytes=limits.json_bytes, max_values=limits.json_values)
    except ParseError as problem:
        raise error(str(problem)) from None


def _is_utf8(data: bytes) -> bool:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
