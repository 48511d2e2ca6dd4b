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
        ({"role": "user", "metadata": 3}, "metadata must be a mapping"),
        ("hello", "must be a Message or a mapping"),
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
    attachments=st.lists(st.builds(Attachment, url=st.text()), max_size=2).map(tuple),
    metadata=st.dictionaries(st.text(), st.integers()),
)


@given(messages)
def test_to_dict_and_back_is_the_identity(message: Message) -> None:
    assert Message.coerce(message.to_dict()) == message
