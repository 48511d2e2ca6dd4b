"""The page with everything that an artifact has been."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from tavernkit.artifacts import Artifact, is_on_page, redacted
from tavernkit.artifacts.redaction import Redaction
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.artifact_cards import IN_PANEL, ContentView, content_view
from tavernkit.playground.edge.presenting.artifact_changes import ArtifactChangeView, change_view, compared, marks_of
from tavernkit.playground.edge.presenting.messages import permissions_of
from tavernkit.playground.edge.presenting.step_failures import schemas_by_tag
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.artifacts.service import KeptVersion, artifact_at, current_version, kept_versions
from tavernkit.playground.story.artifacts.store import read_at_one_moment
from tavernkit.values import JsonObject, Value

VERSIONS_PER_PAGE = 20

ARCHIVED = {
    "window": _("Archived: replaced by newer versions"),
    "turns": _("Archived: too many turns ago"),
    "ttl": _("Archived: expired"),
    "reset": _("Archived by a reset"),
}


class KeptVersionView(Value, frozen=True, kw_only=True):
    """A version in the history. What people must not see has a trace instead of a content.

    `archived` says why it was put away, if it was. `is_current`: it is what counts where the story is now.
    """

    kept: KeptVersion
    by: str
    is_current: bool
    archived: str
    may_restore: bool
    content: ContentView | None
    change: ArtifactChangeView | None
    trace: Redaction | None


async def history_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, before: int | None = None, problem: str = ""
) -> Mapping[str, object]:
    """The versions below number `before`, the newest first: of every swipe, in use or archived.

    `head_version` is what a restore is based on.
    """
    async with read_at_one_moment(runtime.database) as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        head, artifact = existing(await artifact_at(session, conversation_id, tag), _("artifact"))
        # One more than is shown: what the last of them is compared with.
        kept = await kept_versions(session, conversation_id, tag, behind=before, limit=VERSIONS_PER_PAGE + 1)
        current = await current_version(session, conversation_id, tag)
        schema = (await schemas_by_tag(session, conversation_id)).get(tag)
    may_change = permissions_of(conversation, access).can_take_part
    shown = kept[:VERSIONS_PER_PAGE]
    before_each = [*kept[1:], None]
    return {
        "conversation": conversation,
        "tag": tag,
        "is_hidden": not is_on_page(artifact.visibility),
        "head_version": head.latest_version,
        "may_change": may_change,
        "versions": tuple(
            _version(artifact, one, previous, schema, current=current, may_change=may_change)
            for one, previous in zip(shown, before_each, strict=False)
        ),
        "is_first": before is None,
        "has_more": len(kept) > len(shown),
        "problem": problem,
    }


def _version(
    artifact: Artifact,
    kept: KeptVersion,
    previous: KeptVersion | None,
    schema: JsonObject | None,
    *,
    current: int | None,
    may_change: bool,
) -> KeptVersionView:
    version = kept.version
    is_shown = is_on_page(artifact.visibility)
    before = None if previous is None else previous.version
    change = compared(before, version) if is_shown else None
    return KeptVersionView(
        kept=kept,
        by=_by(kept),
        is_current=version.version == current,
        archived="" if kept.reason is None else ARCHIVED.get(kept.reason, _("Archived")),
        may_restore=may_change and version.version != current and version.content_type == artifact.content_type,
        content=(
            content_view(version.content, version.content_type, IN_PANEL, marks_of(change), schema)
            if is_shown
            else None
        ),
        change=change_view(change, before) if is_shown else None,
        trace=None if is_shown else redacted(version.content),
    )


def _by(kept: KeptVersion) -> str:
    writer = kept.version.writer
    if writer is None:
        return ""
    # Steps have names; who restores a version writes in the name of the pipeline alone.
    return f"{shown_name(writer.pipeline)} › {shown_name(writer.step)}" if writer.step else _("Restored manually")
