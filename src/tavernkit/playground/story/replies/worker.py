"""The worker: claims runs, keeps their leases alive, stops them when asked, and ends what others left behind.

Nothing here is cancelled in the middle of a database call, which would cost the connection and leave open what has
been written: whoever is to end is told through an event and ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from tavernkit.playground.base.realtime.bus import RUNS, Subscription
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.waiting import happens
from tavernkit.playground.story.replies.executor import Execution
from tavernkit.playground.story.runs.service import (
    Claim,
    claim_runs,
    extend_leases,
    reap_runs,
    repair_rounds,
    seconds_until_due,
    take_up_runs,
)

IDLE_SECONDS = 1.0
CLAIMED_AT_ONCE = 8
"""So few that several workers share what comes at the same moment."""
SHORTEST_SECONDS = 0.02
"""How soon to look again for a run that is due, but in a conversation that somebody is just changing."""

log = logging.getLogger(__name__)


class Worker:
    """Works until it is told to stop; then hands back what it was doing."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        # Neither requests nor replies that wait for a lock keep leases and claims from being written.
        self._runtime, self._executing = runtime.apart("leases"), runtime.apart("work")
        self._name = name
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._something_new = asyncio.Event()
        self._executions: dict[Claim, Execution] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End soon; `run` returns when everything has been handed back."""
        self._stopping.set()
        self._something_new.set()
        for execution in self._executions.values():
            execution.stop("shutdown")

    async def run(self) -> None:
        loops, beat_seconds = self._runtime.loops, self._runtime.settings.heartbeat_seconds
        beating = loops.add("extend_run_leases", every=beat_seconds).start(self._beat, until=self._ended)
        async with self._runtime.bus.subscribe(RUNS) as news:
            listen = partial(self._listen, news)
            await asyncio.wait(
                [
                    loops.add("claim_runs", every=IDLE_SECONDS).start(self._claim, until=self._stopping),
                    loops.add("stop_runs", every=IDLE_SECONDS).start(listen, until=self._stopping),
                    loops.add("reap_runs", every=beat_seconds).start(self._reap, until=self._stopping),
                ]
            )
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ended.set()
        await asyncio.wait([beating])

    async def _claim(self) -> None:
        self._something_new.clear()
        await self._claim_all()
        # What the bus loses is found by looking again after a while.
        await happens(self._something_new, within=await self._idle_seconds())

    async def _listen(self, news: Subscription) -> None:
        """Stop at once what is to be stopped, however much else there is to do."""
        item = await news.next(unless=self._stopping, within=IDLE_SECONDS)
        if item is not None and "stop" in item:
            self._stop_one(UUID(item["stop"]))
        elif item is not None:
            self._something_new.set()

    def _stop_one(self, run_id: UUID) -> None:
        for claim, execution in self._executions.items():
            if claim.run_id == run_id:
                execution.stop("asked")

    async def _idle_seconds(self) -> float:
        """How long nothing can be due that nobody tells of."""
        if self._stopping.is_set() or self._is_full():
            return IDLE_SECONDS
        waiting = await seconds_until_due(self._runtime)
        return IDLE_SECONDS if waiting is None else min(max(waiting, SHORTEST_SECONDS), IDLE_SECONDS)

    def _is_full(self) -> bool:
        return len(self._executions) >= self._runtime.settings.concurrent_runs

    async def _claim_all(self) -> None:
        while not self._is_full() and not self._stopping.is_set():
            room = self._runtime.settings.concurrent_runs - len(self._executions)
            claims = await claim_runs(self._runtime, self._name, min(room, CLAIMED_AT_ONCE))
            if not claims:
                return
            self._begin(claims)

    def _begin(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            execution = self._executions[claim] = Execution(self._executing, claim)
            if self._stopping.is_set():
                execution.stop("shutdown")
            task = asyncio.create_task(self._carry_out(claim, execution))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _take_up(self) -> None:
        room = self._runtime.settings.concurrent_runs - len(self._executions)
        if room > 0 and not self._stopping.is_set():
            self._begin(await take_up_runs(self._runtime, self._name, room))

    async def _carry_out(self, claim: Claim, execution: Execution) -> None:
        try:
            await execution.run()
        except Exception:
            # Whatever it is, the others go on. The lease runs out by itself, and the run is then ended as interrupted.
            log.exception("Could not write the end of run %s", claim.run_id)
        finally:
            del self._executions[claim]
            self._something_new.set()

    async def _beat(self) -> None:
        """Keep the leases of all runs alive until the last of them has ended."""
        carried = dict(self._executions)
        alive = await extend_leases(self._runtime, carried.keys()) if carried else {}
        for claim, execution in carried.items():
            if claim.run_id not in alive:
                execution.stop("lost")
            elif alive[claim.run_id]:
                execution.stop("asked")
        await happens(self._ended, within=self._runtime.settings.heartbeat_seconds)

    async def _reap(self) -> None:
        await self._take_up()
        if reaped := await reap_runs(self._runtime):
            log.warning("%d runs had been left behind by a worker that is gone.", reaped)
        if repaired := await repair_rounds(self._runtime):
            log.warning("%d rounds were waiting for nobody, and go on.", repaired)
        await happens(self._stopping, within=self._runtime.settings.heartbeat_seconds)
