"""Stories with artifacts: what a telling of a message leaves, written as a step writes it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import Artifact, ArtifactWrite, Retention, SessionArtifacts, Writer
from tavernkit.playground.base.database.models import ArtifactVersion, Message
from tavernkit.playground.story.artifacts.path import read_view, session_of, turns_before
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore
from tavernkit.playground.story.messages.service import add_swipe
from tavernkit.values import Json
from tests.playground.stories import Story

__all__ = ["LAST_TWO", "chosen_swipes", "keep", "retell", "value_of", "view_of"]

LAST_TWO = Retention(mode="windowed", max_versions=2)


async def keep(
    story: Story, message: Message | None, content: Json, *, tag: str = "state", swipe_id: UUID | None = None, **of: Any
) -> int:
    """Write what the telling of a message leaves in an artifact; the number of the version."""
    runtime = story.runtime
    async with runtime.database.write() as session:
        place = await session_of(session, story.conversation_id)
        now = runtime.clock()
        turn = await turns_before(session, story.conversation_id)
        view = await read_view(session, place, now=now, turn=turn)
        fields = {"kind": "state", "content_type": "json", "visibility": "prompt_and_ui", **of}
        told = None if message is None else swipe_id or message.active_swipe_id
        commit = await TransactionArtifactStore(session, ids=lambda: str(runtime.ids())).write(
            ArtifactWrite(
                artifact=Artifact(id=f"art-{tag}", session=place, tag=tag, **fields),
                content=content,
                based_on_version=view.base_version(tag),
                writer=Writer(pipeline="world", step="tick"),
                permissions=frozenset({"artifact_write"}),
                now=now,
                turn=turn,
                turn_id=None if message is None else str(message.id),
                variant_id=None if told is None else str(told),
            )
        )
        return commit.version.version


async def retell(story: Story, message: Message, content: str) -> Message:
    """Another swipe of a message, which is then seen."""
    await add_swipe(story.runtime, story.viewer, message.id, swipe_id=story.runtime.ids(), content=content)
    return await story.message(message.id)


async def view_of(story: Story, *, before: Message | None = None) -> SessionArtifacts:
    async with story.runtime.database.read() as session:
        place = await session_of(session, story.conversation_id)
        before_seq = None if before is None else before.seq
        turn = await turns_before(session, story.conversation_id, before_seq)
        return await read_view(session, place, now=story.runtime.clock(), turn=turn, before_seq=before_seq)


async def value_of(story: Story, *, tag: str = "state", before: Message | None = None) -> Json:
    view = await view_of(story, before=before)
    return view[tag].value if tag in view else None


async def chosen_swipes(
    session: AsyncSession, conversation_id: UUID, *, before_seq: int | None = None
) -> dict[str, str]:
    """The swipe that is seen of each message which has left something in an artifact: the path of a run."""
    query = (
        select(Message.id, Message.active_swipe_id)
        .where(
            Message.id.in_(
                select(ArtifactVersion.message_id).where(ArtifactVersion.conversation_id == conversation_id)
            ),
            Message.conversation_id == conversation_id,
            Message.visibility != "hidden",
        )
        .order_by(Message.seq)
    )
    rows = await session.execute(query if before_seq is None else query.where(Message.seq < before_seq))
    return {str(message_id): str(swipe_id) for message_id, swipe_id in rows}
