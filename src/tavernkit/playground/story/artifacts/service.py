"""What people do with the artifacts of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from tavernkit.artifacts import Artifact, ArtifactVersion, ArtifactWrite, SessionArtifacts, Writer
from tavernkit.errors import ArtifactConflict
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ArtifactHead
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.playground.story.artifacts.documents import ArtifactVersionOut
from tavernkit.playground.story.artifacts.journal import UPDATED
from tavernkit.playground.story.artifacts.path import read_view, session_of, turns_before
from tavernkit.playground.story.artifacts.queries import artifact_at, version_at, versions_page
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore, read_at_one_moment
from tavernkit.playground.story.paths.queries import end_of_path


async def list_artifacts(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> SessionArtifacts:
    """The artifacts at the end of the path, each with what it has been along it."""
    async with read_at_one_moment(runtime.database) as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        place, turn = await session_of(session, conversation_id), await turns_before(session, conversation_id)
        return await read_view(session, place, now=runtime.clock(), turn=turn)


async def history_of(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, behind: int | None, limit: int
) -> tuple[Artifact, list[ArtifactVersion]]:
    """A page of an artifact's versions, the newest first: of every swipe, in use or archived."""
    async with read_at_one_moment(runtime.database) as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        _, artifact = existing(await artifact_at(session, conversation_id, tag), "artifact")
        return artifact, await versions_page(session, conversation_id, tag, behind=behind, limit=limit)


async def restore_version(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, version: int, based_on_version: int | None
) -> tuple[Artifact, ArtifactVersion]:
    """Write the content of an earlier version again, as the newest one: it belongs to what is seen last."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation, _ = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        head, artifact = existing(await artifact_at(session, conversation_id, tag), "version")
        wanted = existing(await version_at(session, conversation_id, tag, version), "version")
        if wanted.content_type != artifact.content_type:
            raise Refused(
                code="conflict",
                sentence=f"That version is {wanted.content_type}, and the artifact is {artifact.content_type} now.",
            )
        end = await end_of_path(session, conversation_id)
        store = TransactionArtifactStore(session, ids=lambda: str(runtime.ids()))
        try:
            commit = await store.write(
                ArtifactWrite(
                    artifact=artifact,
                    content=wanted.content,
                    based_on_version=based_on_version,
                    writer=Writer(pipeline=head.owner),
                    permissions=frozenset({"artifact_write"}),
                    now=now,
                    turn=await turns_before(session, conversation_id),
                    turn_id=None if end is None else str(end[0].id),
                    variant_id=None if end is None else str(end[1].id),
                )
            )
        except ArtifactConflict as conflict:
            latest = conflict.latest_version
            current = None if latest is None else await version_at(session, conversation_id, tag, latest)
            shown = None if current is None else ArtifactVersionOut.of(artifact, current).model_dump(mode="json")
            raise stale("artifact", shown) from None
        await append_event(session, conversation_id, UPDATED, now, tag=tag, version=commit.version.version)
        return commit.artifact, commit.version


async def reset_artifacts(runtime: Runtime, viewer: Viewer, conversation_id: UUID, tags: Sequence[str] | None) -> int:
    """Put every version of these artifacts, or of all, into the archive and start again; how many versions it were."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation, _ = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        of_conversation = select(ArtifactHead.tag).where(ArtifactHead.conversation_id == conversation_id)
        meant = list(await session.scalars(of_conversation)) if tags is None else list(dict.fromkeys(tags))
        store = TransactionArtifactStore(session, ids=lambda: str(runtime.ids()))
        rows = await store.reset(await session_of(session, conversation_id), meant, now=now)
        for tag in dict.fromkeys(row.key.tag for row in rows):
            await append_event(session, conversation_id, UPDATED, now, tag=tag, version=None)
        return sum(len(row.items) for row in rows)
