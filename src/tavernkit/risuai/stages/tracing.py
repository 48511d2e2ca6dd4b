"""What a traced build knows of the chat and the lore."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import SEPARATOR, TracedText
from tavernkit.prompt.sources import FromHistory, FromLore, FromTrigger, KeyFound, SourceSpan
from tavernkit.prompt.tracing import covering, realigned, traced
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.lorebook.result import ActiveLore
from tavernkit.risuai.workbench import Workbench


def traced_message(ctx: Context, bench: Workbench, message: RisuMessage) -> str:
    """What a message says, which says which message it is, and what of it a trigger has said."""
    if not ctx.is_traced:
        return message.data
    known = bench.trails.get(message.id or "")
    if known is not None:
        return known if known == message.data else realigned(known, message.data, FromTrigger(place="message"))
    source, said = bench.said.get(message.id or "", ("", None))
    if said is None:
        return traced(message.data, FromTrigger(place="message"))
    swipe = said.metadata.get("swipe_id")
    number = int(source.partition(":")[2])
    return traced(message.data, FromHistory(message=number, swipe=swipe if isinstance(swipe, int) else None))


def keep_trail(ctx: Context, bench: Workbench, message: RisuMessage, text: str) -> None:
    """Remember where the text of a message comes from, which the chat itself does not say."""
    if ctx.is_traced and message.id is not None:
        bench.trails[message.id] = text


def with_sources(bench: Workbench, active: Sequence[ActiveLore]) -> tuple[ActiveLore, ...]:
    """The lore, whose texts say of which entries they are, and why these are in the prompt."""
    return tuple(lore.with_(prompt=_traced(bench, active, lore)) for lore in active)


def _traced(bench: Workbench, active: Sequence[ActiveLore], lore: ActiveLore) -> str:
    text = lore.sourced_prompt
    spans = getattr(text, "spans", ())
    trail: list[SourceSpan] = [
        (start, end, _source(bench, active, origin)) for start, end, origin in spans if isinstance(origin, ActiveLore)
    ]
    return TracedText(text, spans, covering(trail, len(text), SEPARATOR)) if text else text


def _source(bench: Workbench, active: Sequence[ActiveLore], lore: ActiveLore) -> FromLore:
    part = lore.at(0, 0)
    return FromLore(
        book=part.book,
        entry=part.source,
        name=part.name,
        cause=part.cause,
        key=part.key,
        found=_found(bench, active, lore),
    )


def _found(bench: Workbench, active: Sequence[ActiveLore], lore: ActiveLore) -> KeyFound | None:
    key = lore.key
    if key is None or lore.found_at is None:
        return None
    messages = bench.scene.chat.messages
    if lore.found_at < len(messages):
        message = messages[lore.found_at]
        source, _ = bench.said.get(message.id or "", ("", None))
        offset = message.data.lower().find(key.lower())
        number = source.partition(":")[2]
        return KeyFound(message=int(number) if number else None, offset=offset if offset >= 0 else None)
    for other in active:
        if other is not lore and key.lower() in other.prompt.lower():
            part = other.at(0, 0)
            return KeyFound(entry=part.source, book=part.book)
    return KeyFound(text="another entry")
