"""What a stable layout and frozen lore move, and what they say about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import from_source, joined
from tavernkit.prompt.tracing import first_source, traced
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.layout import FrozenEntry, FrozenLore, LayoutState, Touched
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.sillytavern.world_info import Position, WorldInfoResult
from tavernkit.sillytavern.world_info.result import ActivatedEntry, in_prompt_order
from tavernkit.sillytavern.world_info.timed import fingerprint

LORE_AT_END = "lore_at_end"
"""The key of lore that has been moved to the end of the chat."""

END = "the end of the chat"
NAMES = {
    "1_memory": "The memory",
    "2_floating_prompt": "The author's note",
    "DEPTH_PROMPT": "The character's note",
    "PERSONA_DESCRIPTION": "The persona",
}
"""What people call the texts that SillyTavern's own extensions put in."""

_PLACES = {
    Position.BEFORE_CHARACTER: "the place before the character",
    Position.AFTER_CHARACTER: "the place after the character",
    Position.AT_DEPTH: "its depth in the chat",
    Position.EXAMPLES_TOP: "the place before the examples",
    Position.EXAMPLES_BOTTOM: "the place after the examples",
}
"""The places that lore is moved away from; around the author's note and in outlets it stays."""


def note_move(ctx: Context, block: str, origin: str, to: str) -> None:
    """Say that a block does not stand where SillyTavern has it."""
    ctx.note("moved_block", f"{block} is moved from {origin} to {to}.", block=block, origin=origin, to=to)


def watched_lore(touched: Touched, changing: set[str], expand: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """Expands contents of entries, and notes those that may become another text in the next turn."""

    def expand_at(text: str, place: str) -> str:
        before = touched.count
        expanded = expand(text, place)
        if touched.count != before:
            changing.add(_of_lore(text))
        return expanded

    return expand_at


def _of_lore(content: str) -> str:
    return f"lore {content}"


def arranged(ctx: Context, scene: Scene, result: WorldInfoResult) -> WorldInfoResult:
    """What of the lore stays in its place; the rest has been given a place in the chat."""
    story = scene.story
    if not (story.freeze_lore or story.is_stable):
        return result
    movable = [one for one in in_prompt_order(result.activations) if one.entry.position in _PLACES and one.content]
    frozen = [one for one in movable if story.freeze_lore and not one.entry.source.constant]
    _freeze(ctx, scene, frozen)
    taken = {id(one) for one in frozen}
    moved = [one for one in movable if story.is_stable and id(one) not in taken and _comes_and_goes(scene, one)]
    if moved:
        taken |= {id(one) for one in moved}
        text = joined("\n", [from_source(one.content, one) for one in moved])
        scene.put(ExtensionPrompt(key=LORE_AT_END, content=text, position="chat"))
        for one in moved:
            note_move(ctx, _named(one), _PLACES[Position(one.entry.position)], END)
    return result.with_(activations=tuple(one for one in result.activations if id(one) not in taken))


def _comes_and_goes(scene: Scene, activation: ActivatedEntry) -> bool:
    """At a depth, everything is moved, together with what is there beside it."""
    entry = activation.entry
    if entry.position == Position.AT_DEPTH:
        return False
    return not entry.source.constant or _of_lore(entry.content) in scene.changing


def _named(activation: ActivatedEntry) -> str:
    source = activation.entry.source
    return f"The entry {source.name or source.comment or source.id}"


def _freeze(ctx: Context, scene: Scene, activations: Sequence[ActivatedEntry]) -> None:
    """Give each entry its place in the chat: the one that it has from an earlier turn, or behind the newest message."""
    state, newest = scene.story.layout_state, _newest(ctx, scene.turns)
    entries = {
        reference: entry
        for reference, entry in state.frozen.items()
        if entry.message <= newest and _is_as_it_was(scene, reference, entry)
    }
    activated = {one.entry.reference: one for one in activations}
    for order, (reference, one) in enumerate(activated.items()):
        if reference not in entries:
            source = one.entry.source
            entries[reference] = FrozenEntry(
                message=newest,
                order=order,
                content=str(one.content),
                fingerprint=fingerprint(one.entry),
                book=one.entry.world,
                entry=source.id,
                name=source.name or source.comment,
            )
    for reference, entry in entries.items():
        now = activated.get(reference)
        if now is not None:
            text = from_source(entry.content, now)
            if scene.is_traced and (origin := first_source(now.content)):
                text = traced(text, origin)
            place = f"the place behind message {entry.message}"
            note_move(ctx, _named(now), _PLACES[Position(now.entry.position)], place)
        else:
            text = entry.text(is_traced=scene.is_traced)
        scene.frozen.append(
            FrozenLore(reference=reference, entry=entry, content=text, is_activated=reference in activated)
        )
    scene.frozen.sort(key=lambda one: (one.entry.message, one.entry.order, one.reference))


def _is_as_it_was(scene: Scene, reference: str, entry: FrozenEntry) -> bool:
    known = scene.known_lore.get(reference)
    return known is not None and fingerprint(known) == entry.fingerprint


def _newest(ctx: Context, turns: Sequence[ChatTurn]) -> int:
    """The message behind which lore of this turn stands: nothing may come behind one that is being continued."""
    known = turns[:-1] if ctx.generation_type == "continue" else turns
    return known[-1].index if known else -1


def move_to_end(ctx: Context, scene: Scene) -> None:
    """Let everything that extensions put in, at a depth or beside the main prompt, stand behind the chat."""
    for key, prompt in scene.extension_prompts.items():
        if not prompt.content or prompt.position == "none" or (prompt.position, prompt.depth) == ("chat", 0):
            continue
        beside = f"the place {prompt.position} the main prompt"
        origin = f"depth {prompt.depth}" if prompt.position == "chat" else beside
        usual = "The lore" if key.startswith("customDepthWI") else f"The injection {key}"
        note_move(ctx, NAMES.get(key, usual), origin, END)
        scene.extension_prompts[key] = prompt.with_(position="chat", depth=0)


def state_after(scene: Scene, sent: Iterable[str], first_message: int) -> LayoutState:
    """What the next turn begins with, when blocks of these sources are sent."""
    left = frozenset(sent)
    return LayoutState(
        first_message=first_message,
        frozen={one.reference: one.entry for one in scene.frozen if one.source in left},
    )
