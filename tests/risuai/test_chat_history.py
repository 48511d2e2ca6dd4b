"""Between the core's history and a chat as RisuAI keeps it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Message
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.chat_history import to_chat, to_history
from tavernkit.text.js_numbers import number_to_string

NOON = datetime(2025, 3, 9, 12, tzinfo=UTC)
NOON_MS = 1741521600000.0


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (NOON, NOON_MS),
        (NOON_MS, NOON_MS),
        ("2025-03-09T12:00:00Z", NOON_MS),
        ("2025-03-09T12:00:00.000Z", NOON_MS),
        ("2025-03-09T14:00:00+02:00", NOON_MS),
        ("2025-03-09T12:00:00", NOON_MS),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_dates_of_every_kind_become_milliseconds(date: datetime | float | str | None, expected: float | None) -> None:
    (message,) = to_chat([Message(role="user", content="x", send_date=date)])
    assert message.time == expected


@given(st.text(max_size=40))
def test_no_date_of_strangers_breaks_a_chat(date: str) -> None:
    (message,) = to_chat([Message(role="user", content="x", send_date=date)])
    assert message.time is None or number_to_string(message.time)


def test_a_chat_comes_back_as_it_was() -> None:
    chat = [
        RisuMessage(role="user", data="a", id="m1", time=NOON_MS),
        RisuMessage(role="char", data="b", id="m2", saying="cha-1", disabled="allBefore"),
    ]
    assert to_chat(to_history(chat)) == chat
