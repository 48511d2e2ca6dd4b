"""Dates and durations in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit.sillytavern.macros.moment import format_moment, humanize, parse_moment

AT = datetime(2024, 3, 15, 14, 30, 45, 123_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("SSS S SSSSSS", "123 1 123000"),
        ("a A kk", "pm PM 14"),
        ("[at] hh[h]", "at 02h"),
        ("x", "1710513045123"),
        ("Hmmss", "143045"),
        ("\\L LT", "L 2:30 PM"),
        ("N NNNN", "AD Anno Domini"),
    ],
)
def test_format_codes(format, expected):
    assert format_moment(AT, format) == expected


@settings(max_examples=100)
@given(st.text(max_size=20))
def test_any_text_is_a_format(format):
    assert isinstance(format_moment(AT, format), str)


@settings(max_examples=100)
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
