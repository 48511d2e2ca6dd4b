"""Chat history as a source of prompts: messages from the oldest to the newest, of which often only the last matter."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tavernkit.prompt.message import Message


@runtime_checkable
class ChatHistory(Protocol):
    """A chat. A subclass gets `last` and `count_role` for nothing, by reading everything; an adapter over a database
    answers them, and the length, with a query."""

    @abstractmethod
    def __iter__(self) -> Iterator[Message]:
        """Oldest first."""

    @abstractmethod
    def __len__(self) -> int: ...

    def last(self, count: int) -> Sequence[Message]:
        """The newest `count` messages, oldest of them first."""
        return tuple(deque(self, maxlen=max(0, count)))

    def count_role(self, role: str) -> int:
        """How many messages that role has written."""
        return sum(message.role == role for message in self)

    @abstractmethod
    def append(self, message: Message) -> None: ...

    @abstractmethod
    def clear(self) -> None: ...


HistorySource: TypeAlias = ChatHistory | Iterable[Message | Mapping[str, Any]] | None


class InMemoryHistory(ChatHistory):
    """A chat in a list."""

    def __init__(self, messages: Iterable[Message | Mapping[str, Any]] = ()) -> None:
        self._messages = [Message.coerce(message) for message in messages]
        # Every build asks for one of them.
        self._roles = Counter([message.role for message in self._messages])

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def last(self, count: int) -> Sequence[Message]:
        return self._messages[-count:] if count > 0 else []

    def count_role(self, role: str) -> int:
        return self._roles[role]

    def append(self, message: Message) -> None:
        added = Message.coerce(message)
        self._messages.append(added)
        self._roles[added.role] += 1

    def clear(self) -> None:
        self._messages.clear()
        self._roles.clear()


def wrap(source: HistorySource) -> ChatHistory:
    """Accept nothing, an adapter, or any iterable of messages and mappings."""
    if source is None or isinstance(source, list | tuple):
        return InMemoryHistory(source or ())
    # Our own class first: a protocol takes long to answer.
    if isinstance(source, (InMemoryHistory, ChatHistory)):
        return source
    if isinstance(source, str | bytes | Mapping):
        raise TypeError(f"a history is a list of messages, not {type(source).__name__}")
    return InMemoryHistory(source)
