from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tavernkit import NameEnvironment, Variables
from tavernkit.macros.engine import BorrowedVariables
from tavernkit.macros.variables import CORE_SCOPES

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
        ("x", None, "x"),
        (1, "x", "1x"),
        ("x", True, "xTrue"),
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


def test_variables_are_local_unless_a_scope_is_named() -> None:
    store = Variables({"a": 1}, {"a": 2})
    assert (store.version, store.scopes, store.get("a"), store.snapshot()) == (0, CORE_SCOPES, 1, {"a": 1})
    store.set("b", 3)
    store.delete("a")
    store.delete("a")
    assert (store.snapshot(), store.snapshot("global"), store.version) == ({"b": 3}, {"a": 2}, 2)


def test_an_unknown_scope_is_an_error() -> None:
    with pytest.raises(ValueError, match="there are local, global"):
        Variables().get("x", "temp")


class TestBorrowedVariables:
    """A store over the environment of another engine."""

    def borrowed(self, **local: object) -> tuple[BorrowedVariables, Variables]:
        owner = Variables(local, {"mood": "calm"})
        return BorrowedVariables(NameEnvironment(character_name="Mira", user_name="Robin", variables=owner)), owner

    def test_what_is_set_reaches_the_owner_in_its_scope_and_counts_as_a_change(self) -> None:
        store, owner = self.borrowed()
        assert store.version == 0
        store.set("a", 1)
        store.set("a", 2, "global")
        assert (owner.snapshot(), owner.get("a", "global")) == ({"a": 1}, 2)
        assert (store.get("a"), store.get("a", "global"), store.get("mood", "global")) == (1, 2, "calm")
        assert store.version == 2

    def test_what_is_deleted_is_set_to_nothing(self) -> None:
        store, owner = self.borrowed(a=1)
        store.delete("a")
        store.delete("never there")
        assert (store.has("a"), owner.get("a"), store.version) == (False, None, 1)
        assert (store.has("mood", "global"), store.has("mood")) == (True, False)
        store.delete("mood", "global")
        assert not store.has("mood", "global")

    def test_adding_joins_with_what_is_there_or_sets(self) -> None:
        store, owner = self.borrowed(a=1)
        store.add("a", 2)
        store.add("b", 5)
        store.add("mood", "er", "global")
        assert (owner.get("a"), owner.get("b"), owner.get("mood", "global")) == (3, 5, "calmer")

    def test_a_snapshot_has_what_was_written_here_and_is_still_there(self) -> None:
        store, _ = self.borrowed(a=1)
        assert store.snapshot() == {}
        store.set("c", 3)
        store.set("b", 2)
        store.set("d", 4)
        store.delete("d")
        store.set("e", 5, "global")
        assert list(store.snapshot().items()) == [("b", 2), ("c", 3)]
        assert store.snapshot("global") == {"e": 5}


def test_the_environment_of_names_passes_the_scope_on() -> None:
    variables = Variables()
    environment = NameEnvironment(character_name="Mira", user_name="Robin", variables=variables)
    environment.set_var("a", 1, "global")
    assert (environment.get_var("a", "global"), environment.has_var("a", "global")) == (1, True)
    assert (environment.get_var("a"), environment.has_var("a")) == (None, False)
