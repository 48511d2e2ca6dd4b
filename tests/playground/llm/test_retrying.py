"""When somebody is asked again, and after how long."""

import pytest

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.retrying import Retries, retry_after

NOW = "Mon, 16 Nov 2026 10:00:00 GMT"


def refused(status: int, wait: float | None = None) -> ModelError:
    return ModelError("No.", code="http_error", status=status, retry_after=wait)


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (refused(500), [1, 2, 4, 5]),
        (refused(429), [1, 2, 4, 5]),
        (refused(429, 3), [3, 3, 3, 3]),
        (refused(529, 5), [5, 5, 5, 5]),
        (refused(429, 6), [None] * 4),
        (refused(400), [None] * 4),
        (refused(401), [None] * 4),
        (ModelError("No.", code="connection_error"), [1, 2, 4, 5]),
        (ModelError("No.", code="timeout"), [None] * 4),
        (ModelError("No.", code="bad_response"), [None] * 4),
        (ModelError("No.", code="blocked"), [None] * 4),
    ],
)
def test_the_waits_double_up_to_the_longest(error: ModelError, waits: list[float | None]) -> None:
    retries = Retries(first_wait=1, longest_wait=5)
    assert [retries.wait(error, attempt) for attempt in (1, 2, 3, 4)] == waits


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 +9999999999999", "date": NOW}, None),
        ({"retry-after": "Mon, 16 Nov 99999999999999 10:00:30 GMT", "date": NOW}, None),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT", "date": NOW}, 30),
        ({"retry-after": "Mon, 16 Nov 2026 09:00:00 GMT", "date": NOW}, 0),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 -0000", "date": NOW}, None),
    ],
)
def test_a_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
