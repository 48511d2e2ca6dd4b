"""The chats of Backyard archives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tavernkit.chats import ChatFile, read_chat, write_chat
from tavernkit.errors import ArchiveParseError, ParseError
from tavernkit.reading import ImportReport
from tests.characters.card_files import archive, byaf, charx, v3


def output(text: str, day: int, active: int) -> dict[str, Any]:
    return {"createdAt": f"2024-03-{day:02}T12:00:00Z", "updatedAt": "", "text": text,
            "activeTimestamp": f"2024-04-{active:02}T12:00:00Z"}  # fmt: skip


SCENARIO = {
    "narrative": "{character} is late.",
    "firstMessages": [{"characterID": "c1", "text": "Tick, {user}."}],
    "messages": [
        {"type": "human", "createdAt": "2024-03-01T12:00:00Z", "updatedAt": "", "text": "Hi, {character}!"},
        {"type": "ai", "outputs": [output("One.", 2, 5), output("Two.", 3, 9), output("Three.", 4, 6)]},
        {"type": "ai", "outputs": [output("Only.", 5, 5)]},
    ],
}


def read(data: bytes) -> tuple[tuple[ChatFile, ...], ImportReport]:
    return read_chat(data, now=lambda: datetime(2025, 1, 1, tzinfo=UTC), user_name="Sam")


def test_each_scenario_with_messages_is_a_chat() -> None:
    chats, report = read(byaf(**{"scenarios/s1.json": SCENARIO}))
    assert report.format == "byaf"
    assert [len(chat.messages) for chat in chats] == [4, 2]
    first = chats[0]
    assert first.header is not None
    assert (first.header.user_name, first.header.character_name) == ("Sam", "Ysolde")
    assert first.header.chat_metadata == {"scenario": "{{char}} is late."}
    assert [(message.name, message.is_user, message.text) for message in first.messages] == [
        ("Ysolde", False, "Tick, {{user}}."),
        ("Sam", True, "Hi, {{char}}!"),
        ("Ysolde", False, "Two."),
        ("Ysolde", False, "Only."),
    ]
    assert first.messages[1].send_date == "2024-03-01T12:00:00Z"
    reply = first.messages[2]
    assert (reply.swipes, reply.swipe_id, reply.send_date) == (("One.", "Two.", "Three."), 1, "2024-03-03T12:00:00Z")
    assert read(write_chat(first).encode())[0] == (first,)


def test_a_greeting_that_is_also_a_message_is_there_once() -> None:
    said = {"type": "ai", "outputs": [output("Tick, {user}.", 1, 1)]}
    (chat, _), _ = read(byaf(**{"scenarios/s1.json": {**SCENARIO, "messages": [said]}}))
    assert [message.text for message in chat.messages] == ["Tick, {{user}}."]


@pytest.mark.parametrize(
    "messages", [["?"], [{}], [{"type": "ai"}], [{"type": "ai", "outputs": "?"}], [{"type": 5, "text": None}], {"a": 1}]
)
def test_odd_messages_are_read_as_well_as_possible(messages: Any) -> None:
    chats, _ = read(byaf(**{"scenarios/s1.json": {**SCENARIO, "messages": messages}}))
    assert chats


def test_archives_without_a_chat_are_refused() -> None:
    empty = {**SCENARIO, "messages": []}
    with pytest.raises(ParseError, match="no conversation"):
        read(byaf(**{"scenarios/s1.json": empty, "scenarios/s2.json": empty}))
    with pytest.raises(ArchiveParseError, match=r"manifest\.json"):
        read(charx(v3()))
    with pytest.raises(ArchiveParseError):
        read(archive({"manifest.json": "{}"})[:-10])
