"""Comparing the prompts of two runs: of swipes, branches or turns, with the cause of each change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessageSwipe, Preset, Run
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import is_usable
from tavernkit.playground.story.paths.state import changes_in
from tavernkit.playground.story.paths.variables import VARIABLES
from tavernkit.playground.story.previews.explanations import NamedPrompt, read_named
from tavernkit.playground.story.previews.service import in_preview
from tavernkit.playground.story.prompting.presets import PRESET
from tavernkit.prompt.causes import FactChanges
from tavernkit.prompt.comparing import PromptComparison, compare
from tavernkit.prompt.facts import shown
from tavernkit.prompt.reasons import Facts
from tavernkit.prompt.sources import Explanation

MOST_DELTAS = 500
"""In how many swipes it is looked up who has set a variable."""

LOCAL = "local."


async def compare_runs(runtime: Runtime, viewer: Viewer, before: UUID, after: UUID) -> PromptComparison:
    """What has changed from the prompt of one run to that of another, and why, for those who may see both."""
    async with runtime.database.read() as session:
        kept = [await read_named(session, viewer, run_id) for run_id in (before, after)]
        presets = await _preset_names(session, viewer, kept)
        swipes = await _swipes(session, kept)
        # Prompts of earlier versions do not say which rows they are of.
        has_rows = all(one.rows.messages for one in kept)
        old, new = (
            with_facts(
                one.explanation,
                {"preset": _preset(one, presets) if has_rows else {}, "swipe": _numbers(one, swipes)},
            )
            for one in kept
        )
        new = await _with_setters(session, after, old, new)
    return await in_preview(lambda: compare(old, new))


def with_facts(explanation: Explanation, facts: Facts) -> Explanation:
    """The explanation with what only the application knows."""
    return explanation.with_(facts={**explanation.facts, **{kind: known for kind, known in facts.items() if known}})


async def _preset_names(session: AsyncSession, viewer: Viewer, kept: Iterable[NamedPrompt]) -> dict[UUID, str]:
    """The names of the presets that the viewer may use."""
    ids = {id for one in kept for id in one.rows.presets.values()}
    rows = await session.execute(
        select(Preset.id, Preset.name).where(Preset.id.in_(ids), is_usable(Preset, viewer.user_id))
    )
    return {row.id: row.name for row in rows}


def _preset(kept: NamedPrompt, names: Mapping[UUID, str]) -> dict[str, str]:
    id = kept.rows.presets.get(PRESET)
    return {"name": "the default" if id is None else names.get(id, "another preset")}


async def _swipes(session: AsyncSession, kept: Iterable[NamedPrompt]) -> dict[UUID, int]:
    """The numbers of the swipes that were shown, as people count them."""
    ids = {message.swipe_id for one in kept for message in one.rows.messages}
    rows = await session.execute(select(MessageSwipe.id, MessageSwipe.position).where(MessageSwipe.id.in_(ids)))
    return {id: position + 1 for id, position in rows}


def _numbers(kept: NamedPrompt, numbers: Mapping[UUID, int]) -> dict[str, str]:
    known = ((message.place, numbers.get(message.swipe_id)) for message in kept.rows.messages if message.swipe_id)
    return {str(place): str(number) for place, number in known if number is not None}


async def _with_setters(session: AsyncSession, run_id: UUID, old: Explanation, new: Explanation) -> Explanation:
    """The explanation, which says of variables that have changed which swipe has set them."""
    changed = FactChanges(old.facts, new.facts).of("variable")
    values = {name.removeprefix(LOCAL): one.new for name, one in changed.items() if name.startswith(LOCAL) and one.new}
    if not values:
        return new
    setters = {
        f"{LOCAL}{name}": f"swipe {position + 1} of message #{seq}"
        for name, seq, position in await _setters(session, run_id, values.items())
    }
    return with_facts(new, {"variable_by": setters})


async def _setters(
    session: AsyncSession, run_id: UUID, values: Collection[tuple[str, str | None]]
) -> list[tuple[str, int, int]]:
    """Of each variable the newest swipe before the run that has set it to its value, by message and position."""
    run = await session.get_one(Run, run_id)
    rows = await session.execute(
        select(Message.seq, MessageSwipe.position, MessageSwipe.state_delta)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(
            Message.conversation_id == run.conversation_id,
            MessageSwipe.state_delta.is_not(None),
            MessageSwipe.created_at <= run.created_at,
        )
        .order_by(Message.seq.desc(), MessageSwipe.position.desc())
        .limit(MOST_DELTAS)
    )
    found: dict[str, tuple[str, int, int]] = {}
    for seq, position, delta in rows:
        put, _gone = changes_in(delta)
        for name, value in values:
            key = f"{VARIABLES}{name}"
            if name not in found and key in put and shown(put[key]) == value:
                found[name] = name, seq, position
    return list(found.values())
