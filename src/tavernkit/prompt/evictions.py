"""Why blocks of a plan are not sent, and by how much they did not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import EvictedBlock, EvictedReason

MOST_EVICTED = 200
"""Of how many blocks it is said why they are not sent."""

EXCERPT = 80

NO_ROOM = "does not fit"
NO_ROOM_BY_GROUP = {
    "history": "does not fit; messages are added from the newest back to here",
    "examples": "does not fit; examples are added from the first up to here",
}
BEHIND_BY_GROUP = {
    "history": "older than a message that does not fit",
    "examples": "after an example that does not fit",
}
LEFT_OUT: Mapping[str, tuple[EvictedReason, str]] = {
    "stripped": ("stripped", "examples are disabled in the settings"),
    "oldest": ("oldest", "does not fit; the oldest messages are trimmed first"),
    "summed_up": ("summed_up", "replaced by the memory"),
    "format": ("format", "not used by the model's format"),
}
_FOR_WANT_OF_ROOM: frozenset[EvictedReason] = frozenset(("no_room", "behind", "required", "overflow", "oldest"))


def evicted_blocks(plan: Plan, *, most: int = MOST_EVICTED) -> tuple[EvictedBlock, ...]:
    """The blocks that are not sent, in the order of the prompt, and behind them the messages that are too old for any
    budget to reach; of very many, the last."""
    missing = plan.left_out
    overflowed = any(warning.code == "mandatory_over_budget" for warning in plan.warnings)
    misfits = _misfits(missing)
    costs = _costs(plan, missing)
    short = _short_by(plan, missing, costs)
    told = [
        _evicted(block, costs[block.id], short.get(block.id), is_misfit=block.id in misfits, overflowed=overflowed)
        for block in missing[-most:]
    ]
    return (*told, *_out_of_reach(plan))


def message_of(block: Block) -> int | None:
    """The place in the chat of the message that a block is made of."""
    kind, _, number = str(block.source.get("id", "")).partition(":")
    return int(number) if kind == "message" and number.isascii() and number.isdigit() else None


def _evicted(block: Block, tokens: int, short_by: int | None, *, is_misfit: bool, overflowed: bool) -> EvictedBlock:
    reason, sentence = _reason(block, is_misfit=is_misfit, overflowed=overflowed)
    return EvictedBlock(
        id=block.id,
        role=block.role,
        source=_name(block),
        reason=reason,
        sentence=sentence,
        tokens=tokens,
        short_by=short_by if reason in _FOR_WANT_OF_ROOM else None,
        slot=block.slot or "",
        message=message_of(block),
        text=beginning(block.content),
    )


def beginning(text: str) -> str:
    """How a text begins, on one line."""
    line = " ".join(text[: 2 * EXCERPT].split())
    return line if len(line) <= EXCERPT and len(text) <= 2 * EXCERPT else f"{line[: EXCERPT - 1]}…"


def _name(block: Block) -> str:
    message = message_of(block)
    return str(block.source.get("id", "")) if message is None else f"message {message}"


def _reason(block: Block, *, is_misfit: bool, overflowed: bool) -> tuple[EvictedReason, str]:
    group, left_out = block.token_budget_group, block.metadata.get("left_out")
    if isinstance(left_out, str) and left_out in LEFT_OUT:
        return LEFT_OUT[left_out]
    if not block.removable:
        return "required", "required, but does not fit"
    if overflowed:
        return "overflow", "the required prompts leave no room"
    if left_out == "budget" or (left_out is None and is_misfit):
        return "no_room", NO_ROOM_BY_GROUP.get(group, NO_ROOM)
    return ("behind", BEHIND_BY_GROUP[group]) if group in BEHIND_BY_GROUP else ("no_room", NO_ROOM)


def _misfits(missing: Sequence[Block]) -> frozenset[str]:
    """The blocks that had no room themselves: the newest of the chat, the first of the examples."""
    history = [block for block in missing if block.token_budget_group == "history"]
    examples = [block for block in missing if block.token_budget_group == "examples"]
    first = [block for block in examples if block.bundle is not None and block.bundle == examples[0].bundle]
    return frozenset(block.id for block in [*history[-1:], *examples[:1], *first])


def _costs(plan: Plan, missing: Iterable[Block]) -> dict[str, int]:
    report = plan.trim_report
    counted = {} if report is None else {record.block_id: record.token_count for record in report.evictions}
    return {block.id: counted[block.id] if block.id in counted else block.tokens() for block in missing}


def _short_by(plan: Plan, missing: Sequence[Block], costs: Mapping[str, int]) -> dict[str, int]:
    """By how many tokens each block did not fit, with those that had to fit before it: newer messages, earlier
    examples, and the others of its bundle."""
    report = plan.trim_report
    if report is None:
        return {}
    room = max(0, report.budget_tokens - report.final_tokens)
    by_group: dict[str, list[Block]] = {}
    for block in missing:
        by_group.setdefault(block.token_budget_group, []).append(block)
    short: dict[str, int] = {}
    for group, blocks in by_group.items():
        needed = 0
        for unit in _units(reversed(blocks) if group == "history" else blocks):
            cost = sum(costs[block.id] for block in unit)
            needed = needed + cost if group in BEHIND_BY_GROUP else cost
            if needed > room:
                short.update((block.id, needed - room) for block in unit)
    return short


def _units(blocks: Iterable[Block]) -> list[list[Block]]:
    units: dict[str, list[Block]] = {}
    for block in blocks:
        units.setdefault(block.bundle or block.id, []).append(block)
    return list(units.values())


def _out_of_reach(plan: Plan) -> Iterator[EvictedBlock]:
    """The messages in front of the oldest that was looked at, as one."""
    known = [place for block in plan.blocks if (place := message_of(block)) is not None]
    oldest = min(known, default=0)
    if oldest:
        yield EvictedBlock(
            id="",
            role="",
            source="message 0" if oldest == 1 else f"messages 0 to {oldest - 1}",
            reason="out_of_reach",
            sentence="older than the messages that fit, or hidden; not counted",
            tokens=0,
            slot="history",
        )
