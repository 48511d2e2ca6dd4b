"""The scan itself: passes over the entries until nothing new is said."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.chance import pick_hash_rand
from tavernkit.risuai.default_variables import get_chat_variable
from tavernkit.risuai.errors import DecoratorParseError
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook.arranging import arrange, fit, short_by
from tavernkit.risuai.lorebook.decorators import ChatCondition, Decorators, Force, QueryKind
from tavernkit.risuai.lorebook.matching import LorebookHaystack, Sight
from tavernkit.risuai.lorebook.misses import LorebookMisses
from tavernkit.risuai.lorebook.plan import CHILD, LorebookPlan, LorebookPlanCache
from tavernkit.risuai.lorebook.regex_keys import RegexKeys
from tavernkit.risuai.lorebook.result import (
    ActiveLore,
    LorebookCause,
    LorebookPlace,
    LorebookReason,
    LorebookResult,
    LorebookVerdict,
    LorebookVerdicts,
)
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_numbers import number_to_string

MOST_STEPS = 250_000
"""How many times entries are asked in one scan; only a book made to keep it busy comes so far."""

HASH_SEED = 5555
KEPT = "__internal_ka_"
NEVER_AGAIN = "__internal_da_"

_plans = LorebookPlanCache()


def scan(scene: RisuScene, *, strict: bool = False, max_steps: int = MOST_STEPS) -> LorebookResult:
    """Find out which of the scene's lore belongs into the prompt. What entries are to remember is written into the
    chat's variables. With `strict`, a decorator that cannot be read raises DecoratorParseError; otherwise RisuAI's way
    of passing over it is followed, with a warning. A scan that has asked entries `max_steps` times is cut short."""
    settings = scene.settings
    own = None if scene.character is None else scene.character.lore_settings
    full_words = settings.lore_full_words if own is None else own.full_word_matching
    plan = _plans.plan_for(scene, full_words=full_words)
    if strict and plan.problems:
        index, problem = plan.problems[0]
        raise DecoratorParseError(f"In the entry “{_name(plan.entries[index], index)}”: {problem}")
    return _Scan(
        plan,
        scene,
        depth=settings.lore_depth if own is None or own.scan_depth is None else own.scan_depth,
        budget=settings.lore_tokens if own is None or own.token_budget is None else own.token_budget,
        recursive=settings.lore_is_recursive if own is None else own.recursive_scanning,
        max_steps=max_steps,
    ).run()


class _Note(NamedTuple):
    """What is known of an entry that was asked; `place` is one of the haystack."""

    reason: LorebookReason
    cause: LorebookCause | None = None
    key: str | None = None
    place: int | None = None
    roll: float | None = None


_QUERY_FAILURES = {
    QueryKind.KEYS: LorebookReason.NO_KEY,
    QueryKind.SECONDARY: LorebookReason.NO_SECONDARY_KEY,
    QueryKind.ADDITIONAL: LorebookReason.NO_ADDITIONAL_KEY,
    QueryKind.EXCLUDE: LorebookReason.EXCLUDED,
    QueryKind.EXCLUDE_ALL: LorebookReason.EXCLUDED_ALL,
}


class _Scan:
    """One scan's moving parts."""

    def __init__(
        self, plan: LorebookPlan, scene: RisuScene, *, depth: int, budget: int, recursive: bool, max_steps: int
    ) -> None:
        self.plan = plan
        self.scene = scene
        self.budget = budget
        self.recursive = recursive
        self.max_steps = max_steps
        messages = [message.data for message in scene.chat.messages]
        self.message_count = len(messages)
        self.books = scene.lore_books()
        self.greeting = scene.chat.greeting_index + 1
        starts = (self._start(wanted) for wanted in (depth, *plan.scan_depths))
        self.haystack = LorebookHaystack(plan.table, messages, first=min(starts))
        self.regexes = RegexKeys(
            self.haystack,
            [(keys, self._start(depth if own is None else own)) for keys, own in plan.regex_lists],
        )
        self.sight = Sight(self._start(depth), True)
        self.awake: dict[int, ActiveLore] = {}
        self.content_of: dict[int, int] = {}
        self.speakers: list[str] = []
        self.notes: dict[int, _Note] = {}
        self.remembers: dict[str, None] = {}
        self.queue: list[int] = []
        self.queued: set[int] = set()
        self.later: set[int] = set()
        self.restless = set(plan.restless)
        self.has_spoken = False
        self.was_cut_short = False
        self.passes = 0
        self.steps = 0

    def run(self) -> LorebookResult:
        self._pass(self.plan.first | self.restless | self.haystack.open())
        while self.has_spoken and self.steps < self.max_steps:
            self._pass(self.restless | self.later)
        self.was_cut_short = bool(self.queue) or self.has_spoken
        return self._result()

    def _pass(self, candidates: set[int]) -> None:
        """Ask the candidates in their order; who is called by one of them is asked in its turn, or in the next pass."""
        self.passes += 1
        self.has_spoken = False
        self.queue = sorted(candidates)
        self.queued = candidates
        self.later = set()
        while self.queue and self.steps < self.max_steps:
            self.steps += 1
            self._ask(heapq.heappop(self.queue))

    def _ask(self, index: int) -> None:
        entry = self.plan.entries[index]
        if index in self.plan.plain:
            (search,) = self.plan.searches(index)
            found = self.haystack.find(search, self.sight)
            self.notes[index] = _failure(QueryKind.KEYS, None) if found is None else _by_key(found)
            if found is not None:
                self._wake(index, entry, self.plan.decorators(index))
            return
        note, is_always_active = self._stand_in(index) if entry.mode == CHILD else (None, entry.always_active)
        told = self.plan.decorators(self.content_of.get(index, index))
        if told.conditions:
            note = self._barred(told) or note
        if told.probabilities:
            note = self._rolled(told) or note
        forced = self._forced(index, told) if told.forces else None
        if forced is not None:
            note = forced
        elif note is None:
            note = self._always(index) if is_always_active else self._searched(index, told)
        self.notes[index] = note
        if note.reason == LorebookReason.ACTIVATED:
            self._wake(index, entry, told)

    def _stand_in(self, index: int) -> tuple[_Note | None, bool]:
        """A child takes the content of the entry that it stands in for, as long as that one is not active. Having
        taken it, it is always active, if nothing else keeps it."""
        parent = self.plan.parent(index)
        if parent is None:
            return _Note(LorebookReason.NO_PARENT), False
        if parent in self.awake:
            return _Note(LorebookReason.PARENT_ACTIVE), False
        self.content_of[index] = self.content_of.get(parent, parent)
        return None, True

    def _barred(self, told: Decorators) -> _Note | None:
        return next((note for condition in told.conditions if (note := self._unmet(condition))), None)

    def _unmet(self, condition: ChatCondition) -> _Note | None:
        length = self.message_count + 1  # the greeting counts
        match condition.kind:
            case "activate_only_after":
                return _Note(LorebookReason.TOO_EARLY) if length < condition.number else None
            case "activate_only_every":
                is_due = condition.number != 0 and length % condition.number == 0
                return None if is_due else _Note(LorebookReason.NOT_THIS_TURN)
            case _:
                return None if self.greeting == condition.number else _Note(LorebookReason.OTHER_GREETING)

    def _rolled(self, told: Decorators) -> _Note | None:
        """Every probability is drawn for in every pass."""
        missed: _Note | None = None
        for probability in told.probabilities:
            roll = self.scene.random() * 100
            if roll > probability:
                missed = _Note(LorebookReason.PROBABILITY, roll=roll)
        return missed

    def _forced(self, index: int, told: Decorators) -> _Note | None:
        """What decides without keys. That matches are to be remembered holds, once one entry has asked for it, for
        all that wake up later in the scan."""
        decision: _Note | None = None
        for force in told.forces:
            match force:
                case Force.ACTIVATE:
                    decision = _Note(LorebookReason.ACTIVATED, LorebookCause.DECORATOR)
                case Force.DONT_ACTIVATE:
                    decision = _Note(LorebookReason.DECORATOR)
                case Force.KEEP if self._has_matched(index, KEPT):
                    decision = _Note(LorebookReason.ACTIVATED, LorebookCause.KEPT)
                case Force.NEVER_AGAIN if self._has_matched(index, NEVER_AGAIN):
                    decision = _Note(LorebookReason.ALREADY_MATCHED)
                case _:
                    self.remembers[KEPT if force == Force.KEEP else NEVER_AGAIN] = None
        return decision

    def _has_matched(self, index: int, prefix: str) -> bool:
        return get_chat_variable(self.scene, self._memory(index, prefix)) == "true"

    def _memory(self, index: int, prefix: str) -> str:
        """The variable that remembers a match; an entry without id is known by its content."""
        id = self.plan.entries[index].id
        if id is not None:
            return prefix + id
        content = self.plan.entries[self.content_of.get(index, index)].content
        return prefix + number_to_string(pick_hash_rand(HASH_SEED, content))

    def _always(self, index: int) -> _Note:
        return _Note(
            LorebookReason.ACTIVATED, LorebookCause.CHILD if index in self.content_of else LorebookCause.ALWAYS
        )

    def _searched(self, index: int, told: Decorators) -> _Note:
        sight = self._sight(told)
        if self.plan.entries[index].use_regex:
            return self._searched_by_regex(index, sight)
        woken: tuple[str, int] | None = None
        for search in self.plan.searches(index):
            if search.kind == QueryKind.EXCLUDE_ALL:
                if self.haystack.is_everywhere(search, sight):
                    self.later.add(index)  # what is said next may lack one of the keys
                    return _Note(LorebookReason.EXCLUDED_ALL)
                continue
            found = self.haystack.find(search, sight)
            if (found is None) != search.kind.is_negative:
                return _failure(search.kind, found)
            woken = found if search.kind == QueryKind.KEYS else woken
        return _by_key(woken)

    def _searched_by_regex(self, index: int, sight: Sight) -> _Note:
        woken: tuple[str, int] | None = None
        for query in self.plan.queries(index):
            found = self.regexes.find(query.keys, sight)
            if (found is None) != query.kind.is_negative:
                slow = self.regexes.slow_key(query.keys)
                return _failure(query.kind, found) if slow is None else _Note(LorebookReason.REGEX_TIMEOUT, key=slow)
            woken = found if query.kind == QueryKind.KEYS else woken
        return _by_key(woken)

    def _sight(self, told: Decorators) -> Sight:
        start = self.sight.start if told.scan_depth is None else self._start(told.scan_depth)
        return Sight(start, not told.ignores_recursion)

    def _start(self, depth: float) -> int:
        """The first message that is looked at. A depth greater than the chat counts from the end once more, as a
        negative place does in JavaScript, so that messages at the beginning are not seen."""
        if math.isnan(depth):
            return 0
        start = self.message_count - int(depth)
        return min(start, self.message_count) if start >= 0 else max(start + self.message_count, 0)

    def _wake(self, index: int, entry: LoreEntry, told: Decorators) -> None:
        content, note = self.content_of.get(index, index), self.notes[index]
        source = _name(self.plan.entries[content], index)
        self.awake[index] = ActiveLore(
            entry=entry,
            index=index,
            prompt=told.content,
            depth=told.depth,
            pos=told.position,
            role=told.role,
            order=entry.insert_order,
            priority=entry.insert_order if told.priority is None else told.priority,
            tokens=self.scene.count_tokens(told.content),
            source=source,
            inject=told.injection,
            cause=note.cause,
            key=note.key,
            is_said_by_lore=note.place is not None and note.place >= self.message_count,
            found_at=note.place,
            books=self.books,
        )
        self.restless.discard(index)
        for prefix in self.remembers:
            self.scene.variables.set(self._memory(index, prefix), "true")
        if self.recursive if told.recursive is None else told.recursive:
            self.has_spoken = True
            self.speakers.append(source)
            for called in self.haystack.add(told.content, self.plan.heard(content)):
                self._call(called, after=index)

    def _call(self, index: int, *, after: int) -> None:
        """Have an entry asked in this pass, if its turn is still to come, or else in the next."""
        if index in self.awake:
            return
        if index < after:
            self.later.add(index)
        elif index not in self.queued:
            self.queued.add(index)
            heapq.heappush(self.queue, index)

    # Afterwards: the answer, and the reasons.

    def _result(self) -> LorebookResult:
        kept, left_out = fit(self.awake.values(), self.budget)
        arranged = arrange(kept)
        for lore in left_out:
            self._turn_down(lore.index, LorebookReason.BUDGET)
        for lore, has_target in arranged.injected:
            self._turn_down(lore.index, LorebookReason.INJECTED if has_target else LorebookReason.NO_TARGET)
        return LorebookResult(
            active=arranged.active,
            left_out=tuple(left_out),
            verdicts=LorebookVerdicts(self._verdicts),
            total_tokens=sum(lore.tokens for lore in kept),
            budget=self.budget,
            passes=self.passes,
            warnings=tuple(self._warnings()),
        )

    def _turn_down(self, index: int, reason: LorebookReason) -> None:
        self.notes[index] = self.notes[index]._replace(reason=reason)

    def _warnings(self) -> list[BuildWarning]:
        warnings = [
            BuildWarning(
                code="lore_decorator",
                message=f"In the entry “{_name(self.plan.entries[index], index)}”: {problem}",
                where={"entry": index},
            )
            for index, problem in self.plan.problems
        ]
        warnings += [
            BuildWarning(
                code="regex_timeout",
                message=f"The key {regex.source}/{regex.flags} took too long and was skipped.",
                where={"source": regex.source, "flags": regex.flags},
            )
            for regex in self.regexes.timed_out
        ]
        if self.was_cut_short:
            message = (
                f"The lorebook was cut short after {self.max_steps:,} steps: its entries go on calling each other."
            )
            warnings.append(BuildWarning(code="lore_cut_short", message=message))
        return warnings

    def _verdicts(self) -> list[LorebookVerdict]:
        misses = LorebookMisses(
            self.plan,
            self.haystack,
            length=self.message_count,
            short_by=short_by(self.awake.values(), self.budget),
        )
        starts = (0, *(end for end, _ in self.books))
        return [
            self._verdict(index, book, misses)
            for start, (end, book) in zip(starts, self.books, strict=False)
            for index in range(start, end)
        ]

    def _verdict(self, index: int, book: str, misses: LorebookMisses) -> LorebookVerdict:
        entry = self.plan.entries[index]
        note = self.notes.get(index) or self._unasked(index, entry)
        lore = self.awake.get(index)
        injection = None if lore is None else lore.inject
        verdict = LorebookVerdict(
            entry=entry,
            index=index,
            book=book,
            reason=note.reason,
            cause=note.cause,
            key=note.key,
            place=None if note.place is None else self._place(note.place),
            roll=note.roll,
            into=injection.location if injection is not None and injection.lore else None,
        )
        if verdict.is_activated:
            return verdict
        told = self.plan.decorators(self.content_of.get(index, index))
        near_miss = misses.of(verdict, told, self._sight(told), note.place)
        return verdict if near_miss is None else verdict.with_(near_miss=near_miss)

    def _unasked(self, index: int, entry: LoreEntry) -> _Note:
        """Nothing called it in any pass, so no pass has looked at it."""
        if not (entry.always_active or entry.key):
            return _Note(LorebookReason.NO_KEYS)
        if self.was_cut_short:
            return _Note(LorebookReason.CUT_SHORT)
        told = self.plan.decorators(index)
        return self._forced(index, told) or self._barred(told) or self._searched(index, told)

    def _place(self, place: int) -> LorebookPlace:
        if place < self.message_count:
            return LorebookPlace(message=self.message_count - 1 - place)
        return LorebookPlace(lore=self.speakers[place - self.message_count])


def _failure(kind: QueryKind, found: tuple[str, int] | None) -> _Note:
    key, place = found or (None, None)
    return _Note(_QUERY_FAILURES[kind], key=key, place=place)


def _by_key(found: tuple[str, int] | None) -> _Note:
    key, place = found or (None, None)
    return _Note(LorebookReason.ACTIVATED, LorebookCause.KEY, key, place)


def _name(entry: LoreEntry, index: int) -> str:
    return entry.comment or f"lorebook {index}"
