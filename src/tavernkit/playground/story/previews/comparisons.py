"""Comparing the prompts of two runs: of swipes, branches or turns, with the cause of each change."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, Run, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.state import changes_in
from tavernkit.playground.story.paths.variables import VARIABLES
from tavernkit.playground.story.previews.explanations import read_explanation
from tavernkit.playground.story.previews.service import in_preview
from tavernkit.prompt.causes import FactChanges
from tavernkit.prompt.comparing import PromptComparison, compare
from tavernkit.prompt.facts import shown
from tavernkit.prompt.sources import Explanation

MOST_DELTAS = 500
"""In how many swipes it is looked up who has set a variable."""

LOCAL = "local."


async def compare_runs(runtime: Runtime, viewer: Viewer, before: UUID, after: UUID) -> PromptComparison:
    """What has changed from the prompt of one run to that of another, and why, for those who may see both."""
    old = await read_explanation(runtime, viewer, before)
    new = await read_explanation(runtime, viewer, after)
    async with runtime.database.read() as session:
        new = await _with_setters(session, after, old, new)
    return await in_preview(lambda: compare(old, new))


async def explanation_for_owner(runtime: Runtime, run_id: UUID) -> Explanation:
    """Where the prompt of a run comes from, as the owner of its space may see it: for whoever has the database."""
    async with runtime.database.read() as session:
        query = (
            select(Space.owner_id)
            .join(Conversation, Conversation.space_id == Space.id)
            .join(Run, Run.conversation_id == Conversation.id)
        )
        owner_id = existing(await session.scalar(query.where(Run.id == run_id)), _("run"))
    return await read_explanation(runtime, Viewer(user_id=owner_id), run_id)


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
    return new.with_(facts={**new.facts, "variable_by": setters}) if setters else new


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
