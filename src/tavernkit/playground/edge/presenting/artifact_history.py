"""The page with everything that an artifact has been."""

from __future__ import annotations

from uuid import UUID

from tavernkit.artifacts import Artifact, is_on_page, redacted
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.artifact_cards import IN_PANEL, content_view
from tavernkit.playground.edge.presenting.artifact_changes import change_view, compared, marks_of
from tavernkit.playground.edge.presenting.artifacts import history_address
from tavernkit.playground.edge.presenting.messages import permissions_of
from tavernkit.playground.edge.presenting.step_failures import schemas_by_tag
from tavernkit.playground.edge.views.artifacts import ArtifactVersionView, HistoryView
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.playground.story.artifacts.service import KeptVersion, artifact_at, current_version, kept_versions
from tavernkit.playground.story.artifacts.store import read_at_one_moment
from tavernkit.values import JsonObject

VERSIONS_PER_PAGE = 20

ARCHIVED = {
    "window": "Archived: newer versions took its place",
    "turns": "Archived: it was too many turns ago",
    "ttl": "Archived: its time was over",
    "reset": "Archived by a reset",
}


async def history_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, before: int | None = None, problem: str = ""
) -> HistoryView:
    """The versions below number `before`, the newest first: of every swipe, in use or archived."""
    async with read_at_one_moment(runtime.database) as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        head, artifact = existing(await artifact_at(session, conversation_id, tag), "artifact")
        # One more than is shown: what the last of them is compared with.
        kept = await kept_versions(session, conversation_id, tag, behind=before, limit=VERSIONS_PER_PAGE + 1)
        current = await current_version(session, conversation_id, tag)
        schema = (await schemas_by_tag(session, conversation_id)).get(tag)
    may_change = permissions_of(conversation, access).can_take_part
    address = history_address(conversation_id, tag)
    shown = kept[:VERSIONS_PER_PAGE]
    before_each = [*kept[1:], None]
    return HistoryView(
        conversation_id=str(conversation_id),
        title=shown_name(conversation.title),
        space_name=shown_name(access.space.name),
        tag=tag,
        name=in_words(tag),
        address=address,
        is_hidden=not is_on_page(artifact.visibility),
        head_version=head.latest_version,
        may_change=may_change,
        versions=tuple(
            _version(conversation_id, artifact, one, previous, schema, current=current, may_change=may_change)
            for one, previous in zip(shown, before_each, strict=False)
        ),
        is_first=before is None,
        next=f"{address}?before={shown[-1].version.version}" if len(kept) > len(shown) else "",
        problem=problem,
    )


def _version(
    conversation_id: UUID,
    artifact: Artifact,
    kept: KeptVersion,
    previous: KeptVersion | None,
    schema: JsonObject | None,
    *,
    current: int | None,
    may_change: bool,
) -> ArtifactVersionView:
    version = kept.version
    is_shown = is_on_page(artifact.visibility)
    before = None if previous is None else previous.version
    change = compared(before, version) if is_shown else None
    trace = None if is_shown else redacted(version.content)
    at = "" if version.turn_id is None else f"/conversations/{conversation_id}#message_{version.turn_id}"
    return ArtifactVersionView(
        number=version.version,
        turn=version.turn,
        created_at=version.created_at,
        by=_by(kept),
        message_address=at if kept.is_on_path else "",
        is_current=version.version == current,
        is_on_path=kept.is_on_path,
        archived="" if kept.reason is None else ARCHIVED.get(kept.reason, "Archived"),
        may_restore=may_change and version.version != current and version.content_type == artifact.content_type,
        content=(
            content_view(version.content, version.content_type, IN_PANEL, marks_of(change), schema)
            if is_shown
            else None
        ),
        change=change_view(change, before) if is_shown else None,
        hash="" if trace is None else trace["hash"],
        length=0 if trace is None else trace["length"],
    )


def _by(kept: KeptVersion) -> str:
    writer = kept.version.writer
    if writer is None:
        return ""
    # Steps have names; who restores a version writes in the name of the pipeline alone.
    return f"{shown_name(writer.pipeline)} › {shown_name(writer.step)}" if writer.step else "Restored by hand"
