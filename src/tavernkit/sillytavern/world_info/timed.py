"""Sticky, cooldown and delay: what a turn leaves behind for the turns after it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from tavernkit.lore.verdicts import TimedEffect, TimedState
from tavernkit.sillytavern.world_info.fields import WorldEntry
from tavernkit.sillytavern.world_info.plan import WorldInfoPlan

Kind: TypeAlias = Literal["sticky", "cooldown"]
_KINDS: tuple[Kind, ...] = ("sticky", "cooldown")


def fingerprint(entry: WorldEntry) -> str:
    """The same for the same entry in any process; different once something that matters has changed."""
    fields = {name: value for name, value in msgspec.structs.asdict(entry).items() if name != "source"}
    return hashlib.blake2b(repr(fields).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class Timers:
    """The effects that hold during one scan: places of entries, found by reference and fingerprint."""

    def __init__(self, state: TimedState, plan: WorldInfoPlan, *, chat_length: int, dry_run: bool) -> None:
        self._plan = plan
        self._entries = plan.entries
        self._length = chat_length
        self._dry_run = dry_run
        self._effects: dict[Kind, dict[str, TimedEffect]] = {
            "sticky": dict(state.sticky),
            "cooldown": dict(state.cooldown),
        }
        self.sticky: set[int] = set()
        self.cooldown: set[int] = set()
        if not dry_run:
            for place in self._check("sticky", self.sticky):
                self._start("cooldown", place, protected=True)
            self._check("cooldown", self.cooldown)

    def remaining(self, kind: Kind, place: int) -> int | None:
        """For how many more messages an effect holds."""
        effect = self._effects[kind].get(self._entries[place].reference)
        return None if effect is None else effect.end - self._length

    def is_delayed(self, entry: WorldEntry) -> bool:
        """Delays hold in dry runs, too: they depend on nothing but the chat's length."""
        return self._length < entry.delay

    def after(self, activated: Iterable[int]) -> TimedState:
        """The state that the next turn begins with."""
        if not self._dry_run:
            timed = [place for place in activated if self._entries[place].sticky or self._entries[place].cooldown]
            for place, kind in itertools.product(timed, _KINDS):
                if self._entries[place].reference not in self._effects[kind]:
                    self._start(kind, place, protected=False)
        return TimedState(sticky=self._effects["sticky"], cooldown=self._effects["cooldown"])

    def _check(self, kind: Kind, holding: set[int]) -> list[int]:
        """Drop what is over and note what holds; returns the entries whose effect has just run out."""
        ended: list[int] = []
        effects = self._effects[kind]
        for reference, effect in list(effects.items()):
            is_over = self._length >= effect.end
            place = self._plan.places.get(reference)
            if self._length <= effect.start and not effect.protected:
                # Nothing was said since, or the message that started it is gone: the turn is being made again.
                del effects[reference]
            elif place is None or fingerprint(self._entries[place]) != effect.fingerprint:
                if is_over:
                    del effects[reference]
            elif is_over or not self._duration(kind, place):
                del effects[reference]
                if self._duration(kind, place):
                    ended.append(place)
            else:
                holding.add(place)
        return ended

    def _start(self, kind: Kind, place: int, *, protected: bool) -> None:
        duration = self._duration(kind, place)
        if duration:
            entry = self._entries[place]
            self._effects[kind][entry.reference] = TimedEffect(
                start=self._length,
                end=self._length + duration,
                fingerprint=fingerprint(entry),
                protected=protected,
            )

    def _duration(self, kind: Kind, place: int) -> int:
        return self._entries[place].sticky if kind == "sticky" else self._entries[place].cooldown
