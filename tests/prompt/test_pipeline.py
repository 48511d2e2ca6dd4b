from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import (
    Context,
    Pipeline,
    PipelineError,
    StrictModeError,
    TavernKitError,
    TokenBudgetExceeded,
    TraceCollector,
    run,
)
from tavernkit.prompt.finishing import settle


def note(name: str):
    def stage(ctx: Context) -> None:
        ctx.metadata.setdefault("log", []).append(name)

    return stage


def wrapping(name: str):
    def stage(ctx: Context) -> Iterator[None]:
        ctx.metadata.setdefault("log", []).append(f"{name} in")
        yield
        ctx.metadata["log"].append(f"{name} out")

    return stage


def test_stages_run_in_order_and_second_halves_in_reverse() -> None:
    ctx = Context()
    Pipeline([("a", wrapping("a")), ("b", note("b")), ("c", wrapping("c"))]).run(ctx)
    assert ctx["log"] == ["a in", "b", "c in", "c out", "a out"]


def test_edits_return_new_pipelines() -> None:
    base = Pipeline([("a", note("a")), ("c", note("c"))])
    edited = base.insert_after("a", "b", note("b")).insert_before("a", "zero", note("zero")).append("d", note("d"))
    assert edited.names == ("zero", "a", "b", "c", "d")
    assert edited.remove("zero").replace("a", note("A")).names == ("a", "b", "c", "d")
    assert base.names == ("a", "c")
    assert len(edited) == 5
    assert [name for name, _ in edited] == list(edited.names)


def test_a_wrong_edit_says_what_there_is() -> None:
    base = Pipeline([("a", note("a"))])
    with pytest.raises(ValueError, match="no stage 'x'; there are a"):
        base.remove("x")
    with pytest.raises(ValueError, match="unique"):
        base.append("a", note("a"))
    with pytest.raises(ValueError, match="at least one"):
        base.remove("a")


def test_an_exception_is_told_with_its_stage_and_cause() -> None:
    def broken(ctx: Context) -> None:
        raise KeyError("pony")

    with pytest.raises(PipelineError, match=r"stage: broken") as caught:
        Pipeline([("fine", note("fine")), ("broken", broken)]).run(Context())
    assert caught.value.stage == "broken"
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_exception_on_the_way_out_names_its_own_stage() -> None:
    def broken(ctx: Context) -> Iterator[None]:
        yield
        raise RuntimeError("late")

    with pytest.raises(PipelineError) as caught:
        Pipeline([("outer", broken), ("inner", note("inner"))]).run(Context())
    assert caught.value.stage == "outer"


def test_suspended_stages_are_closed_when_another_fails() -> None:
    closed: list[str] = []

    def guarded(ctx: Context) -> Iterator[None]:
        try:
            yield
        finally:
            closed.append("guarded")

    def broken(ctx: Context) -> None:
        raise RuntimeError

    with pytest.raises(PipelineError, match="RuntimeError"):
        Pipeline([("guarded", guarded), ("broken", broken)]).run(Context())
    assert closed == ["guarded"]


def test_yielding_twice_is_an_error() -> None:
    def twice(ctx: Context) -> Iterator[None]:
        yield
        yield

    with pytest.raises(PipelineError, match="yield only once"):
        Pipeline([("twice", twice)]).run(Context())


def test_a_verdict_of_the_context_is_not_wrapped() -> None:
    def over(ctx: Context) -> None:
        ctx.fail(TokenBudgetExceeded(budget=1, actual=2))

    with pytest.raises(TokenBudgetExceeded):
        Pipeline([("over", over)]).run(Context())


def test_a_strict_warning_raises_the_error_it_names() -> None:
    class SpecificError(TavernKitError):
        pass

    def picky(ctx: Context) -> None:
        ctx.warn("odd", "That is odd.", error=SpecificError("That is odd."))

    def vague(ctx: Context) -> None:
        ctx.warn("odd", "That is odd.", place=3)

    Pipeline([("picky", picky)]).run(Context())
    with pytest.raises(SpecificError):
        Pipeline([("picky", picky)]).run(Context(strict=True))
    with pytest.raises(StrictModeError) as caught:
        Pipeline([("vague", vague)]).run(Context(strict=True))
    assert caught.value.code == "odd"


def test_warnings_reach_the_list_the_handler_and_the_trace() -> None:
    heard: list[str] = []
    collector = TraceCollector()

    def odd(ctx: Context) -> None:
        ctx.warn("odd", "That is odd.", place=3)

    ctx = Context(instrumenter=collector, warning_handler=lambda warning: heard.append(str(warning)))
    Pipeline([("odd", odd)]).run(ctx)
    (warning,) = ctx.warnings
    assert (warning.code, warning.stage, warning.where) == ("odd", "odd", {"place": 3})
    assert heard == ["That is odd."]
    assert collector.stages[0].warnings == collector.warnings == ("That is odd.",)


class Ticks:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_stage_is_timed_without_the_stages_inside_it() -> None:
    ticks = Ticks()

    def outer(ctx: Context) -> Iterator[None]:
        ticks.now += 1
        yield
        ticks.now += 2

    def inner(ctx: Context) -> None:
        ticks.now += 10

    collector = TraceCollector()
    ctx = Context(instrumenter=collector)
    ctx.timer = ticks
    Pipeline([("outer", outer), ("inner", inner)]).run(ctx)
    assert [(stage.name, stage.duration_ms) for stage in collector.stages] == [("outer", 3000), ("inner", 10000)]


def test_only_the_failing_stage_is_marked() -> None:
    def broken(ctx: Context) -> None:
        raise KeyError("x")

    collector = TraceCollector()
    with pytest.raises(PipelineError):
        Pipeline([("outer", wrapping("outer")), ("broken", broken)]).run(Context(instrumenter=collector))
    assert [("error" in stage.stats) for stage in collector.stages] == [False, True]
    assert collector.stages[1].stats["error"] == "KeyError"


def test_counters_belong_to_the_stage_that_emits_them_or_to_the_one_they_name() -> None:
    def counting(ctx: Context) -> None:
        ctx.instrument("stat", key="entries", value=2)
        ctx.instrument("stat", stage="helper", key="depth", value=3)

    collector = TraceCollector()
    Pipeline([("counting", counting)]).run(Context(instrumenter=collector))
    assert [(stage.name, stage.stats) for stage in collector.stages] == [
        ("counting", {"entries": 2}),
        ("helper", {"depth": 3}),
    ]


def test_lazy_payloads_are_made_only_for_a_listener() -> None:
    made: list[str] = []

    def expensive() -> dict[str, object]:
        made.append("made")
        return {"stage": "s", "key": "size", "value": 9}

    Context().instrument("stat", expensive)
    assert made == []
    collector = TraceCollector()
    Context(instrumenter=collector).instrument("stat", expensive)
    assert made == ["made"]
    assert collector.stages[0].stats == {"size": 9}


def adding(text: str):
    def stage(ctx: Context) -> None:
        ctx.add_block(source="text", content=text)

    return stage


def raising(error: Exception):
    def stage(ctx: Context) -> None:
        raise error

    return stage


def catching(kind: type[Exception], *, settles: bool):
    def stage(ctx: Context) -> Iterator[None]:
        try:
            yield
        except kind:
            ctx.warn("fallback", str(ctx.failure))
            ctx.blocks = [ctx.new_block(source="fallback", content="A prompt in its place.")]
            if settles:
                settle(ctx)

    return stage


def test_a_pipeline_of_ones_own_makes_a_plan_of_its_blocks() -> None:
    def write(ctx: Context) -> None:
        block = ctx.add_block(source="greeting", content="Hello.")
        assert block.source == {"stage": "write", "id": "greeting"}

    assert run(Pipeline([("write", write)]), Context()).to_messages() == [{"role": "system", "content": "Hello."}]


def test_what_a_stage_adds_on_its_way_out_is_in_the_plan() -> None:
    def outer(ctx: Context) -> Iterator[None]:
        yield
        ctx.warn("late", "That came late.")
        ctx.add_block(source="late", content="Late.")
        ctx.llm_options["seed"] = 1

    plan = run(Pipeline([("outer", outer), ("write", adding("Early."))]), Context())
    assert [message.content for message in plan.messages] == ["Early.", "Late."]
    assert [(warning.code, warning.stage) for warning in plan.warnings] == [("late", "outer")]
    assert plan.llm_options == {"seed": 1}


def test_a_stage_may_catch_what_later_stages_raise_and_put_another_prompt_in_place() -> None:
    collector = TraceCollector()
    ctx = Context(instrumenter=collector)
    pipeline = Pipeline(
        [
            ("outer", wrapping("outer")),
            ("guard", catching(LookupError, settles=True)),
            ("inner", wrapping("inner")),
            ("broken", raising(KeyError("pony"))),
            ("never", adding("Never.")),
        ]
    )
    plan = run(pipeline, ctx)
    assert [message.content for message in plan.messages] == ["A prompt in its place."]
    assert [str(warning) for warning in plan.warnings] == ["'pony' (stage: broken)"]
    assert ctx["log"] == ["outer in", "inner in", "outer out"]
    assert [stage.name for stage in collector.stages if "error" in stage.stats] == ["broken"]


def test_a_verdict_of_the_context_can_be_caught_too() -> None:
    def over(ctx: Context) -> None:
        ctx.fail(TokenBudgetExceeded(budget=1, actual=2))

    plan = run(Pipeline([("guard", catching(TokenBudgetExceeded, settles=True)), ("over", over)]), Context())
    assert len(plan.messages) == 1


def test_a_failure_that_is_caught_without_a_finished_prompt_is_an_error_that_says_so() -> None:
    guarded = Pipeline([("guard", catching(KeyError, settles=False)), ("broken", raising(KeyError("pony")))])
    with pytest.raises(PipelineError, match="no finished prompt") as caught:
        run(guarded, Context())
    assert caught.value.stage == "broken"
    assert str(caught.value.__cause__) == "'pony' (stage: broken)"


def test_what_a_stage_raises_instead_names_that_stage() -> None:
    def translating(ctx: Context) -> Iterator[None]:
        try:
            yield
        except KeyError as error:
            raise ValueError("worse") from error

    for guard, stage in ((translating, "guard"), (catching(OSError, settles=True), "broken")):
        with pytest.raises(PipelineError) as caught:
            run(Pipeline([("guard", guard), ("broken", raising(KeyError("pony")))]), Context())
        assert caught.value.stage == stage


def test_a_context_that_is_run_twice_says_so() -> None:
    pipeline = Pipeline([("write", adding("Once."))])
    ctx = Context()
    twin = ctx.dup()
    run(pipeline, ctx)
    for used in (ctx, ctx.dup()):
        with pytest.raises(RuntimeError, match="has run over this context"):
            run(pipeline, used)
    assert len(run(pipeline, twin).blocks) == 1


def test_a_stage_may_run_a_pipeline_of_its_own_over_the_same_context() -> None:
    inner = Pipeline([("inner", adding("Inner."))])

    def outer(ctx: Context) -> None:
        inner.run(ctx)
        ctx.add_block(source="text", content="Outer.")

    plan = run(Pipeline([("outer", outer)]), Context())
    assert [block.source["stage"] for block in plan.blocks] == ["inner", "outer"]


class BoomError(Exception): ...


def of_kind(kind: str, name: str, log: list[str]) -> Callable[[Context], Iterator[None] | None]:
    def plain(ctx: Context) -> None:
        log.append(name)
        if kind == "raises":
            raise BoomError(name)

    def around(ctx: Context) -> Iterator[None]:
        log.append(f"{name} in")
        try:
            yield
        except BoomError as error:
            log.append(f"{name} sees {error}")
            if kind == "lets pass":
                raise
            if kind == "translates":
                raise BoomError(name) from error
        log.append(f"{name} out")
        if kind == "raises late":
            raise BoomError(name)

    return plain if kind in ("plain", "raises") else around


def as_nested_calls(kinds: Sequence[str], log: list[str], number: int = 0) -> None:
    """What the stages of these kinds do when each calls the rest: the meaning of a pipeline."""
    if number == len(kinds):
        return None
    kind, name = kinds[number], str(number)
    if kind in ("plain", "raises"):
        log.append(name)
        if kind == "raises":
            raise BoomError(name)
        return as_nested_calls(kinds, log, number + 1)
    log.append(f"{name} in")
    try:
        as_nested_calls(kinds, log, number + 1)
    except BoomError as error:
        log.append(f"{name} sees {error}")
        if kind == "lets pass":
            raise
        if kind == "translates":
            raise BoomError(name) from error
    log.append(f"{name} out")
    if kind == "raises late":
        raise BoomError(name)
    return None


@given(st.lists(st.sampled_from(["plain", "raises", "lets pass", "catches", "translates", "raises late"]), min_size=1))
def test_a_pipeline_runs_like_calls_of_which_each_calls_the_rest(kinds: list[str]) -> None:
    expected: list[str] = []
    failed = None
    try:
        as_nested_calls(kinds, expected)
    except BoomError as error:
        failed = str(error)
    log: list[str] = []
    pipeline = Pipeline([(str(number), of_kind(kind, str(number), log)) for number, kind in enumerate(kinds)])
    try:
        pipeline.run(Context())
        stage = None
    except PipelineError as error:
        stage = error.stage
    assert (log, stage) == (expected, failed)
