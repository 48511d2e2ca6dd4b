"""Dates: LiquidJS shows them, and Python reads them as V8 does, without a clock or zone of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from tavernkit.artifacts.liquid import LiquidOptions, LiquidTemplate
from tavernkit.errors import LiquidRenderError

CLOCK = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


def render(source: str, options: LiquidOptions | None = None, **values: Any) -> str:
    template = LiquidTemplate.parse(source, options=options or LiquidOptions())
    return template.render(values, clock=lambda: CLOCK, random=lambda: 0.5)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-03-14T23:30:00-05:00", "14 23:30 -0500 -0500"),
        ("2026-03-14T23:30:00+0530", "14 23:30 +0530 +0530"),
        ("Sat, 14 Mar 2026 15:09:26 GMT+0200", "14 15:09 +0200 +0200"),
        ("2026-03-14T23:30:00Z", "14 23:30 +0000 +0000"),
        ("2026-03-14 23:30:00", "14 23:30 +0000 UTC"),
        ("03-14-2026", "13 03:34 -2026 -2026"),
        ("1773500966", "14 15:09 +0000 +0000"),
    ],
)
def test_a_date_keeps_the_offset_it_is_written_with_where_that_is_an_option(written: str, shown: str) -> None:
    source, keeping = "{{ written | date: '%d %H:%M %z %Z' }}", LiquidOptions(preserve_timezones=True)
    assert render(source, keeping, written=written) == shown
    assert render("{{ '2026-03-14T23:30:00-05:00' | date: '%H:%M %z', 'Asia/Tokyo' }}", keeping) == "13:30 +0900"
    assert render("{{ '2026-03-14T23:30:00-05:00' | date: '%d %H:%M %z' }}") == "15 04:30 +0000"


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Saturday 14 March 2026", "2026-03-14 00:00:00.000"),
        ("Mar-14-2026 3:09 pm (a Saturday (in spring)) GMT+2", "2026-03-14 13:09:00.000"),
        ("10:20:30.5 1 Jan 20 EST", "2020-01-01 15:20:30.500"),
        ("2026-3-4 7:05 +05:30", "2026-03-04 01:35:00.000"),
        ("2026-03-14 15:09", "2026-03-14 15:09:00.000"),
        ("2026-03-14 15:09:26.5+05:30", "2026-03-14 09:39:26.500"),
        ("2026-02-30", "2026-03-02 00:00:00.000"),
        ("12/25/99 24:00", "1999-12-26 00:00:00.000"),
        ("99 Dec 5 10::", "1999-12-05 10:00:00.000"),
        ("-002026-03-14T10:00-0030", "-2026-03-14 10:30:00.000"),
        ("0026-03-14", "0026-03-14 00:00:00.000"),
        ("Dec 828", "0828-12-01 00:00:00.000"),
        ("chapter 3", "2001-03-01 00:00:00.000"),
        *(
            (text, text)
            for text in (
                "14 March 2026 Saturday", "May 3rd, 2026", "chapter3", "[0]", "1 Jan 2020 13:00 pm", "1 2 3 4", "noon",
                " 2026-03-14T10:00:00Z", "2026-03-14T10:00:00+24:00", "2026-03-14T1:00", "5)",
                "1 Jan 2020 10:00+12345", "1 Jan 2020 10:20.x", "1 Jan 2020 10:20:30,5", "5-6-2020 10:10 x",
            )
        ),
    ],
)  # fmt: skip
def test_dates_in_words_are_read_as_v8_reads_them(written: str, moment: str) -> None:
    assert render("{{ written | date: '%Y-%m-%d %H:%M:%S.%L' }}", written=written) == moment


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 1.9 | date: '%s' }} {{ -0.5 | date: '%s' }}", "1 -1"),
        ("{{ 0 | date: '%5h|%10z|%:Z' }}", "00Jan|00000+0000|+00:00"),
        ("{{ 0 | date: '%10z|%_10z|%:Z', 60 }}", "-000000100|     -0100|-01:00"),
        ("{{ 0 | date: '%H:%M %Z', 'asia/TOKYO' }}", "09:00 asia/TOKYO"),
        ("{{ 0 | date: '%H:%M', true }}", "23:59"),
        ("{{ (0..0) | date: '%Y' }}", "2000"),
    ],
)
def test_dates_are_written(source: str, text: str) -> None:
    assert render(source) == text


def test_no_zone_says_where_the_machine_stands() -> None:
    with pytest.raises(LiquidRenderError, match='there is no time zone "localtime"'):
        render("{{ 0 | date: '%H', 'localtime' }}")


def test_dates_are_shown_in_the_zone_that_is_given() -> None:
    tokyo = LiquidOptions(zone="Asia/Tokyo")
    assert render("{{ 'now' | date: '%d %H:%M' }} {{ '14 Mar 2026 20:00' | date: '%d %H:%M' }}", tokyo) == (
        "15 00:09 15 05:00"
    )
    assert render("{{ 'now' | date: '%H:%M', 'Europe/Berlin' }}", tokyo) == "16:09"


def test_many_dates_in_words_are_read_in_one_go() -> None:
    days = [f"{day} March 2026" for day in range(1, 32)]
    source = "{% for day in days %}{{ day | date: '%-d', 'Asia/Tokyo' }} {% endfor %}"
    assert render(source, days=days).split() == [str(day) for day in range(1, 32)]


SHOWN_ANYWHERE = """
from datetime import UTC, datetime
from tavernkit.artifacts.liquid import LiquidTemplate

source = "{{ 'now' | date }}|{{ '2026-07-14 15:09' | date: '%c %x %X %Z' }}|{{ '14 July 2026' | date: '%s' }}"
now = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
print(LiquidTemplate.parse(source).render({}, clock=lambda: now, random=lambda: 0.5))
"""


def test_the_zone_and_language_of_the_machine_change_nothing() -> None:
    shown = {
        subprocess.run(
            [sys.executable, "-c", SHOWN_ANYWHERE],
            env={**os.environ, "TZ": zone, "LC_ALL": language},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone, language in (("Asia/Tokyo", "C.UTF-8"), ("America/New_York", "de_DE.UTF-8"))
    }
    assert shown == {
        "Saturday, March 14, 2026 at 3:09 pm +0000|7/14/2026, 3:09:00 PM 7/14/2026 3:09:00 PM +0000|1783987200\n"
    }
