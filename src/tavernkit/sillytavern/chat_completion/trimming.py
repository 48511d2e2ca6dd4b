"""Giving out the tokens as SillyTavern does: prompts first, then the chat from its end, then whole examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import report_trimming, settle
from tavernkit.prompt.parts import covered, joined
from tavernkit.prompt.tokens import attachment_tokens
from tavernkit.prompt.trimming import TrimReport, eviction_record, without_room
from tavernkit.prompt.unsent import made_of
from tavernkit.sillytavern.chat_completion.compilation import DESCRIPTIONS
from tavernkit.sillytavern.chat_completion.scene import ChatScene

_APART = ("new_chat", "new_example", "group_nudge")

REPLY_PRIMER = 3
"""What the beginning of the reply costs."""

_IN_CHAT = ("history", "injection")
_EXAMPLES = ("new_example", "example")
_IN_CHAT_OR_EXAMPLES = (*_IN_CHAT, *_EXAMPLES)
_LATER = frozenset(
    {*_IN_CHAT, *_EXAMPLES, "new_chat", "send_if_empty", "group_nudge", "continued", "continue_nudge"}
    | {"impersonation", "quiet", "continue_prefill"}
)
"""Blocks that are paid for in their own order; what an application adds under other names is paid for like prompts if
it must be sent, and else behind them, as far as there is room."""

TOKENS_AROUND_MESSAGE = 3
TOKENS_AROUND_NAME = 1


def trimming(ctx: Context) -> None:
    """Fit the blocks into the window, and say what had to go."""
    scene = ctx.platform(ChatScene)
    budget = max(0, ctx.preset.max_prompt_tokens - REPLY_PRIMER)
    share = _Share(ctx.blocks, budget, _counter(ctx))
    overflow = share.give(examples_first=scene.story.settings.pin_examples)
    report = share.report()
    report_trimming(ctx, report, overflow=None if overflow is None else _overflow_error(overflow, report))
    ctx.blocks = [
        block if place in share.given or not block.enabled else block.disable()
        for place, block in enumerate(ctx.blocks)
    ]
    settle(ctx)
    if scene.preset.squash_system_messages:
        ctx.blocks = _squashed(ctx, ctx.blocks)
    ctx.blocks = [block for block in ctx.blocks if _says_something(block)]


def _overflow_error(block: Block, report: TrimReport) -> TokenBudgetExceeded:
    return TokenBudgetExceeded(
        budget=report.budget_tokens,
        actual=report.initial_tokens,
        advice=f"There is no room for {block.source.get('id', '?')}, which must be sent:"
        " shorten the prompts or raise the context size.",
    )


def _says_something(block: Block) -> bool:
    return bool(block.content or block.attachments or block.message_metadata.get("tool_calls"))


def _counter(ctx: Context) -> Callable[[Block], int]:
    def count(text: str) -> int:
        return ctx.estimator.estimate(text, ctx.model)

    roles: dict[str, int] = {}

    def tokens(block: Block) -> int:
        if not _says_something(block):
            return 0
        if block.role not in roles:
            roles[block.role] = count(block.role)
        total = TOKENS_AROUND_MESSAGE + roles[block.role] + count(block.content)
        if block.name:
            total += TOKENS_AROUND_NAME + count(block.name)
        calls = block.message_metadata.get("tool_calls")
        if calls:
            total += count(json.dumps(calls, ensure_ascii=False))
        return total + sum(map(attachment_tokens, block.attachments)) if block.attachments else total

    return tokens


class _OverflowError(Exception):
    def __init__(self, block: Block) -> None:
        self.block = block


class _Share:
    """The budget while it is given out. What is reserved is spent in advance and checked when it is used."""

    def __init__(self, blocks: Sequence[Block], budget: int, tokens: Callable[[Block], int]) -> None:
        self.budget = budget
        self.given: set[int] = set()
        self._left = budget
        self._blocks = blocks
        self._costs = [tokens(block) if block.enabled else 0 for block in blocks]
        self._by_slot: dict[str | None, list[int]] = {}
        for place, block in enumerate(blocks):
            if block.enabled:
                self._by_slot.setdefault(block.slot, []).append(place)

    def give(self, *, examples_first: bool) -> Block | None:
        """Go through everything; the block that could not be paid for, where that ended the giving."""
        blocks = self._blocks
        at_once = self._in(*(self._by_slot.keys() - _LATER))
        fixed = [place for place, block in enumerate(blocks) if not block.removable]
        crowding = without_room(blocks, self._costs, fixed, self.budget)
        prompts = [place for place in at_once if not blocks[place].removable and place not in crowding]
        kept = [place for place in fixed if blocks[place].enabled and blocks[place].slot in _IN_CHAT_OR_EXAMPLES]
        prompts.sort(key=lambda place: -blocks[place].priority)
        descriptions = [place for place in prompts if blocks[place].priority >= DESCRIPTIONS]
        asked = self._in("impersonation", "quiet")
        prefilled = self._in("continue_prefill")
        try:
            self._admit_all(kept)
            self._admit_all(descriptions)
            self._reserve(asked)
            self._admit_all(prompts[len(descriptions) :])
            self._reserve(prefilled)
            for place in at_once:
                if blocks[place].removable and self._can_afford([place]):
                    self._admit(place)
            steps = (self._give_examples, self._give_chat) if examples_first else (self._give_chat, self._give_examples)
            for step in steps:
                step()
            for reserved in (asked, prefilled):
                self._free(reserved)
                self._admit_all(reserved)
        except _OverflowError as overflow:
            return overflow.block
        return None

    def report(self) -> TrimReport:
        evicted = [place for place, cost in enumerate(self._costs) if cost and place not in self.given]
        return TrimReport(
            strategy="group_order",
            budget_tokens=self.budget,
            initial_tokens=sum(self._costs),
            final_tokens=self._cost(self.given),
            evictions=tuple(
                eviction_record(
                    self._blocks[place],
                    self._costs[place],
                    "budget_exceeded" if self._blocks[place].bundle is None else "group_overflow",
                )
                for place in evicted
            ),
        )

    def _in(self, *slots: str | None) -> list[int]:
        """The places of what is enabled under these names, in the order of the prompt."""
        return sorted(place for slot in slots for place in self._by_slot.get(slot, ()))

    def _give_chat(self) -> None:
        around = (self._in("new_chat"), self._in("group_nudge"), self._in("continued", "continue_nudge"))
        for reserved in around:
            self._reserve(reserved)
        for place in self._in("send_if_empty"):
            if self._can_afford([place]):
                self._admit(place)
        for unit in reversed(self._units(self._in(*_IN_CHAT))):
            if not self._can_afford(unit):
                break
            self._admit_all(unit)
        for reserved in around:
            self._free(reserved)
            self._admit_all(reserved)

    def _give_examples(self) -> None:
        for dialogue in self._units(self._in(*_EXAMPLES)):
            if not self._can_afford(dialogue):
                break
            self._admit_all(dialogue)

    def _units(self, places: Iterable[int]) -> list[list[int]]:
        """What stands or falls together and is not yet given: the blocks of a bundle, or one alone."""
        units: dict[str | int, list[int]] = {}
        for place in places:
            if place in self.given:
                continue
            bundle = self._blocks[place].bundle
            units.setdefault(place if bundle is None else bundle, []).append(place)
        return list(units.values())

    def _cost(self, places: Iterable[int]) -> int:
        return sum(map(self._costs.__getitem__, places))

    def _can_afford(self, places: Iterable[int]) -> bool:
        return self._cost(places) <= self._left

    def _reserve(self, places: Iterable[int]) -> None:
        self._left -= self._cost(places)

    def _free(self, places: Iterable[int]) -> None:
        self._left += self._cost(places)

    def _admit_all(self, places: Iterable[int]) -> None:
        for place in places:
            self._admit(place)

    def _admit(self, place: int) -> None:
        cost = self._costs[place]
        if cost > self._left:
            raise _OverflowError(self._blocks[place])
        self._left -= cost
        self.given.add(place)


def _squashed(ctx: Context, blocks: Sequence[Block]) -> list[Block]:
    """Join neighbours among the system's messages by a line break, save those that head something or bear a name."""
    result: list[Block] = []
    runs: list[list[Block]] = []
    for block in blocks:
        if not block.enabled or (block.role == "system" and not block.content):
            result.append(block)
            continue
        if _joins(block) and runs and _joins(runs[-1][0]):
            runs[-1].append(block)
            continue
        runs.append([block])
        result.append(block)
    merged = {run[0].id: _merged(ctx, run) for run in runs if len(run) > 1}
    return [merged.get(block.id, block) for block in result]


def _joins(block: Block) -> bool:
    return block.role == "system" and not block.name and block.slot not in _APART


def _merged(ctx: Context, run: Sequence[Block]) -> Block:
    sources = [str(block.source.get("id")) for block in run]
    texts = [block.sourced_content for block in run]
    if any(block.parts for block in run):
        texts = [covered(block.sourced_content, source) for block, source in zip(run, sources, strict=True)]
    return ctx.new_block(
        source="squashed",
        slot="squashed",
        content=joined("\n", texts),
        removable=False,
        token_budget_group="system",
        metadata={"parts": [part for block in run for part in made_of(block)]},
    )
