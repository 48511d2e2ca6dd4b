"""Who finishes first changes nothing."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import SESSION
from tests.artifacts.pipelines.builders import Theatre, context, profile, step
from tests.artifacts.pipelines.strategies import profiles

from tavernkit.artifacts import ArtifactRecord
from tavernkit.artifacts.pipelines import Barrier, ModelAnswer, ModelRequest, Profile, RunReport
from tavernkit.errors import StepFailed

ENOUGH = 12  # rounds of the loop until everything that can start has started


class Unhurried(Theatre):
    """A model whose answers come in the order that is wanted, without any clock; none before `together` were asked
    for."""

    def __init__(self, ranks: dict[str, int], *, together: int = 1) -> None:
        super().__init__()
        self._ranks = ranks
        self._together = together
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self.finished: list[str] = []

    async def call(self, request: ModelRequest) -> ModelAnswer:
        self.calls.append(request)
        answer = self._waiting[request.step] = asyncio.get_running_loop().create_future()
        await answer
        self.finished.append(request.step)
        prompt = request.messages[-1].content
        if prompt == "fail":
            raise StepFailed("No answer came.", code="provider_error")
        return ModelAnswer(text=f"<{request.step}: {prompt}>")

    async def perform(self, used: Profile) -> tuple[Barrier, RunReport, tuple[ArtifactRecord, ...]]:
        for turn in (1, 2):
            playing, wanted = asyncio.ensure_future(self.play(context(used, turn))), self._together
            while not playing.done():
                for _ in range(ENOUGH):
                    await asyncio.sleep(0)
                if len(self._waiting) >= wanted:
                    wanted = 1
                    next_one = min(self._waiting, key=lambda step: self._ranks.get(step, 0))
                    self._waiting.pop(next_one).set_result(None)
            barrier, report = await playing
        return barrier, report, await self.store.load(SESSION)


@given(used=profiles(), data=st.data())
def test_commits_and_results_do_not_depend_on_who_finishes_first(used: Profile, data: st.DataObject) -> None:
    steps = [f"p/{step.id}" for step in used.pipelines[0].steps]
    outcomes = []
    for _ in range(2):
        order = data.draw(st.permutations(steps))
        theatre = Unhurried({step: place for place, step in enumerate(order)})
        outcomes.append(asyncio.run(theatre.perform(used)))
    assert outcomes[0] == outcomes[1]


def test_steps_that_do_not_wait_for_each_other_run_side_by_side() -> None:
    used = profile(step("a", "llm"), step("b", "llm"), step("c", "llm", dependsOn=["a"]))
    theatre = Unhurried({"p/a": 2, "p/b": 1, "p/c": 3}, together=2)
    asyncio.run(asyncio.wait_for(theatre.perform(used), timeout=60))
    assert theatre.finished[:3] == ["p/b", "p/a", "p/c"]
    assert (set(theatre.asked[:2]), theatre.asked[2]) == ({"p/a", "p/b"}, "p/c")
