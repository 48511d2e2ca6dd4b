import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Attachment, Message


def test_a_mapping_becomes_a_message_and_unknown_keys_become_metadata() -> None:
    message = Message.coerce({"role": "Assistant", "content": "Hi", "name": "Mira", "swipe_id": 2})
    assert message == Message(role="assistant", content="Hi", name="Mira", metadata={"swipe_id": 2})


def test_null_content_is_empty_text() -> None:
    assert Message.coerce({"role": "assistant", "content": None, "tool_calls": []}).content == ""


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ({"content": "x"}, "needs a role"),
        ({"role": 5}, "needs a role"),
        ({"role": "user", "content": ["x"]}, "content must be text"),
        ({"role": "user", "name": 3}, "name must be text"),
        ({"role": "user", "attachments": [{"data": 3}]}, r"attachments must be .*data"),
        ({"role": "user", "metadata": 3}, "metadata must be a mapping"),
        ("hello", "must be a Message or a mapping"),
        (Message(role="user", content=None), "role and content must be text"),
    ],
)
def test_what_is_wrong_is_said(source: object, complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        Message.coerce(source)


messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.text(),
    name=st.none() | st.text(),
    send_date=st.none() | st.integers() | st.text(),
    attachments=st.lists(
        st.builds(Attachment, url=st.text()) | st.builds(Attachment, data=st.binary()), max_size=2
    ).map(tuple),
    metadata=st.dictionaries(st.text(), st.integers()),
)


@given(messages)
def test_to_dict_and_back_is_the_identity(message: Message) -> None:
    assert Message.coerce(message.to_dict()) == message
    assert Message.coerce(json.loads(json.dumps(message.to_dict()))) == message


def test_what_json_has_no_form_for_is_written_as_text() -> None:
    noon = datetime(2026, 1, 29, 12, tzinfo=UTC)
    odd = {"path": Path("a"), "seen": {noon}, "number": Decimal("1.5"), 7: b"bytes", "inner": [object]}
    written = json.loads(json.dumps(Message(role="user", send_date=noon, metadata=odd).to_dict()))
    assert written["send_date"] == "2026-01-29T12:00:00Z"
    assert written["metadata"] == {
        "path": "a",
        "seen": ["2026-01-29T12:00:00Z"],
        "number": "1.5",
        "7": "Ynl0ZXM=",
        "inner": ["<class 'object'>"],
    }
