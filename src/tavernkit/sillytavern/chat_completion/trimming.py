"""Giving out the tokens as SillyTavern does: prompts first, then the chat from its end, then whole examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

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
from tavernkit.sillytavern.layout import FROZEN, KEPT_SHARE
from tavernkit.sillytavern.stages.layout import state_after

_APART = ("new_chat", "new_example", "group_nudge", FROZEN)

REPLY_PRIMER = 3
"""What the beginning of the reply costs."""

_IN_CHAT = ("history", "injection", FROZEN)
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
    share, overflow, first_message = _shared_out(ctx, scene, budget)
    report = share.report()
    report_trimming(ctx, report, overflow=None if overflow is None else _overflow_error(overflow, report))
    ctx.blocks = [
        block if place in share.given or not block.enabled else block.disable()
        for place, block in enumerate(ctx.blocks)
    ]
    settle(ctx)
    sent = (str(block.source.get("id")) for block in ctx.blocks if block.enabled)
    scene.layout_state = state_after(scene, sent, first_message)
    if scene.preset.squash_system_messages:
        ctx.blocks = _squashed(ctx, ctx.blocks)
    ctx.blocks = [block for block in ctx.blocks if _says_something(block)]


def _shared_out(ctx: Context, scene: ChatScene, budget: int) -> tuple[_Share, Block | None, int]:
    """Give out the tokens; with the block that could not be paid for, and the first message of a stable layout.

    A stable layout leaves out as many messages at once that it need not do so again soon, and never lets examples come
    and go with the length of the chat.
    """
    tokens, is_stable = _counter(ctx), scene.story.is_stable
    indexes = {turn.source: turn.index for turn in scene.affordable_turns}
    found = {place: indexes.get(str(block.source.get("id"))) for place, block in enumerate(ctx.blocks)}
    messages = {place: index for place, index in found.items() if index is not None}

    def give(without: frozenset[int] = frozenset()) -> tuple[_Share, Block | None]:
        share = _Share(ctx.blocks, budget, tokens, without)
        return share, share.give(examples_first=is_stable or scene.story.settings.pin_examples)

    if not is_stable:
        return *give(), 0
    start = scene.story.layout_state.first_message
    older = frozenset(place for place, index in messages.items() if index < start)
    share, overflow = give(older)
    unread = len(scene.affordable_turns) < len(scene.turns) or scene.messages_read < len(ctx.history)
    if older and not unread and share.cost(messages) <= KEPT_SHARE * share.room(messages):
        # There is much more room than there was: all of the chat is sent again.
        start, older = 0, frozenset()
        share, overflow = give()
    is_cut = any(place not in older and place not in share.given for place in messages)
    is_cut = is_cut or (unread and min(messages.values(), default=start) > start)
    if overflow is not None or not is_cut:
        return share, overflow, start
    start = _new_start(share, messages)
    gone = {one.source for one in scene.frozen if one.entry.message < start and not one.is_activated}
    lore = {place for place, block in enumerate(ctx.blocks) if block.source.get("id") in gone}
    share, overflow = give(frozenset(lore.union(place for place, index in messages.items() if index < start)))
    return share, overflow, start


def _new_start(share: _Share, messages: Mapping[int, int]) -> int:
    """The first message to be sent, where so much room is left that the next ones need not move it again."""
    sent = [place for place in messages if place in share.given]
    left = KEPT_SHARE * share.cost(sent)
    start = max(messages.values())
    for place in reversed(sent):
        left -= share.cost([place])
        if left < 0:
            break
        start = messages[place]
    return start


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

    def __init__(
        self, blocks: Sequence[Block], budget: int, tokens: Callable[[Block], int], without: frozenset[int]
    ) -> None:
        self.budget = budget
        self.given: set[int] = set()
        self._left = budget
        self._blocks = blocks
        self._costs = [tokens(block) if block.enabled else 0 for block in blocks]
        self._by_slot: dict[str | None, list[int]] = {}
        for place, block in enumerate(blocks):
            if block.enabled and place not in without:
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
            final_tokens=self.cost(self.given),
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

    def cost(self, places: Iterable[int]) -> int:
        """What the blocks at these places take."""
        return sum(map(self._costs.__getitem__, places))

    def _can_afford(self, places: Iterable[int]) -> bool:
        return self.cost(places) <= self._left

    def room(self, places: Iterable[int]) -> int:
        """How many tokens there are for the blocks at these places, when all others have theirs."""
        return self._left + self.cost(place for place in places if place in self.given)

    def _reserve(self, places: Iterable[int]) -> None:
        self._left -= self.cost(places)

    def _free(self, places: Iterable[int]) -> None:
        self._left += self.cost(places)

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
