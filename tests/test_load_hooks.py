import threading

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

import tavernkit
from tavernkit import LoadHooks


def test_hooks_run_in_the_order_of_registration_when_the_scope_is_loaded() -> None:
    hooks, log = LoadHooks(), []
    hooks.on_load("app", lambda payload: log.append(("first", payload)))
    hooks.on_load("app", lambda payload: log.append(("named", payload)), id="n")
    hooks.on_load("other", lambda payload: log.append(("other", payload)))
    assert log == []
    hooks.run("app", 7)
    assert log == [("first", 7), ("named", 7)]


@pytest.mark.parametrize("payload", [None, False, 0, "infra"])
def test_a_late_hook_runs_at_once_whatever_the_payload(payload: object) -> None:
    hooks, log = LoadHooks(), []
    hooks.run("app", payload)
    hooks.on_load("app", log.append)
    assert log == [payload]


def test_an_id_registers_once_and_the_last_one_wins_in_the_first_ones_place() -> None:
    hooks, log = LoadHooks(), []
    hooks.on_load("app", lambda _: log.append("old"), id="x")
    hooks.on_load("app", lambda _: log.append("other"))
    hooks.on_load("app", lambda _: log.append("new"), id="x")
    hooks.run("app")
    assert log == ["new", "other"]


def test_loading_again_replaces_the_payload_and_runs_all_hooks() -> None:
    hooks, log = LoadHooks(), []
    hooks.on_load("app", log.append)
    hooks.run("app", 1)
    hooks.run("app", 2)
    hooks.on_load("app", log.append)
    assert log == [1, 2, 2]


def test_a_failing_hook_fails_fast() -> None:
    hooks = LoadHooks()

    def broken(payload: object) -> None:
        raise RuntimeError("wiring")

    hooks.on_load("app", broken)
    with pytest.raises(RuntimeError, match="wiring"):
        hooks.run("app")
    with pytest.raises(RuntimeError, match="wiring"):
        hooks.on_load("app", broken)


def test_a_hook_may_register_another() -> None:
    hooks, log = LoadHooks(), []
    hooks.on_load("app", lambda _: hooks.on_load("app", log.append))
    hooks.run("app", 1)
    assert log == [1]


def test_no_hook_is_lost_or_doubled_between_threads() -> None:
    for _ in range(50):
        hooks, log = LoadHooks(), []
        barrier = threading.Barrier(9)

        def register(hooks: LoadHooks = hooks, log: list[object] = log, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            hooks.on_load("app", log.append)

        def load(hooks: LoadHooks = hooks, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            hooks.run("app", "payload")

        threads = [threading.Thread(target=register) for _ in range(8)] + [threading.Thread(target=load)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert log == ["payload"] * 8


class LoadHooksModel(RuleBasedStateMachine):
    """Any order of registering and loading: each live hook has seen each payload since it came, and the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks = LoadHooks()
        self.calls: list[tuple[str, int]] = []
        self.expected: list[tuple[str, int]] = []
        self.live: dict[str, None] = {}
        self.payload: int | None = None

    @rule(name=st.sampled_from("abc"))
    def register(self, name: str) -> None:
        self.hooks.on_load("s", lambda payload: self.calls.append((name, payload)), id=name)
        self.live.setdefault(name)
        if self.payload is not None:
            self.expected.append((name, self.payload))
        assert self.calls == self.expected

    @rule(payload=st.integers(0, 3))
    def load(self, payload: int) -> None:
        self.hooks.run("s", payload)
        self.payload = payload
        self.expected += [(name, payload) for name in self.live]
        assert self.calls == self.expected


TestLoadHooksModel = LoadHooksModel.TestCase


def test_the_shared_hooks_are_reached_from_the_package() -> None:
    log: list[object] = []
    tavernkit.on_load("tests.shared", log.append, id="once")
    tavernkit.run_load_hooks("tests.shared", 5)
    assert log == [5]
