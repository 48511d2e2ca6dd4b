from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tavernkit import Variables

scopes = st.sampled_from(["local", "global"])
names = st.sampled_from(["a", "b", "c"])


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = Variables()
        self.model: dict[tuple[str, str], Any] = {}
        self.version = self.store.version

    @rule(name=names, value=st.integers() | st.text(), scope=scopes)
    def set(self, name: str, value: Any, scope: str) -> None:
        self.store.set(name, value, scope)
        self.model[scope, name] = value
        self.changed()

    @rule(name=names, scope=scopes)
    def delete(self, name: str, scope: str) -> None:
        self.store.delete(name, scope)
        if self.model.pop((scope, name), None) is not None:
            self.changed()

    def changed(self) -> None:
        assert self.store.version > self.version
        self.version = self.store.version

    @invariant()
    def agrees(self) -> None:
        assert self.store.version == self.version
        for scope in self.store.scopes:
            assert self.store.snapshot(scope) == {n: v for (s, n), v in self.model.items() if s == scope}
            for name in "abc":
                assert self.store.has(name, scope) == ((scope, name) in self.model)
                assert self.store.get(name, scope) == self.model.get((scope, name))


TestVariables = Model.TestCase


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 2, 3),
        (1.5, 1, 2.5),
        ("1", "2", "12"),
        ("a", 2, "a2"),
        (True, 1, "True1"),
        ([1], 2, [1, 2]),
        (None, "x", "x"),
    ],
)
def test_adding_sums_numbers_appends_to_lists_and_joins_the_rest(old: object, new: object, expected: object) -> None:
    store = Variables({"x": old})
    store.add("x", new)
    assert store.get("x") == expected


def test_adding_to_nothing_sets() -> None:
    store = Variables()
    store.add("x", 5, "global")
    assert (store.get("x", "global"), store.has("x")) == (5, False)


def test_an_unknown_scope_is_an_error() -> None:
    with pytest.raises(ValueError, match="there are local, global"):
        Variables().get("x", "temp")
