"""Dates and durations in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.macros.dates import parse_moment, parse_sent, parse_written
from tavernkit.sillytavern.macros.moment import format_moment, humanize

AT = datetime(2024, 3, 15, 14, 30, 45, 123_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("SSS S SSSSSS", "123 1 123000"),
        ("a A kk", "pm PM 14"),
        ("[at] hh[h]", "at 02h"),
        ("YY\n[a\nb]\rMM", "24a\nb03"),
        ("x", "1710513045123"),
        ("Hmmss", "143045"),
        ("\\L LT", "L 2:30 PM"),
        ("N NNNN", "AD Anno Domini"),
    ],
)
def test_format_codes(format, expected):
    assert format_moment(AT, format) == expected


@given(st.text(max_size=20))
def test_any_text_is_a_format(format):
    assert isinstance(format_moment(AT, format), str)


@given(st.text(max_size=20))
def test_any_text_is_a_date_or_none(text):
    moment = parse_moment(text, UTC)
    assert moment is None or moment.tzinfo is not None


@given(st.integers(min_value=0, max_value=4_000_000_000_000))
def test_what_is_written_by_iso_rules_is_read_back(milliseconds):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert parse_moment(format_moment(moment, "YYYY-MM-DDTHH:mm:ss.SSSZ"), UTC) == moment


@given(st.timedeltas(min_value=timedelta(days=-10_000), max_value=timedelta(days=10_000)))
def test_a_duration_says_which_way_it_goes(duration):
    said = humanize(duration, with_suffix=True)
    assert said.startswith("in ") is (duration > timedelta())
    assert humanize(duration) in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-W11-5", "2024-03-15T00:00"),
        ("2024-075", "2024-03-15T00:00"),
        ("20240315T1030", "2024-03-15T10:30"),
        ("2024-03-15T10:30+0200", "2024-03-15T08:30"),
        ("2024-03-14T24:00", "2024-03-15T00:00"),
        ("2024-3-5 1:00", "2024-03-05T01:00"),
        ("15 March 2024 10:30 pm EST", "2024-03-16T03:30"),
        ("3/15/24", "2024-03-15T00:00"),
        ("2024-03 10:00", "2024-03-01T10:00"),
        ("2024-02-30", None),
        ("2024-367", None),
        ("2024-W54", None),
        ("2024-03-15T25:00", None),
        ("1710500000000", None),
        ("+999999-01-01", None),
        ("tomorrow", None),
    ],
)
def test_dates_that_people_write(text, expected):
    milliseconds = parse_written(text, UTC)
    moment = None if milliseconds is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert (None if moment is None else f"{moment:%Y-%m-%dT%H:%M}") == expected


def test_a_date_without_a_zone_is_of_the_clock_of_the_user():
    tokyo = ZoneInfo("Asia/Tokyo")
    nine_hours = 9 * 3_600_000
    for text in ("2024-03-15T10:30", "March 15, 2024 10:30"):
        assert parse_written(text, UTC) - parse_written(text, tokyo) == nine_hours
    for text in ("2024-03-15T10:30Z", "March 15, 2024 10:30 GMT"):
        assert parse_written(text, UTC) == parse_written(text, tokyo)


def test_a_date_of_a_chat_has_a_form_of_its_own():
    ten = parse_written("2024-03-05T22:05Z", UTC)
    for date in (ten, "March 5, 2024 10:05pm", "2024-3-5@22h5m0s", "2024-03-05 @22h 05m 00s 0ms"):
        assert parse_sent(int(date) if isinstance(date, float) else date, UTC) == ten
    assert parse_sent("March 5, 2024", UTC) is None
    assert parse_sent(10**17, UTC) is None
