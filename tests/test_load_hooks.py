import subprocess
import sys
import threading

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

import tavernkit
from tavernkit import LoadHooks
from tavernkit.errors import LoadHookError
from tavernkit.load_hooks import LoadScope


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


def broken(payload: object) -> None:
    raise RuntimeError("wiring")


def test_a_failing_hook_fails_fast() -> None:
    hooks = LoadHooks()
    hooks.on_load("app", broken)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="wiring"):
            hooks.run("app")
    hooks.run("other")
    with pytest.raises(RuntimeError, match="wiring"):
        hooks.on_load("other", broken)


def test_a_scope_whose_loading_failed_is_not_loaded() -> None:
    hooks, log = LoadHooks(), []
    hooks.on_load("app", broken, id="x")
    with pytest.raises(RuntimeError):
        hooks.run("app", 1)
    hooks.on_load("app", log.append, id="x")
    assert log == []
    hooks.run("app", 2)
    assert log == [2]


def test_on_load_decorates() -> None:
    hooks, log = LoadHooks(), []

    @hooks.on_load("app", id="x")
    def old(payload: object) -> None:
        log.append("old")

    @hooks.on_load("app", id="x")
    def new(payload: object) -> None:
        log.append(payload)

    hooks.run("app", 1)
    new(2)
    assert log == [1, 2]


def test_a_failing_hook_fails_the_first_use_of_a_scope_and_every_later_one() -> None:
    hooks, made = LoadHooks(), []

    def make() -> list[str]:
        made.append("payload")
        return []

    scope = LoadScope("app", make, hooks)
    hooks.on_load("app", lambda payload: payload.append("complete"))
    hooks.on_load("app", broken)
    causes = []
    for _ in range(3):
        with pytest.raises(LoadHookError, match="'app' failed: RuntimeError: wiring") as raised:
            scope()
        causes.append(raised.value.__cause__)
    assert made == ["payload"]
    assert isinstance(causes[0], RuntimeError)
    assert causes == [causes[0]] * 3


def test_a_scope_is_given_to_nobody_before_all_hooks_have_run() -> None:
    hooks = LoadHooks()
    scope: LoadScope[list[int]] = LoadScope("app", list, hooks)
    begun, other = threading.Event(), threading.Event()
    seen: list[list[int]] = []

    def slow(payload: list[int]) -> None:
        begun.set()
        assert other.wait(60)
        payload.append(1)

    def use() -> None:
        seen.append(list(scope()))

    hooks.on_load("app", slow)
    hooks.on_load("app", lambda payload: payload.append(2))
    threads = [threading.Thread(target=use) for _ in range(5)]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    other.set()
    for thread in threads:
        thread.join()
    assert seen == [[1, 2]] * 5
    hooks.on_load("app", lambda payload: payload.append(3))
    assert scope() == [1, 2, 3]


def test_a_hook_that_asks_for_what_it_is_given_is_told_so() -> None:
    hooks = LoadHooks()
    scope: LoadScope[list[int]] = LoadScope("app", list, hooks)
    hooks.on_load("app", lambda _: scope())
    with pytest.raises(LoadHookError, match="use the argument of the hook"):
        scope()


EVERY_SCOPE = """
from tavernkit import build, characters, dialects, on_load
from tavernkit.artifacts.pipelines import check_profile
from tavernkit.errors import LoadHookError
from tavernkit.prompt.tokens import CharacterRatio, default_estimator
from tavernkit.risuai.cbs import CBS
from tavernkit.sillytavern.macros import ParserMacros

uses = {
    "sillytavern.macros": ParserMacros,
    "risuai.cbs": CBS,
    "tavernkit.dialects": lambda: dialects.convert([]),
    "tavernkit.token_estimators": default_estimator,
    "tavernkit.build_hooks": lambda: build(estimator=CharacterRatio()),
    "tavernkit.importers": lambda: characters.load(b"{}"),
    "tavernkit.pipeline_steps": lambda: check_profile({"id": "p", "pipelines": [{"id": "q", "steps": [{}]}]}),
}
for scope in uses:
    on_load(scope, lambda _: 1 / 0)
for scope, use in uses.items():
    for _ in range(2):
        try:
            use()
        except LoadHookError as error:
            print(scope, repr(scope) in str(error), type(error.__cause__).__name__)
"""


def test_every_scope_of_the_library_fails_as_often_as_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_SCOPE], capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    assert len(lines) == 14
    assert {line.partition(" ")[2] for line in lines} == {"True ZeroDivisionError"}


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
        self.fails = False
        self.hooks.on_load("s", self.fail_if_told)

    def fail_if_told(self, payload: int) -> None:
        if self.fails:
            raise RuntimeError("wiring")

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

    @rule(payload=st.integers(0, 3))
    def fail_to_load(self, payload: int) -> None:
        self.fails = True
        with pytest.raises(RuntimeError):
            self.hooks.run("s", payload)
        self.fails = False
        self.payload = None
        assert self.calls == self.expected


TestLoadHooksModel = LoadHooksModel.TestCase


def test_the_shared_hooks_are_reached_from_the_package() -> None:
    log: list[object] = []
    tavernkit.on_load("tests.shared", log.append, id="once")
    tavernkit.run_load_hooks("tests.shared", 5)
    assert log == [5]
