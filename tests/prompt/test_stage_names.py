"""One middleware for every platform: the stages that all pipelines have, and what can be relied on there."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tavernkit import (
    BuildHooks,
    Built,
    Character,
    Context,
    Injection,
    Injections,
    Pipeline,
    User,
    build,
    plain_pipeline,
    risuai,
    sillytavern,
)
from tavernkit.prompt.finishing import report_trimming, settle
from tavernkit.prompt.trimming import TrimReport
from tavernkit.sillytavern import UserSettings
from tavernkit.sillytavern.presets import ChatPreset, Instruct, TextPreset

COMMON = ("hooks", "lore", "history", "before_trimming", "trimming")
SAID = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
USUAL: dict[str, Any] = {
    "character": Character(name="Mira"),
    "user": User(name="Ada"),
    "history": SAID,
    "message": "Three.",
}
Build = Callable[..., Built[Any]]

PLATFORMS = pytest.mark.parametrize(
    ("make", "pipeline", "preset"),
    [
        pytest.param(build, plain_pipeline(), None, id="plain"),
        pytest.param(sillytavern.build, sillytavern.chat_pipeline(), ChatPreset(), id="chat"),
        pytest.param(sillytavern.build, sillytavern.text_pipeline(), TextPreset(), id="text"),
        pytest.param(risuai.build, risuai.prompt_pipeline(), None, id="risuai"),
    ],
)


@PLATFORMS
def test_every_pipeline_has_the_common_stages_in_one_order(make: Build, pipeline: Pipeline, preset: Any) -> None:
    assert tuple(name for name in pipeline.names if name in COMMON) == COMMON


@PLATFORMS
def test_a_middleware_can_be_put_beside_each_common_stage(make: Build, pipeline: Pipeline, preset: Any) -> None:
    passed: list[str] = []

    def noting(name: str) -> Callable[[Context], Iterator[None]]:
        def stage(ctx: Context) -> Iterator[None]:
            passed.append(name)
            yield
            ctx.warn(name, f"On the way out of {name}.")

        return stage

    for name in COMMON:
        pipeline = pipeline.insert_before(name, f"before {name}", noting(f"before {name}"))
        pipeline = pipeline.insert_after(name, f"after {name}", noting(f"after {name}"))
    plan = make(pipeline=pipeline, preset=preset, **USUAL).plan
    assert passed == [f"{side} {name}" for name in COMMON for side in ("before", "after")]
    assert [warning.code for warning in plan.warnings][-len(passed) :] == passed[::-1]


@PLATFORMS
def test_a_block_that_a_hook_adds_stands_at_the_depth_it_asks_for(make: Build, pipeline: Pipeline, preset: Any) -> None:
    hooks = BuildHooks()

    @hooks.before_trimming
    def add(ctx: Context) -> None:
        for text, depth, order in (("Later.", 1, 200), ("Sooner.", 1, 5), ("Last.", 0, 100), ("First.", 90, 100)):
            ctx.add_block(source=text, content=text, insertion_point="chat", depth=depth, order=order)

    said = "\n".join(message.content for message in make(preset=preset, hooks=hooks, **USUAL).plan.messages)
    places = [said.index(text) for text in ("First.", "One.", "Two.", "Sooner.", "Later.", "Three.", "Last.")]
    assert places == sorted(places)


@pytest.mark.parametrize("instruct", [Instruct(), Instruct(enabled=True, input_sequence="<u>", output_sequence="<a>")])
def test_a_block_at_the_end_of_a_text_is_written_as_an_injection_there_is(instruct: Instruct) -> None:
    hooks, injections = BuildHooks(), Injections()
    story = sillytavern.Story(settings=UserSettings(instruct=instruct))

    @hooks.before_trimming
    def add(ctx: Context) -> None:
        for text in ("One line.", "Another."):
            ctx.add_block(source=text, content=text, insertion_point="chat", depth=0)

    for number, text in enumerate(("One line.", "Another.")):
        injections.register(Injection(id=str(number), content=text, depth=0))
    usual: dict[str, Any] = {**USUAL, "story": story, "preset": TextPreset()}
    added = sillytavern.build(hooks=hooks, **usual).request.body
    assert added == sillytavern.build(injections=injections, **usual).request.body
    assert "One line.\nAnother.\n" in added


@PLATFORMS
def test_a_trimming_stage_of_another_name_is_the_only_one_in_the_trace(
    make: Build, pipeline: Pipeline, preset: Any
) -> None:
    def everything_fits(ctx: Context) -> None:
        report_trimming(ctx, TrimReport(strategy="priority", budget_tokens=9, initial_tokens=5, final_tokens=5))
        settle(ctx)

    own = pipeline.insert_after("trimming", "everything_fits", everything_fits).remove("trimming")
    trace = make(pipeline=own, preset=preset, trace=True, **USUAL).plan.trace
    assert trace is not None
    assert tuple(stage.name for stage in trace.stages) == own.names
    assert next(stage for stage in trace.stages if stage.name == "everything_fits").stats["final_tokens"] == 5
