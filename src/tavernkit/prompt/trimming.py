"""Making a prompt fit: which blocks go, in which order, and a report that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.block import ARTIFACT, Block
from tavernkit.prompt.tokens import TokenEstimator, message_tokens
from tavernkit.values import JsonObject, Value, check_choice

TrimStrategy: TypeAlias = Literal["group_order", "priority"]
TrimOrder: TypeAlias = TrimStrategy | Literal["oldest_first"]
"""What a report may name: RisuAI's own order is the third, and no caller's choice."""

EvictionReason: TypeAlias = Literal["budget_exceeded", "group_overflow", "priority_cutoff"]


class EvictionRecord(Value, frozen=True, kw_only=True):
    """One block that had to go."""

    block_id: str
    slot: str | None
    token_count: int
    reason: EvictionReason
    budget_group: str
    priority: int
    source: JsonObject | None


class TrimReport(Value, frozen=True, kw_only=True):
    """What trimming did and what it cost."""

    strategy: TrimOrder
    budget_tokens: int
    initial_tokens: int
    final_tokens: int
    evictions: tuple[EvictionRecord, ...] = ()

    @property
    def eviction_count(self) -> int:
        return len(self.evictions)

    @property
    def tokens_saved(self) -> int:
        return self.initial_tokens - self.final_tokens

    @property
    def over_budget(self) -> bool:
        """True when the blocks did not fit before trimming."""
        return self.initial_tokens > self.budget_tokens


class TrimResult(Value, frozen=True, kw_only=True):
    """`kept` and `evicted` are in prompt order; evicted blocks are disabled copies."""

    kept: tuple[Block, ...]
    evicted: tuple[Block, ...]
    report: TrimReport
    blocks: tuple[Block, ...]
    """All blocks in prompt order, the evicted ones disabled."""


class Trimmer:
    """Evicts blocks until the rest fits.

    `group_order` (SillyTavern's way): examples go first, the last dialogue before the first; then lore, the lowest
    priority first; then history and every other group, the oldest first. `priority`: the lowest priority goes first,
    the earlier block before the later.

    Blocks that are not `removable` are never evicted; `group_order` also protects the `system` group and the latest
    user message of the history. A protected block protects its bundle. Where all that stays is too much, artifacts go
    nevertheless. `message_overhead` is what a provider adds
    around each message.
    """

    def __init__(self, strategy: TrimStrategy = "group_order", *, message_overhead: int = 0) -> None:
        check_choice("The strategy of a Trimmer", strategy, TrimStrategy)
        self.strategy: TrimStrategy = strategy
        self.message_overhead = message_overhead

    def trim(
        self, blocks: Sequence[Block], *, budget: int, estimator: TokenEstimator, model_hint: str | None = None
    ) -> TrimResult:
        """Fit `blocks` into `budget` tokens; raises TokenBudgetExceeded when what must stay is already too much."""
        costs = [
            message_tokens(block.to_message(), estimator, model_hint) + self.message_overhead if block.enabled else 0
            for block in blocks
        ]
        initial = sum(costs)
        evicted = self._choose(blocks, costs, budget) if initial > budget else {}
        final = initial - sum(costs[index] for index in evicted)
        if final > budget:
            raise TokenBudgetExceeded(
                budget=budget,
                actual=final,
                advice="Nothing more may be removed: shorten the character or system prompt, or raise the window.",
            )
        report = TrimReport(
            strategy=self.strategy,
            budget_tokens=budget,
            initial_tokens=initial,
            final_tokens=final,
            evictions=tuple(eviction_record(blocks[index], costs[index], reason) for index, reason in evicted.items()),
        )
        after = tuple(block.disable() if index in evicted else block for index, block in enumerate(blocks))
        return TrimResult(
            kept=tuple(block for block in after if block.enabled),
            evicted=tuple(after[index] for index in sorted(evicted)),
            report=report,
            blocks=after,
        )

    def _choose(self, blocks: Sequence[Block], costs: Sequence[int], budget: int) -> dict[int, EvictionReason]:
        protected = _protected_by_group(blocks) if self.strategy == "group_order" else set()
        staying = [index for index, block in enumerate(blocks) if not block.removable or index in protected]
        crowding = sorted(without_room(blocks, costs, staying, budget))
        evicted: dict[int, EvictionReason] = dict.fromkeys(crowding, "budget_exceeded")
        excess = sum(costs) - sum(costs[index] for index in evicted) - budget
        units = _units(blocks, protected)
        by_priority = self.strategy == "priority"
        for unit in sorted(units, key=_lowest_priority(blocks)) if by_priority else _by_group(units, blocks):
            if excess <= 0:
                break
            alone_or_not: EvictionReason = "group_overflow" if len(unit) > 1 else "budget_exceeded"
            for index in unit:
                evicted[index] = "priority_cutoff" if by_priority else alone_or_not
                excess -= costs[index]
        return evicted


def without_room(blocks: Sequence[Block], costs: Sequence[int], staying: Iterable[int], budget: int) -> set[int]:
    """The artifacts that go because all that is to stay is already too much, the largest first: what stands beside a
    story must not push it out."""
    staying = list(staying)
    excess = sum(costs[index] for index in staying) - budget
    gone: set[int] = set()
    if excess <= 0:
        return gone
    artifacts = [index for index in staying if blocks[index].slot == ARTIFACT]
    for index in sorted(artifacts, key=lambda index: (-costs[index], -index)):
        if excess <= 0:
            break
        gone.add(index)
        excess -= costs[index]
    return gone


Unit: TypeAlias = list[int]


def _protected_by_group(blocks: Sequence[Block]) -> set[int]:
    protected = {index for index, block in enumerate(blocks) if block.token_budget_group == "system"}
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        is_message = block.token_budget_group == "history" and block.slot in (None, "history")
        if block.enabled and block.role == "user" and is_message:
            protected.add(index)
            break
    return protected


def _units(blocks: Sequence[Block], protected: set[int]) -> list[Unit]:
    """Positions that stand or fall together, in prompt order, without those that must stay."""
    units: dict[int | str, Unit] = {}
    staying: set[int | str] = set()
    for index, block in enumerate(blocks):
        if not block.enabled:
            continue
        key = index if block.bundle is None else block.bundle
        units.setdefault(key, []).append(index)
        if not block.removable or index in protected:
            staying.add(key)
    return [unit for key, unit in units.items() if key not in staying]


def _by_group(units: Iterable[Unit], blocks: Sequence[Block]) -> list[Unit]:
    examples: list[Unit] = []
    lore: list[Unit] = []
    rest: list[Unit] = []
    for unit in units:
        match blocks[unit[0]].token_budget_group:
            case "examples":
                examples.append(unit)
            case "lore":
                lore.append(unit)
            case _:
                rest.append(unit)
    return [*reversed(examples), *sorted(lore, key=_lowest_priority(blocks)), *rest]


def _lowest_priority(blocks: Sequence[Block]) -> Callable[[Unit], int]:
    return lambda unit: min(blocks[index].priority for index in unit)


def eviction_record(block: Block, tokens: int, reason: EvictionReason) -> EvictionRecord:
    """What is told of a block that had to go."""
    source = block.metadata.get("source")
    return EvictionRecord(
        block_id=block.id,
        slot=block.slot,
        token_count=tokens,
        reason=reason,
        budget_group=block.token_budget_group,
        priority=block.priority,
        source=source if isinstance(source, dict) else None,
    )
