from collections.abc import Iterator
from typing import Any

import pytest

from tavernkit import (
    ChatHistory,
    HookRegistry,
    Injection,
    InjectionRegistry,
    Injections,
    LoreEngine,
    MacroEngine,
    MacroEnvironment,
    MacroRegistry,
    Message,
    Preset,
    TokenEstimator,
    VariablesStore,
)


def test_an_id_registers_once_and_the_order_is_that_of_the_ids() -> None:
    injections = Injections(Injection(id="b", content="1"), Injection(id="a", content="2"))
    injections.register(Injection(id="b", content="3"))
    assert [(injection.id, injection.content) for injection in injections] == [("a", "2"), ("b", "3")]


def test_removing_is_quiet_about_what_is_not_there() -> None:
    injections = Injections(Injection(id="a", content=""))
    injections.remove("a")
    injections.remove("a")
    assert list(injections) == []


def test_ephemeral_ids_are_named_for_pruning() -> None:
    injections = Injections(Injection(id="a", content="", ephemeral=True), Injection(id="b", content=""))
    assert injections.ephemeral_ids == ("a",)


class ShortHistory(ChatHistory):
    def __init__(self, *messages: Message) -> None:
        self.messages = list(messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: Message) -> None:
        self.messages.append(message)

    def clear(self) -> None:
        self.messages.clear()


class OneScope(VariablesStore):
    version = 0

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def get(self, name: str, scope: str = "local") -> Any:
        return self.values.get(name)

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        self.values[name] = value

    def delete(self, name: str, scope: str = "local") -> None:
        del self.values[name]

    def snapshot(self, scope: str = "local") -> dict[str, Any]:
        return dict(self.values)


class OneInjection(InjectionRegistry):
    def register(self, injection: Injection) -> None: ...

    def remove(self, id: str) -> None: ...

    def __iter__(self) -> Iterator[Injection]:
        return iter([Injection(id="once", content="", ephemeral=True)])


class SmallPreset(Preset):
    context_window_tokens = 512
    reserved_response_tokens = 112


def test_a_subclass_gets_what_follows_from_the_rest() -> None:
    history = ShortHistory(*(Message(role=role, content=role) for role in ("user", "assistant", "user")))
    assert [message.content for message in history.last(2)] == ["assistant", "user"]
    assert (list(history.last(0)), history.count_role("user")) == ([], 2)
    variables = OneScope()
    for value in (1, 2):
        variables.add("n", value)
    assert (variables.get("n"), variables.has("n"), variables.has("m")) == (3, True, False)
    assert OneInjection().ephemeral_ids == ("once",)
    assert SmallPreset().max_prompt_tokens == 400


@pytest.mark.parametrize(
    "contract",
    [
        *(ChatHistory, HookRegistry, InjectionRegistry, LoreEngine, MacroEngine),
        *(MacroEnvironment, MacroRegistry, Preset, TokenEstimator, VariablesStore),
    ],
)
def test_a_subclass_that_leaves_something_out_cannot_be_made(contract: type) -> None:
    unfinished = type("Unfinished", (contract,), {})
    with pytest.raises(TypeError, match="abstract"):
        unfinished()
