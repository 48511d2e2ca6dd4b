"""The scan itself: passes over the entries until nothing new wakes up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum

from tavernkit.prompt.trimming import EvictionRecord, TrimReport
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.world_info.fields import ACTIVATE, DONT_ACTIVATE, Logic, WorldEntry
from tavernkit.sillytavern.world_info.groups import settle_groups, total_score
from tavernkit.sillytavern.world_info.keys import Key, LiteralKey, RegexKey
from tavernkit.sillytavern.world_info.matching import MAX_DEPTH, WorldInfoHaystack, WorldInfoPlace
from tavernkit.sillytavern.world_info.misses import NearMisses
from tavernkit.sillytavern.world_info.plan import WorldInfoPlan, WorldInfoPlanCache, gather
from tavernkit.sillytavern.world_info.result import (
    ActivatedEntry,
    WorldInfoCause,
    WorldInfoReason,
    WorldInfoResult,
    WorldInfoVerdict,
    WorldInfoVerdicts,
    in_prompt_order,
)
from tavernkit.sillytavern.world_info.scan_input import WorldInfoInput
from tavernkit.sillytavern.world_info.timed import Timers


class PassBudget:
    """The budget during one pass: what earlier passes said counts, and everything that was tried in this one.

    Counting is the dear part of a scan. No token is shorter than a byte, so while the bytes that came since the last
    count would fit, so do their tokens.
    """

    def __init__(self, limit: int, count: Callable[[str], int], earlier: str) -> None:
        self._limit = limit
        self._count = count
        self._earlier = earlier
        self._pieces: list[str] = []
        self._most = _bytes(earlier)

    def takes(self, content: str) -> bool:
        """Add a content, and say whether everything so far stays below the limit."""
        self._pieces.append(content)
        self._most += (len(content) if content.isascii() else _bytes(content)) + 1
        if self._most >= self._limit:
            tried = "\n".join([*self._pieces, ""])
            self._most = (self._count(self._earlier) if self._earlier else 0) + self._count(tried)
        return self._most < self._limit

    @property
    def excess(self) -> int:
        """By how many tokens the limit is passed."""
        return self._most - self._limit + 1


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class WorldInfo:
    """SillyTavern's lore engine. It remembers what it learnt about books, and nothing about scans."""

    def __init__(self) -> None:
        self._plans = WorldInfoPlanCache()

    def scan(self, scan_input: WorldInfoInput) -> WorldInfoResult:
        return _Scan(self._plan(scan_input), scan_input).run()

    def entries_of(self, scan_input: WorldInfoInput, references: Iterable[str]) -> dict[str, WorldEntry]:
        """The entries that are switched on, of those with these references."""
        plan = self._plan(scan_input)
        places = {name: plan.places[name] for name in references if name in plan.places}
        return {name: plan.entries[place] for name, place in places.items() if plan.entries[place].source.enabled}

    def reach(self, scan_input: WorldInfoInput) -> int:
        """How many messages, from the newest, a scan may look at; `scan_input` need not have that many."""
        settings = scan_input.settings
        depth = max(settings.depth, self._plan(scan_input).table.deepest)
        if settings.min_activations > 0:
            depth = max(depth, furthest + 1 if (furthest := settings.min_activations_depth_max) > 0 else MAX_DEPTH)
        return min(depth, MAX_DEPTH)

    def _plan(self, scan_input: WorldInfoInput) -> WorldInfoPlan:
        return self._plans.plan_for(gather(scan_input), scan_input.settings)


class _Pass(IntEnum):
    """Why the entries are gone through: at first, for what entries have said, or for want of activations."""

    INITIAL = 1
    RECURSION = 2
    MIN_ACTIVATIONS = 3


# How far an entry came: what happened later in this list is the better answer to "why not?".
_PROGRESS: tuple[frozenset[WorldInfoReason], ...] = (
    frozenset({"disabled", "filtered_trigger", "filtered_character", "filtered_tag", "delay", "cooldown"}),
    frozenset({"recursion_delayed", "decorator"}),
    frozenset({"no_keys", "no_key"}),
    frozenset({"regex_timeout", "recursion_excluded"}),
    frozenset({"secondary_logic"}),
    frozenset({"group_lost"}),
    frozenset({"budget"}),
    frozenset({"probability"}),
    frozenset({"activated"}),
)
_RANKS = {reason: rank for rank, reasons in enumerate(_PROGRESS) for reason in reasons}


class _Scan:
    """One scan's moving parts."""

    def __init__(self, plan: WorldInfoPlan, scan_input: WorldInfoInput) -> None:
        self.plan = plan
        self.entries = plan.entries
        self.input = scan_input
        self.settings = scan_input.settings
        self.haystack = WorldInfoHaystack(plan.table, scan_input)
        self.timers = Timers(scan_input.timed, plan, chat_length=scan_input.length, dry_run=scan_input.dry_run)
        self.forced = {plan.places[name] for name in scan_input.forced if name in plan.places}
        self.budget = scan_input.token_budget
        self.levels = list(plan.levels)
        self.level = self.levels.pop(0) if self.levels else 0
        self.reached_level: float | None = None
        self.state: _Pass | None = _Pass.INITIAL
        self.passes = 0
        self.overflowed = False
        self.activated: dict[int, str] = {}
        self.activated_groups: dict[str, int] = {}
        self.failed: set[int] = set()
        self.expanded: dict[int, str] = {}
        self.said = ""
        self.rolls: list[float] = []
        self.notes: dict[int, WorldInfoVerdict] = {}

    def run(self) -> WorldInfoResult:
        self.haystack.open()
        most = self.settings.max_recursion_steps
        while self.state is not None and not (most and most <= self.passes):
            self.passes += 1
            if self.state == _Pass.RECURSION:
                self.reached_level = max(self.level, self.reached_level or 0)
            woken = self._wake()
            self._admit(woken)
            self._continue([place for place in woken if place not in self.failed])
        return self._result()

    def _roll(self) -> float:
        self.rolls.append(self.input.random())
        return self.rolls[-1]

    # One pass: who wakes up, and who of them may stay.

    def _wake(self) -> list[int]:
        """The entries that wake up in this pass and win their groups: sticky ones first, then in scan order."""
        sticky = self.timers.sticky
        candidates = self.plan.always | self.haystack.touched | sticky | self.forced
        woken = [
            place
            for place in sorted(candidates)
            if place not in self.activated and place not in self.failed and self._wakes_up(place)
        ]
        woken.sort(key=lambda place: place not in sticky)
        losses = settle_groups(
            woken,
            self.entries,
            activated=self.activated_groups,
            sticky=sticky,
            cooling=self.timers.cooldown,
            score=self._score,
            uses_scoring=self.settings.use_group_scoring,
            random=self._roll,
        )
        for place, loss in losses.items():
            winner = None if loss.winner is None else self.entries[loss.winner].reference
            self._turn_down(place, "group_lost", group=loss.group, lost_to=winner)
        return [place for place in woken if place not in losses]

    def _wakes_up(self, place: int) -> bool:
        entry = self.entries[place]
        if self.plan.is_plain(place) and place not in self.forced:
            return self._is_keyed(place, entry)
        gate = self._gate(place, entry)
        if gate is not None:
            # That an entry does not listen to others matters only if one of them has called it.
            if gate != "recursion_excluded" or self._is_called(place, entry):
                self._note(place, gate)
            return False
        cause = self._immediate_cause(place, entry)
        if cause is not None:
            self._note(place, "activated", cause=cause)
            return True
        if DONT_ACTIVATE in entry.decorators:
            self._note(place, "decorator")
            return False
        return self._is_keyed(place, entry)

    def _gate(self, place: int, entry: WorldEntry) -> WorldInfoReason | None:
        """What keeps an entry from being looked at in this pass."""
        barred = self._bar(place, entry)
        if barred is not None or place in self.timers.sticky:
            return barred
        recursing = self.state == _Pass.RECURSION
        if entry.delay_until_recursion and (not recursing or entry.delay_until_recursion > self.level):
            return "recursion_delayed"
        if recursing and self.settings.recursive and entry.exclude_recursion:
            return "recursion_excluded"
        return None

    def _bar(self, place: int, entry: WorldEntry) -> WorldInfoReason | None:
        """What keeps an entry out of the whole scan."""
        if not entry.enabled:
            return "disabled"
        if entry.triggers and self.input.trigger not in entry.triggers:
            return "filtered_trigger"
        wanted = entry.character_filter
        if wanted is not None:
            if wanted.names and (self.input.character_file in wanted.names) == wanted.excludes:
                return "filtered_character"
            tags = self.input.character_tags
            if wanted.tags and tags is not None and any(tag in wanted.tags for tag in tags) == wanted.excludes:
                return "filtered_tag"
        if self.timers.is_delayed(entry):
            return "delay"
        if place in self.timers.cooldown and place not in self.timers.sticky:
            return "cooldown"
        return None

    def _immediate_cause(self, place: int, entry: WorldEntry) -> WorldInfoCause | None:
        if ACTIVATE in entry.decorators:
            return "decorator"
        if DONT_ACTIVATE in entry.decorators:
            return None
        if place in self.forced:
            return "forced"
        if entry.constant:
            return "constant"
        return "sticky" if place in self.timers.sticky else None

    def _is_keyed(self, place: int, entry: WorldEntry) -> bool:
        found = self._first_hit(place, entry, self.plan.table.primary(place))
        if found is None:
            slow = self._timed_out_key(place)
            self._note(place, "no_key" if slow is None else "regex_timeout", key=slow)
            return False
        key, where = found
        secondary = self.plan.table.secondary(place)
        unmet = self._unmet(place, entry, secondary) if entry.secondary_keys else None
        if unmet is not None:
            self._note(place, "secondary_logic", cause="key", key=key.raw, place=where, logic=entry.logic, unmet=unmet)
            return False
        self.notes[place] = WorldInfoVerdict(
            world=entry.world, entry=entry.source, reason="activated", cause="key", key=key.raw, place=where
        )
        return True

    def _unmet(self, place: int, entry: WorldEntry, keys: Sequence[Key]) -> tuple[str, ...] | None:
        """The secondary keys because of which the condition is not met: those that are missing, or that were found
        where they must not be. Keys are looked for one by one until the answer is known, since macros in them may have
        effects."""
        # An empty secondary key is never found, but it does count.
        known = iter(keys)
        hits: list[bool] = []
        for raw in entry.secondary_keys:
            hits.append(raw != "" and self._first_hit(place, entry, (next(known),)) is not None)
            if (entry.logic == Logic.AND_ANY and hits[-1]) or (entry.logic == Logic.NOT_ALL and not hits[-1]):
                return None
        match entry.logic:
            case Logic.NOT_ANY:
                is_met, wrong = not any(hits), True
            case Logic.AND_ALL:
                is_met, wrong = all(hits), False
            case _:
                is_met, wrong = False, entry.logic == Logic.NOT_ALL
        return (
            None if is_met else tuple(raw for raw, hit in zip(entry.secondary_keys, hits, strict=True) if hit == wrong)
        )

    def _first_hit(self, place: int, entry: WorldEntry, keys: Sequence[Key]) -> tuple[Key, WorldInfoPlace] | None:
        return self.haystack.find(place, entry, keys, with_recursion=self.state is not _Pass.MIN_ACTIVATIONS)

    def _is_called(self, place: int, entry: WorldEntry) -> bool:
        literal = [key for key in self.plan.table.primary(place) if isinstance(key, LiteralKey)]
        return self._first_hit(place, entry, literal) is not None

    def _timed_out_key(self, place: int) -> str | None:
        slow = self.haystack.timed_out
        keys = self.plan.table.primary(place) if slow else ()
        return next((key.raw for key in keys if isinstance(key, RegexKey) and key.regex in slow), None)

    def _score(self, place: int) -> int:
        entry = self.entries[place]
        with_recursion = self.state is not _Pass.MIN_ACTIVATIONS
        return total_score(entry, *self.haystack.score(place, entry, with_recursion=with_recursion))

    def _admit(self, woken: Sequence[int]) -> None:
        """Roll for probability and fill the budget; once it has overflowed, only those that ignore it go on."""
        budget = PassBudget(self.budget, self.input.count_tokens, self.said)
        for place in woken:
            entry = self.entries[place]
            if self.overflowed and not entry.ignore_budget:
                self._turn_down(place, "budget")
                continue
            if not self._is_lucky(place, entry):
                continue
            # As there, what did not fit is expanded again when it is tried again.
            content = self.expanded.get(place, entry.content)
            if self.input.mark is not None:
                content = self.input.mark(content, entry, self.notes[place])
            content = self.expanded[place] = self.input.expand_entry(content, entry)
            if not budget.takes(content) and not entry.ignore_budget:
                self.overflowed = True
                self._turn_down(place, "budget", short_by=budget.excess)
                continue
            self.activated[place] = content
            if entry.group_text:
                self.activated_groups.setdefault(entry.group_text, place)

    def _is_lucky(self, place: int, entry: WorldEntry) -> bool:
        if not entry.use_probability or entry.probability == 100 or place in self.timers.sticky:
            return True
        roll = self._roll() * 100
        if roll <= entry.probability:
            return True
        self.failed.add(place)
        self._turn_down(place, "probability", roll=roll)
        return False

    # Between two passes: what comes next, and what it will look at.

    def _continue(self, tried: Sequence[int]) -> None:
        """`tried` woke up and were not unlucky, whether they fit or not."""
        speaking = [place for place in tried if not self.entries[place].prevent_recursion]
        following = self._next_pass(bool(speaking))
        self.state = following
        if following is None:
            return
        text = "\n".join(self.expanded.get(place, self.entries[place].content) for place in speaking)
        if text:
            self.haystack.recurse(text)
            self.said = f"{text}\n{self.said}"

    def _next_pass(self, something_was_said: bool) -> _Pass | None:
        settings = self.settings
        if settings.recursive and not self.overflowed:
            if something_was_said:
                return _Pass.RECURSION
            if self.state == _Pass.MIN_ACTIVATIONS and self.haystack.has_recursion:
                return _Pass.RECURSION
        if not self.overflowed and len(self.activated) < settings.min_activations:
            furthest = settings.min_activations_depth_max
            depth = self.haystack.depth
            if depth <= self.input.length and not 0 < furthest < depth:
                self.haystack.deepen()
                return _Pass.MIN_ACTIVATIONS
        if self.levels:
            self.level = self.levels.pop(0)
            return _Pass.RECURSION
        return None

    # Afterwards: the answer, and the reasons.

    def _result(self) -> WorldInfoResult:
        activations = [
            ActivatedEntry(entry=self.entries[place], content=content, verdict=self.notes[place])
            for place, content in self.activated.items()
        ]
        in_prompt = in_prompt_order(activations)
        contents = [activation.content for activation in in_prompt if activation.content]
        total = self.input.count_tokens("\n".join(contents)) if contents else 0
        return WorldInfoResult(
            activated_entries=tuple(activation.entry.source for activation in in_prompt),
            total_tokens=total,
            trim_report=self._trim_report(total),
            activations=tuple(activations),
            verdicts=WorldInfoVerdicts(self._verdicts),
            timed=self.timers.after(self.activated),
            rolls=tuple(self.rolls),
            budget=self.budget,
            overflowed=self.overflowed,
            passes=self.passes,
            warnings=tuple(
                BuildWarning(
                    code="regex_timeout",
                    message=f"The key /{regex.source}/{regex.flags} took too long and was skipped.",
                    where={"source": regex.source, "flags": regex.flags},
                )
                for regex in self.haystack.timed_out
            ),
        )

    def _trim_report(self, total: int) -> TrimReport | None:
        evictions = tuple(
            EvictionRecord(
                block_id=self.entries[place].reference,
                slot=None,
                token_count=self.input.count_tokens(self.expanded.get(place, self.entries[place].content)),
                reason="budget_exceeded",
                budget_group="lore",
                priority=self.entries[place].order,
                source={"stage": "lore", "id": self.entries[place].reference},
            )
            for place, verdict in self.notes.items()
            if verdict.reason == "budget"
        )
        if not evictions:
            return None
        return TrimReport(
            strategy="priority",
            budget_tokens=self.budget,
            initial_tokens=total + sum(eviction.token_count for eviction in evictions),
            final_tokens=total,
            evictions=evictions,
        )

    def _note(
        self,
        number: int,
        reason: WorldInfoReason,
        *,
        cause: WorldInfoCause | None = None,
        key: str | None = None,
        place: WorldInfoPlace | None = None,
        logic: int | None = None,
        unmet: tuple[str, ...] = (),
    ) -> None:
        known = self.notes.get(number)
        if known is None or _RANKS[reason] >= _RANKS[known.reason]:
            entry = self.entries[number]
            self.notes[number] = WorldInfoVerdict(
                world=entry.world,
                entry=entry.source,
                reason=reason,
                cause=cause,
                key=key,
                place=place,
                logic=logic,
                unmet=unmet,
            )

    def _turn_down(
        self,
        place: int,
        reason: WorldInfoReason,
        *,
        group: str | None = None,
        lost_to: str | None = None,
        roll: float | None = None,
        short_by: int | None = None,
    ) -> None:
        """An entry that had woken up may not stay; why it woke up is kept."""
        self.notes[place] = self.notes[place].with_(
            reason=reason, group=group, lost_to=lost_to, roll=roll, short_by=short_by
        )

    def _verdicts(self) -> list[WorldInfoVerdict]:
        self.haystack.read_all()
        misses = NearMisses(
            self.plan, self.input, self.haystack, self.timers, said=self.activated.values(), turned_down=self.notes
        )
        verdicts = [self._verdict(place, misses) for place in self.plan.listing]
        shadowed = [(name, entry) for name, book in self.plan.gathered.shadowed for entry in book.entries]
        return verdicts + [WorldInfoVerdict(world=name, entry=entry, reason="shadowed") for name, entry in shadowed]

    def _verdict(self, place: int, misses: NearMisses) -> WorldInfoVerdict:
        entry = self.entries[place]
        verdict = self.notes.get(place)
        if verdict is None:
            # Nothing called it in any pass, so no pass has looked at it.
            verdict = WorldInfoVerdict(world=entry.world, entry=entry.source, reason=self._silent_reason(place, entry))
        near_miss = None if verdict.is_activated else misses.of(place, verdict)
        return verdict if near_miss is None else verdict.with_(near_miss=near_miss)

    def _silent_reason(self, place: int, entry: WorldEntry) -> WorldInfoReason:
        barred = self._bar(place, entry)
        if barred is not None:
            return barred
        if entry.delay_until_recursion and entry.delay_until_recursion > (self.reached_level or 0):
            return "recursion_delayed"
        if DONT_ACTIVATE in entry.decorators:
            return "decorator"
        return "no_key" if entry.keys else "no_keys"
