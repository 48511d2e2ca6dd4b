"""Following a run to its end, through what the conversation's listeners receive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.realtime.bus import Subscription
from tavernkit.playground.base.realtime.outbox import is_access_in_question
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.live.streaming import FindPermissions
from tavernkit.playground.story.runs.planner import FINAL


class GrowingText:
    """Pieces carry their place in UTF-16 code units, because pages count so."""

    def __init__(self) -> None:
        self.text = ""
        self._length = 0
        self._taken = 0
        self._early: list[tuple[int, str]] = []

    @property
    def has_hole(self) -> bool:
        """Whether something was heard behind what is still missing."""
        return bool(self._early)

    def add(self, offset: int, piece: str) -> None:
        """A piece that was heard; one behind a hole is kept until that is filled."""
        self._early.append((offset, piece))
        self._join()

    def learn(self, text: str) -> None:
        """The beginning as it is written down elsewhere; it may be behind what was heard."""
        if text.startswith(self.text):
            self._append(text[len(self.text) :])
        self._join()

    def take(self) -> str:
        """What has come since this was asked last."""
        new, self._taken = self.text[self._taken :], len(self.text)
        return new

    def _append(self, text: str) -> None:
        self.text += text
        self._length += _units(text)

    def _join(self) -> None:
        waiting, self._early = sorted(self._early), []
        for offset, piece in waiting:
            if offset > self._length:
                self._early.append((offset, piece))
            else:
                self._append(_behind(piece, self._length - offset))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _behind(piece: str, units: int) -> str:
    """The piece without so many code units at its beginning."""
    return piece.encode("utf-16-le")[2 * units :].decode("utf-16-le", "replace")


class Disconnect:
    """`event` happens when the client goes away or the application stops; then `is_gone` says whether it was the
    client."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.is_gone = False


@asynccontextmanager
async def watch_disconnect(receive: Receive, stopping: asyncio.Event) -> AsyncIterator[Disconnect]:
    """Watch the connection of a request whose body has been read. Who waits looks at the event; nobody is cancelled."""
    noticed = Disconnect()

    async def watch_client() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        noticed.is_gone = True
        noticed.event.set()

    async def watch_application() -> None:
        await stopping.wait()
        noticed.event.set()

    watching = [asyncio.create_task(watch_client()), asyncio.create_task(watch_application())]
    try:
        yield noticed
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


LOOK_SECONDS = 2.0
"""How often the run is looked at when nothing is heard of it: the bus may lose things."""

MISSING_SECONDS = 0.5
"""How often what is missing is looked for."""


class ReplyFollower:
    """A run that somebody waits for: `run` is how it was seen last, None when it is gone with its conversation;
    `is_refused` is true as soon as they may not read it any more."""

    def __init__(
        self,
        runtime: Runtime,
        run: Run,
        news: Subscription,
        leaving: asyncio.Event,
        may_read: FindPermissions,
    ) -> None:
        self.run: Run | None = run
        self.is_refused = False
        self._runtime = runtime
        self._run_id = run.id
        self._news = news
        self._leaving = leaving
        self._may_read = may_read
        self._text = GrowingText()
        self._looked_at = 0.0

    @property
    def has_ended(self) -> bool:
        return self.run is None or self.run.status in FINAL

    async def pieces(self) -> AsyncIterator[str]:
        """The reply piece by piece, and an empty piece now and then while there is none; until the run has ended or
        nobody waits or may wait any more."""
        await self._look()
        while not self.has_ended and not self._leaving.is_set() and not self.is_refused:
            within = MISSING_SECONDS if self._text.has_hole else LOOK_SECONDS
            item = await self._news.next(unless=self._leaving, within=within)
            if item is None or "run" not in item:
                await self._look()
                self.is_refused = item is not None and is_access_in_question([item]) and not await self._may_read()
            elif item["run"] == str(self._run_id):
                self._text.add(item["offset"], item["text"])
                if self._text.has_hole and self._now() - self._looked_at >= MISSING_SECONDS:
                    await self._look()
            yield self._text.take()

    async def _look(self) -> None:
        """See how far the run has come, and what it has written down."""
        self._looked_at = self._now()
        async with self._runtime.database.read() as session:
            self.run = await session.get(Run, self._run_id)
        if self.run is not None and not self.has_ended:
            self._text.learn(self._runtime.live_text.get(self._run_id, self.run.text))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
