"""Texts that programs or people put into the prompts of a conversation by name.

One that is ephemeral goes into one prompt: the reply's swipe notes in the state that it was used. Whoever tells that
reply anew, deletes it or branches before it has it again, without anybody repairing anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.injections import Injection, InjectionPosition, Injections
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, ConversationInjection
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import Access, conversation_for, conversation_to_change
from tavernkit.playground.story.paths.state import Delta, State, changed_delta, state_at
from tavernkit.values import Json

USED = "injections_used."
"""Where the state names the tokens of ephemeral injections that were used."""

EVENT = "injections"
MAX_NAME_CHARACTERS = 200
MAX_INJECTIONS = 100


class InjectionIn(StrictModel):
    """A text for every prompt of a conversation, and where it stands."""

    content: str = Field(min_length=1, max_length=20_000, description="The text; macros are expanded.")
    position: InjectionPosition = Field(
        default="chat",
        description="`before` or `after` the character, in the `chat`, or `none`: it is not sent, but can be scanned.",
    )
    depth: int = Field(default=4, ge=0, le=10_000, description="In the chat: how many messages stand behind it.")
    role: Literal["system", "user", "assistant"] = Field(default="system", description="In the chat: who says it.")
    scan: bool = Field(default=False, description="Whether keys of lorebooks are looked for in it.")
    ephemeral: bool = Field(default=False, description="Whether it goes into one prompt alone.")


class InjectionOut(InjectionIn, Document):
    """An injection by its name."""

    name: str


async def injections_of(session: AsyncSession, conversation_id: UUID) -> tuple[ConversationInjection, ...]:
    """All injections of a conversation by name, also those that were used."""
    query = select(ConversationInjection).where(ConversationInjection.conversation_id == conversation_id)
    return tuple(await session.scalars(query.order_by(ConversationInjection.name)))


def unused(rows: Iterable[ConversationInjection], state: State) -> list[ConversationInjection]:
    """Those that the next prompt has, where the story is in this state."""
    return [row for row in rows if USED + str(row.token) not in state]


def injections_in(rows: Iterable[ConversationInjection], state: State) -> Injections:
    """The same, as a build takes them."""
    return Injections(
        *(
            Injection(
                id=row.name,
                content=row.content,
                position=row.position,
                depth=row.depth,
                role=row.role,
                scan=row.scan,
                ephemeral=row.ephemeral,
            )
            for row in unused(rows, state)
        )
    )


def with_used(delta: Delta | None, rows: Iterable[ConversationInjection], state: State) -> dict[str, Json] | None:
    """The delta of a reply whose prompt had these, which notes that the ephemeral ones were used.

    Tokens of injections that were removed or set again since are noted no longer.
    """
    noted = {USED + str(row.token): True for row in rows if row.ephemeral}
    gone = [key for key in state if key.startswith(USED) and key not in noted]
    return changed_delta(delta, set={key: value for key, value in noted.items() if key not in state}, unset=gone)


async def list_injections(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> tuple[ConversationInjection, ...]:
    """Those that the next prompt has, by name; for members of the space, as what is behind the story."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        if access.member is None and access.level < Access.ADMINISTER:
            raise Refused("forbidden", _("Only members of the space can see prompts."))
        return tuple(await _unused(session, conversation))


async def put_injection(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str, new: InjectionIn
) -> ConversationInjection:
    """Set an injection, in the place of one of the same name."""
    name = storable(name)
    if not 0 < len(name) <= MAX_NAME_CHARACTERS:
        raise Refused("invalid", _("The name of an injection has 1 to {limit} characters.", limit=MAX_NAME_CHARACTERS))
    if not new.content.strip():
        raise Refused("blank", _("Enter the text of the injection, or delete it."))
    async with runtime.database.write() as session:
        conversation, _access = await conversation_to_change(session, conversation_id, viewer)
        await _make_room(session, conversation, name)
        row = await session.merge(
            ConversationInjection(
                **new.model_dump(exclude={"content"}),
                content=storable(new.content),
                conversation_id=conversation_id,
                name=name,
                token=runtime.ids(),
                after_seq=conversation.last_seq,
            )
        )
        await append_event(session, conversation_id, EVENT, runtime.clock())
        await session.flush()
        return row


async def remove_injection(runtime: Runtime, viewer: Viewer, conversation_id: UUID, name: str) -> None:
    """Take an injection out of all further prompts."""
    async with runtime.database.write() as session:
        await conversation_to_change(session, conversation_id, viewer)
        row = await session.get(ConversationInjection, (conversation_id, name))
        await session.delete(existing(row, _("injection")))
        await append_event(session, conversation_id, EVENT, runtime.clock())


async def _unused(session: AsyncSession, conversation: Conversation) -> list[ConversationInjection]:
    rows = await injections_of(session, conversation.id)
    return unused(rows, await state_at(session, conversation.id, conversation.last_seq)) if rows else []


async def _make_room(session: AsyncSession, conversation: Conversation, name: str) -> None:
    """Where there are as many as there may be, those go that were used."""
    rows = await injections_of(session, conversation.id)
    if len(rows) < MAX_INJECTIONS or any(row.name == name for row in rows):
        return
    kept = {row.name for row in await _unused(session, conversation)}
    if len(kept) >= MAX_INJECTIONS:
        raise Refused(
            "conflict", _("A conversation has at most {limit} injections. Delete one first.", limit=MAX_INJECTIONS)
        )
    for row in rows:
        if row.name not in kept:
            await session.delete(row)
