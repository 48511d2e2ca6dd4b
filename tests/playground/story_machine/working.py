"""What workers do, and what befalls them.

Nearly every rule ends with a deed of some worker, so that in a short story much is written.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tavernkit.playground.story.paths.variables import VARIABLES
from tavernkit.playground.story.runs.service import (
    Claim,
    cancel_run,
    checkpoint_run,
    fail_run,
    finish_run,
    hand_back_run,
    reap_runs,
)
from tavernkit.values import Json
from tests.playground.stories import claim_run, extend_lease
from tests.playground.story_machine.model import model_delta
from tests.playground.story_machine.stage import Stage, places, texts
from tests.playground.story_machine.stored import read_run

__all__ = ["LEASE_SECONDS", "Deed", "Working", "deeds"]

LEASE_SECONDS = 1000.0
ERROR = {"code": "timeout", "message": "The model did not answer."}
LONG = 20
"""Characters who go on by themselves would make a story longer than what is worth looking at."""

Doing: TypeAlias = Literal[
    "nothing", "begin", "reply", "reply to the end", "write", "finish", "fail", "beat", "hand back", "vanish"
]


class Deed(NamedTuple):
    """What a worker does; with `begun`, it has written something before."""

    doing: Doing
    place: int
    begun: bool
    gold: int


deeds = st.builds(
    Deed,
    st.sampled_from(Doing.__args__),
    places,
    st.booleans(),
    st.integers(0, 9),
)


class Working(Stage):
    @rule(deed=deeds)
    def work(self, deed: Deed) -> None:
        self.let_work(deed)

    @rule(place=places, text=texts)
    def come_back_too_late(self, place: int, text: str) -> None:
        if self.lost:
            self._come_back(self.lost[place % len(self.lost)], text)

    def let_work(self, deed: Deed) -> None:
        """A little later some worker does something."""
        self.clock.pass_by(10 if deed.place % 2 else 0.5)
        self.look()
        if deed.doing in ("begin", "reply", "reply to the end"):
            self._begin(deed)
        elif deed.doing != "nothing" and self.claims:
            claim = list(self.claims.values())[deed.place % len(self.claims)]
            self._end(claim, deed, "Half a sen" if deed.begun else "")

    def _begin(self, deed: Deed) -> None:
        claim = self._claim()
        while claim is not None and deed.doing != "begin":
            self._finish(claim, "So be it.", deed.gold)
            is_long = len(self.line_of(claim.conversation_id).told) >= LONG
            claim = self._claim() if deed.doing == "reply to the end" and not is_long else None

    def _end(self, claim: Claim, deed: Deed, text: str) -> None:
        match deed.doing:
            case "write":
                self.run(checkpoint_run(self.runtime, claim, text))
                assert self.run(read_run(self.runtime, claim.run_id)).text == text
            case "finish":
                self._finish(claim, "So it was.", deed.gold)
            case "fail":
                status = "canceled" if self._is_stopped(claim) else "failed"
                assert self.run(fail_run(self.runtime, claim, text, ERROR))
                self._is_over(claim, status, text)
            case "beat":
                self._beat(claim, text)
            case "hand back":
                self._hand_back(claim, text)
            case "vanish":
                self._vanish(claim, text)

    def _claim(self) -> Claim | None:
        claim = self.run(claim_run(self.runtime, "machine"))
        if claim is not None:
            assert claim.conversation_id not in self.claims
            self.claims[claim.conversation_id] = claim
        else:
            now = self.runtime.clock()
            self.look()
            waiting = (stored.queued for stored in self.stored.values() if stored.running is None)
            assert all(run is None or run.run_after > now for run in waiting)
        return claim

    def _finish(self, claim: Claim, text: str, gold: int) -> None:
        run = self.run(read_run(self.runtime, claim.run_id))
        delta: dict[str, Json] = {"set": {f"{VARIABLES}gold": gold}, "unset": [f"{VARIABLES}hope"]} if gold else {}
        message = self.run(finish_run(self.runtime, claim, text, state_delta=delta or None))
        if run.cancel_requested_at is not None:
            assert message is None
            self._is_over(claim, "canceled", text)
        else:
            assert message is not None
            self.line_of(claim.conversation_id).reply(run, message.id, text, model_delta(delta))
            self._is_over(claim, "succeeded", text)

    def _beat(self, claim: Claim, text: str) -> None:
        """A sign of life; whoever is told to stop does."""
        to_be_stopped = self.run(extend_lease(self.runtime, claim))
        assert to_be_stopped == self._is_stopped(claim)
        if to_be_stopped:
            assert self.run(cancel_run(self.runtime, claim, text))
            self._is_over(claim, "canceled", text)

    def _hand_back(self, claim: Claim, text: str) -> None:
        # What was written down is never taken away by a worker that has less.
        kept = text or self.run(read_run(self.runtime, claim.run_id)).text
        if self._is_stopped(claim):
            status = "canceled"
        elif kept or self.stored[claim.conversation_id].queued is not None:
            status = "failed"
        else:
            status = "queued"
        self.run(hand_back_run(self.runtime, claim, text))
        self._is_over(claim, status, kept)

    def _vanish(self, claim: Claim, text: str) -> None:
        """A worker is not heard of any more, while the others are."""
        status = "canceled" if self._is_stopped(claim) else "failed"
        self.run(checkpoint_run(self.runtime, claim, text))
        self.clock.pass_by(LEASE_SECONDS + 1)
        for other in self.claims.values():
            if other is not claim:
                assert self.run(extend_lease(self.runtime, other)) is not None
        assert self.run(reap_runs(self.runtime)) == 1
        self._is_over(claim, status, text)
        self._come_back(claim, "Too late.")

    def _come_back(self, claim: Claim, text: str) -> None:
        """Whoever has lost a run can do nothing to it any more."""
        assert self.run(extend_lease(self.runtime, claim)) is None
        assert self.run(finish_run(self.runtime, claim, text)) is None
        assert not self.run(fail_run(self.runtime, claim, text, ERROR))
        assert not self.run(cancel_run(self.runtime, claim, text))
        self.run(hand_back_run(self.runtime, claim, ""))
        self.run(checkpoint_run(self.runtime, claim, text))

    def _is_stopped(self, claim: Claim) -> bool:
        return self.run(read_run(self.runtime, claim.run_id)).cancel_requested_at is not None

    def _is_over(self, claim: Claim, status: str, text: str) -> None:
        run = self.run(read_run(self.runtime, claim.run_id))
        assert (run.status, run.text) == (status, text)
        del self.claims[claim.conversation_id]
        self.lost.append(claim)
