import pytest

from tavernkit import ChatHistory, InMemoryHistory, Message, wrap_history


def test_nothing_lists_and_iterables_are_wrapped() -> None:
    assert list(wrap_history(None)) == []
    assert list(wrap_history([{"role": "USER", "content": "a"}])) == [Message(role="user", content="a")]
    assert len(wrap_history(Message(role="user", content=str(n)) for n in range(3))) == 3


def test_an_adapter_is_used_as_it_is() -> None:
    adapter = InMemoryHistory()
    assert wrap_history(adapter) is adapter
    assert isinstance(adapter, ChatHistory)


@pytest.mark.parametrize("wrong", ["hello", b"hello", {"role": "user"}])
def test_what_is_no_list_of_messages_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="list of messages"):
        wrap_history(wrong)


def test_the_last_messages_are_the_newest_in_order() -> None:
    history = InMemoryHistory([{"role": "user", "content": str(n)} for n in range(5)])
    assert [message.content for message in history.last(2)] == ["3", "4"]
    assert [message.content for message in history.last(1)] == ["4"]
    assert [message.content for message in history.last(99)] == ["0", "1", "2", "3", "4"]
    assert list(history.last(0)) == []


def test_counting_appending_and_clearing() -> None:
    history = InMemoryHistory([{"role": "user", "content": "a"}])
    history.append(Message(role="assistant", content="b"))
    assert (history.count_role("user"), history.count_role("assistant"), len(history)) == (1, 1, 2)
    history.clear()
    assert len(history) == 0
