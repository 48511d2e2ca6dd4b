"""Times and dates."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.chat import RisuMessage

from .scenes import MESSAGES, a_scene, says


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{unixtime}}", "1741529225"),
        ("{{isotime}} {{isodate}}", "14:7:5 2025-3-9"),
        ("{{time}} {{date}}", "14:7:5 2025-3-9"),
        ("{{date::YYYY-MM-DD}}", "2025-03-09"),
        ("{{date::YY/MMM/DD ddd}}", "25/Mar/09 Sun"),
        ("{{time::hh A}}", "02 PM"),
        ("{{date::MMMMM DDDD}}", "MarchM 68"),
        ("{{date::X x}}", "1741529225 1741529225000"),
        ("{{date:::HH}}", "14"),
        ("[{{date::}}]", "[]"),
        ("{{date::YYYY::abc}}", "2025"),
        ("{{date::YYYY-MM-DD HH:mm:ss::1640995200}}", "1970-01-01 00:27:20"),
        ("{{date::MMMM::8640000000000}}", "AMpril"),
        ("{{date::YYYY::1e17}}", "5138"),
        ("{{date::YYYY::8e18}}", "255479"),
        ("{{date::YYYY::1e30}}", "{{date::YYYY::1e30}}"),
        ("{{date::" + "Y" * 301 + "}}", ""),
    ],
)
def test_dates_are_written_token_by_token(macro: str, text: str) -> None:
    assert says(macro) == text


def test_local_time_is_the_clocks_own() -> None:
    scene = a_scene(zone=ZoneInfo("Asia/Seoul"))
    assert (
        says("{{time}} {{date::HH}} {{isotime}} {{messagetime}}", scene, chat_index=0) == "23:7:5 23 14:7:5 10:00:00 PM"
    )


@given(st.datetimes(datetime(1971, 1, 2), datetime(2200, 1, 1)))  # noqa: DTZ001 - given a zone below
def test_the_day_of_the_year_counts_from_one(moment: datetime) -> None:
    scene = a_scene(now=moment.replace(tzinfo=UTC))
    assert says("{{date::DDDD}}", scene) == str(moment.timetuple().tm_yday)


@pytest.mark.parametrize(
    ("chat_index", "time", "date"),
    [
        (-1, "[Cannot get time]", "[Cannot get time]"),
        (0, "1:00:00 PM", "3/9/2025"),
        (9, "{{messagetime}}", "{{messagedate}}"),
    ],
)
def test_when_a_message_was_sent(chat_index: int, time: str, date: str) -> None:
    assert says("{{messagetime}}", chat_index=chat_index) == time
    assert says("{{messagedate}}", chat_index=chat_index) == date


def test_a_message_of_an_older_version_has_no_time() -> None:
    scene = a_scene(messages=[RisuMessage(role="user", data="x", time=0)])
    older = "[Cannot get time, message was sent in older version]"
    assert says("{{messagetime}}", scene, chat_index=0) == says("{{idleduration}}", scene) == older
    assert says("{{messageunixtimearray}}", scene) == '["0"]'


@pytest.mark.parametrize(
    ("chat_index", "away"),
    [
        (-1, "[Cannot get time]"),
        (0, "[No previous user message found]"),
        (2, "1:02:05"),
        (-5, "[No user message found]"),
    ],
)
def test_how_long_the_user_was_away(chat_index: int, away: str) -> None:
    assert says("{{messageidleduration}}", chat_index=chat_index) == away


def test_how_long_nobody_spoke() -> None:
    assert says("{{idleduration}}") == "0:05:00"
    assert says("{{idleduration}}", a_scene(messages=())) == "00:00:00"


def test_time_that_runs_backwards_has_signs_of_its_own() -> None:
    later = [MESSAGES[0].with_(time=1741534200000)]
    assert says("{{idleduration}}", a_scene(messages=later)) == "-2:-23:-55"


def test_a_time_without_end() -> None:
    scene = a_scene(messages=[MESSAGES[0].with_(time=float("inf"))])
    assert says("{{idleduration}} {{messagetime}}", scene, chat_index=0) == "-Infinity:NaN:NaN Invalid Date"


def test_times_are_not_told_while_tokens_are_counted() -> None:
    assert says("{{messagetime}}{{idleduration}}", tokenizes_accurately=True) == "00:00:0000:00:00"
