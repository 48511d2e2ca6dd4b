"""Chat variables: values that macros and people set, and that follow the path.

They are written into the swipe that is seen last, so that whoever swipes, hides or branches has those of that telling.
Before anybody has said anything, they are what the story begins with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.conversations.in_use import not_in_use
from tavernkit.playground.outcome import Refused, not_found
from tavernkit.playground.paths.queries import end_of_path, read_state
from tavernkit.playground.paths.recording import record_delta
from tavernkit.playground.paths.snapshots import set_beginning, state_at
from tavernkit.playground.paths.state import State, changed_delta, fold
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.access import Access, conversation_for
from tavernkit.values import Json

__all__ = [
    "MAX_NAME_CHARACTERS",
    "MAX_VALUE_CHARACTERS",
    "MAX_VARIABLES",
    "VARIABLES",
    "delete_variable",
    "full",
    "get_variables",
    "set_variable",
    "unfit",
]

VARIABLES = "variables."
MAX_NAME_CHARACTERS = 200
MAX_VALUE_CHARACTERS = 20_000
MAX_VARIABLES = 1_000


async def get_variables(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, message_id: UUID | None = None
) -> dict[str, Json] | Refused:
    """The variables behind a message, or at the end."""
    found = await read_state(runtime, viewer, conversation_id, message_id=message_id)
    return found if isinstance(found, Refused) else _variables(found[1])


async def set_variable(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str, value: Json
) -> dict[str, Json] | Refused:
    """Set one at the end of the path; all of them as they are then."""
    refused = unfit(name, value)
    if refused is not None:
        return refused
    async with runtime.database.write() as session:
        state = await _state_to_change(session, viewer, conversation_id)
        if isinstance(state, Refused):
            return state
        known = _variables(state)
        if name not in known and len(known) >= MAX_VARIABLES:
            return full()
        await _change(session, runtime, conversation_id, set={VARIABLES + name: value}, unset=[])
        return {**known, name: value}


async def delete_variable(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str
) -> dict[str, Json] | Refused:
    """Remove one at the end of the path; what there is then."""
    async with runtime.database.write() as session:
        state = await _state_to_change(session, viewer, conversation_id)
        if isinstance(state, Refused):
            return state
        known = _variables(state)
        if name not in known:
            return not_found("variable")
        await _change(session, runtime, conversation_id, set={}, unset=[VARIABLES + name])
        return {other: value for other, value in known.items() if other != name}


async def _state_to_change(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> State | Refused:
    found = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
    if isinstance(found, Refused):
        return found
    conversation, _ = found
    refused = not_in_use(conversation)
    return refused or await state_at(session, conversation_id, conversation.last_seq)


async def _change(
    session: AsyncSession, runtime: Runtime, conversation_id: UUID, *, set: Mapping[str, Json], unset: list[str]
) -> None:
    end = await end_of_path(session, conversation_id)
    if end is None:
        beginning = await state_at(session, conversation_id, 0)
        await set_beginning(session, conversation_id, fold(beginning, [changed_delta(None, set=set, unset=unset)]))
    else:
        await record_delta(session, *end, set=set, unset=unset)
    await append_event(session, conversation_id, "state_changed", runtime.clock())


def _variables(state: State) -> dict[str, Json]:
    return {key.removeprefix(VARIABLES): value for key, value in state.items() if key.startswith(VARIABLES)}


def full() -> Refused:
    """A refusal where there are as many variables as there may be."""
    return Refused(
        code="conflict", sentence=f"There are {MAX_VARIABLES:,} variables already. Remove one of them first."
    )


def unfit(name: str, value: Json) -> Refused | None:
    """A refusal of what cannot be a variable."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        (name + text).encode()
    except (ValueError, RecursionError):
        return Refused(
            code="invalid", sentence="A variable holds text, whole numbers and fractions, lists and objects of these."
        )
    if not name or len(name) > MAX_NAME_CHARACTERS or "\x00" in name:
        return Refused(code="invalid", sentence=f"A variable's name has 1 to {MAX_NAME_CHARACTERS} characters.")
    if len(text) > MAX_VALUE_CHARACTERS:
        return Refused(
            code="too_long",
            sentence=f"That is {len(text):,} characters; at most {MAX_VALUE_CHARACTERS:,} fit into one variable.",
        )
    return None
