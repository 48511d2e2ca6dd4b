"""What a scan gives back: texts by position, the state for the next turn, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from tavernkit.lore.engine import LoreResult
from tavernkit.lore.verdicts import TimedState
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.world_info.fields import Position, WorldEntry
from tavernkit.sillytavern.world_info.verdicts import WorldInfoVerdicts
from tavernkit.values import Value


class ActivatedEntry(Value, frozen=True, kw_only=True):
    """An entry that woke up and fits; `content` has its macros expanded."""

    entry: WorldEntry
    content: str


class DepthInsertion(Value, frozen=True, kw_only=True):
    """What goes into the chat at one depth with one role: 0 system, 1 user, 2 assistant.

    `depth` is None for an entry whose file says null and that found no others at the default depth.
    """

    depth: int | None
    role: int
    entries: tuple[str, ...]


class ExampleInsertion(Value, frozen=True, kw_only=True):
    """Examples that go before or after the card's own."""

    placement: Literal["before", "after"]
    content: str


class Insertions(Value, frozen=True, kw_only=True):
    """Where everything goes; each in the order it stands in the prompt."""

    before_character: str = ""
    after_character: str = ""
    note_top: tuple[str, ...] = ()
    note_bottom: tuple[str, ...] = ()
    at_depth: tuple[DepthInsertion, ...] = ()
    examples: tuple[ExampleInsertion, ...] = ()
    outlets: Mapping[str, tuple[str, ...]] = {}


class WorldInfoResult(LoreResult, frozen=True, kw_only=True):
    """`activations` are in the order they woke up, `activated_entries` in the order of the prompt.

    `timed` is the state to give to the next turn, `rolls` the random numbers that were drawn, `passes` how often the
    entries were gone through, `warnings` what had to be skipped.
    """

    insertions: Insertions
    activations: tuple[ActivatedEntry, ...]
    verdicts: WorldInfoVerdicts
    timed: TimedState
    rolls: tuple[float, ...]
    budget: int
    overflowed: bool
    passes: int
    warnings: tuple[BuildWarning, ...] = ()


class _Depth(NamedTuple):
    depth: int | None
    role: int
    contents: list[str]


def in_prompt_order(activations: Sequence[ActivatedEntry]) -> list[ActivatedEntry]:
    """The lowest order first; of equal ones, who woke up last."""
    return sorted(activations, key=lambda activation: -activation.entry.order)[::-1]


def arrange(in_prompt: Sequence[ActivatedEntry]) -> Insertions:
    """Put contents in their places. In an outlet, the highest order comes first."""
    lists: dict[int, list[str]] = {position: [] for position in range(Position.AT_DEPTH)}
    examples: list[ExampleInsertion] = []
    depths: list[_Depth] = []
    outlets: dict[str, list[str]] = {}
    # Depths are listed by the highest order in them, so this goes from behind.
    for activation in reversed(in_prompt):
        entry, content = activation.entry, activation.content
        if not content:
            continue
        if entry.position in lists:
            lists[entry.position].append(content)
            continue
        match entry.position:
            case Position.AT_DEPTH:
                _put_at_depth(depths, entry, content)
            case Position.EXAMPLES_TOP:
                examples.append(ExampleInsertion(placement="before", content=content))
            case Position.EXAMPLES_BOTTOM:
                examples.append(ExampleInsertion(placement="after", content=content))
            case Position.OUTLET if entry.outlet:
                outlets.setdefault(entry.outlet, []).append(content)
    return Insertions(
        before_character="\n".join(reversed(lists[Position.BEFORE_CHARACTER])),
        after_character="\n".join(reversed(lists[Position.AFTER_CHARACTER])),
        note_top=tuple(reversed(lists[Position.NOTE_TOP])),
        note_bottom=tuple(reversed(lists[Position.NOTE_BOTTOM])),
        at_depth=tuple(
            DepthInsertion(depth=depth, role=role, entries=tuple(reversed(contents)))
            for depth, role, contents in depths
        ),
        examples=tuple(reversed(examples)),
        outlets={name: tuple(contents) for name, contents in outlets.items()},
    )


def _put_at_depth(depths: list[_Depth], entry: WorldEntry, content: str) -> None:
    """Add to the entries of the same depth and role. A null looks for the default depth, and else stands alone."""
    for place in depths:
        if (place.depth, place.role) == (entry.chat_depth, entry.role):
            place.contents.append(content)
            return
    depths.append(_Depth(entry.depth, entry.role, [content]))
