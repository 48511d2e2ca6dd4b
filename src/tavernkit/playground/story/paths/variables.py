"""Chat variables, which follow the path, and global variables, which all spaces of one person share.

Chat variables are written into the swipe that is seen last, so that whoever swipes, hides or branches has those of that
swipe. Before anybody has said anything, they are what the story begins with. Global variables follow no path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import GlobalVariable, Message, MessageSwipe, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import conversation_to_change
from tavernkit.playground.story.paths.state import (
    State,
    changed_delta,
    end_of_path,
    fold,
    path_changed,
    read_state,
    set_beginning,
    state_at,
)
from tavernkit.values import Json, Value


async def record_delta(
    session: AsyncSession,
    message: Message,
    swipe: MessageSwipe,
    *,
    set: Mapping[str, Json] | None = None,
    unset: Iterable[str] = (),
) -> None:
    """Add to what this swipe of the message changes, in a transaction that has locked the conversation."""
    swipe.state_delta = changed_delta(swipe.state_delta, set=set or {}, unset=unset)
    await session.flush()
    if swipe.id == message.active_swipe_id and message.visibility != "hidden":
        await path_changed(session, message.conversation_id, message.seq)


VARIABLES = "variables."
MAX_NAME_CHARACTERS = 200
MAX_VALUE_CHARACTERS = 20_000
MAX_VARIABLES = 1_000


async def get_variables(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, message_id: UUID | None = None
) -> dict[str, Json]:
    """The variables behind a message, or at the end."""
    _seq, state = await read_state(runtime, viewer, conversation_id, message_id=message_id)
    return variables_of(state)


NOT_THERE = ""
"""What `written` gives for no value at all."""


def written(value: Json) -> str:
    """A value as text, the same for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


async def set_variable(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str, value: Json, *, was: str | None = None
) -> dict[str, Json]:
    """Set one at the end of the path; all of them as they are then.

    `was` is the value that was read, `written`; a change made from another one is refused. None is from whatever there
    is.
    """
    check_variable(name, value)
    async with runtime.database.write() as session:
        known = variables_of(await _state_to_change(session, viewer, conversation_id))
        _refuse_stale(known, name, was)
        check_room(known, name)
        await _change(session, runtime, conversation_id, set={VARIABLES + name: value}, unset=[])
        return {**known, name: value}


async def delete_variable(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str, *, was: str | None = None
) -> dict[str, Json]:
    """Remove one at the end of the path, as `set_variable` changes one; what there is then."""
    async with runtime.database.write() as session:
        known = variables_of(await _state_to_change(session, viewer, conversation_id))
        if name not in known:
            raise not_found(_("variable"))
        _refuse_stale(known, name, was)
        await _change(session, runtime, conversation_id, set={}, unset=[VARIABLES + name])
        return {other: value for other, value in known.items() if other != name}


def _refuse_stale(known: Mapping[str, Json], name: str, was: str | None) -> None:
    now = written(known[name]) if name in known else NOT_THERE
    if was is not None and was != now:
        raise stale(_("variable"), known.get(name))


async def _state_to_change(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> State:
    conversation, _access = await conversation_to_change(session, conversation_id, viewer)
    return await state_at(session, conversation_id, conversation.last_seq)


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


def variables_of(state: State) -> dict[str, Json]:
    """The chat variables in the state of a story."""
    return {key.removeprefix(VARIABLES): value for key, value in state.items() if key.startswith(VARIABLES)}


def check_room(known: Mapping[str, Json], name: str) -> None:
    """Refuse one more variable where there are as many as there may be."""
    if name not in known and len(known) >= MAX_VARIABLES:
        raise Refused("conflict", _("There are at most {limit} variables. Delete one first.", limit=MAX_VARIABLES))


def check_variable(name: str, value: Json) -> None:
    """Refuse what cannot be a variable."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        (name + text).encode()
    except (ValueError, RecursionError):
        raise Refused("invalid", _("A variable holds text, numbers, lists and objects of these.")) from None
    if not name or len(name) > MAX_NAME_CHARACTERS or "\x00" in name:
        raise Refused("invalid", _("The name of a variable has 1 to {limit} characters.", limit=MAX_NAME_CHARACTERS))
    if len(text) > MAX_VALUE_CHARACTERS:
        raise Refused(
            "too_long",
            _(
                "The value has {length} characters; a variable holds at most {limit}.",
                length=len(text),
                limit=MAX_VALUE_CHARACTERS,
            ),
        )


class GlobalChanges(Value, frozen=True, kw_only=True):
    """What a reply has changed."""

    set: Mapping[str, Json] = {}
    unset: tuple[str, ...] = ()


async def read_globals(session: AsyncSession, user_id: UUID) -> dict[str, Json]:
    """The variables of a person, by name."""
    query = select(GlobalVariable.name, GlobalVariable.value).where(GlobalVariable.user_id == user_id)
    return {row.name: row.value for row in await session.execute(query.order_by(GlobalVariable.name))}


async def change_globals(session: AsyncSession, user_id: UUID, changes: GlobalChanges, now: datetime) -> None:
    """Write what has changed and nothing else, as far as there is room; another reply may have changed others
    meanwhile. The person's row is locked by who calls this."""
    if changes.unset:
        await session.execute(
            delete(GlobalVariable).where(GlobalVariable.user_id == user_id, GlobalVariable.name.in_(changes.unset))
        )
    if not changes.set:
        return
    rows = await session.scalars(select(GlobalVariable).where(GlobalVariable.user_id == user_id))
    known = {row.name: row for row in rows}
    for name, value in changes.set.items():
        if name in known:
            known[name].value, known[name].updated_at = value, now
        elif len(known) < MAX_VARIABLES:
            known[name] = GlobalVariable(user_id=user_id, name=name, value=value, updated_at=now)
            session.add(known[name])
    await session.flush()


async def get_globals(runtime: Runtime, viewer: Viewer) -> dict[str, Json]:
    """One's own variables."""
    async with runtime.database.read() as session:
        return await read_globals(session, viewer.user_id)


async def set_global(runtime: Runtime, viewer: Viewer, name: str, value: Json) -> dict[str, Json]:
    """Set one; all of them as they are then."""
    check_variable(name, value)
    async with runtime.database.write() as session:
        await lock_globals(session, viewer.user_id)
        known = await read_globals(session, viewer.user_id)
        check_room(known, name)
        await change_globals(session, viewer.user_id, GlobalChanges(set={name: value}), runtime.clock())
        return {**known, name: value}


async def delete_global(runtime: Runtime, viewer: Viewer, name: str) -> dict[str, Json]:
    """Remove one; what there is then."""
    async with runtime.database.write() as session:
        await lock_globals(session, viewer.user_id)
        known = await read_globals(session, viewer.user_id)
        if name not in known:
            raise not_found(_("variable"))
        await change_globals(session, viewer.user_id, GlobalChanges(unset=(name,)), runtime.clock())
        return {other: value for other, value in known.items() if other != name}


async def lock_globals(session: AsyncSession, user_id: UUID) -> None:
    """Let nobody else change the variables of a person until this transaction ends."""
    await session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))
