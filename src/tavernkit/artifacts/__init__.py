"""Artifacts: what pipelines make beside the conversation, kept in versions, told to the model, shown on the page.

Nothing here is loaded by `import tavernkit`.
"""

from tavernkit.artifacts.anchors import Anchor
from tavernkit.artifacts.archive import ArchiveRow
from tavernkit.artifacts.artifact import (
    Artifact,
    ArtifactDefinition,
    ArtifactKey,
    Session,
    read_artifact,
    write_artifact,
)
from tavernkit.artifacts.axes import Surface, Visibility, is_in_prompt, is_on_page
from tavernkit.artifacts.candidate import Candidate
from tavernkit.artifacts.content import ContentType, check_content, parse_content
from tavernkit.artifacts.decisions import Decision, InclusionReport
from tavernkit.artifacts.diff import Change, change_between
from tavernkit.artifacts.inclusion import InclusionRules, PromptInclusion, VersionSelector
from tavernkit.artifacts.json_patch import apply_patch, make_patch
from tavernkit.artifacts.memory_store import MemoryStore
from tavernkit.artifacts.merge_patch import merge_patch
from tavernkit.artifacts.permissions import (
    TagClaim,
    TagCollision,
    WritePermission,
    check_owner,
    check_permission,
    tag_collisions,
)
from tavernkit.artifacts.placing import include_artifacts
from tavernkit.artifacts.presentation import Presentation
from tavernkit.artifacts.projection import Projection, ProjectionItem, project, project_all
from tavernkit.artifacts.redaction import log_entry, redacted, redacted_blocks, wire_form
from tavernkit.artifacts.retention import Retention, outlived, retained
from tavernkit.artifacts.store import (
    ArtifactRecord,
    ArtifactStore,
    ArtifactWrite,
    Commit,
    StoredArtifact,
    plan_reset,
    plan_write,
    reserved_again,
)
from tavernkit.artifacts.tags import RESERVED_PREFIX, check_tag
from tavernkit.artifacts.version import ArtifactVersion, Writer
from tavernkit.artifacts.view import ArtifactView, RunArtifact, SessionView, session_view

__all__ = [
    "RESERVED_PREFIX",
    "Anchor",
    "ArchiveRow",
    "Artifact",
    "ArtifactDefinition",
    "ArtifactKey",
    "ArtifactRecord",
    "ArtifactStore",
    "ArtifactVersion",
    "ArtifactView",
    "ArtifactWrite",
    "Candidate",
    "Change",
    "Commit",
    "ContentType",
    "Decision",
    "InclusionReport",
    "InclusionRules",
    "MemoryStore",
    "Presentation",
    "Projection",
    "ProjectionItem",
    "PromptInclusion",
    "Retention",
    "RunArtifact",
    "Session",
    "SessionView",
    "StoredArtifact",
    "Surface",
    "TagClaim",
    "TagCollision",
    "VersionSelector",
    "Visibility",
    "WritePermission",
    "Writer",
    "apply_patch",
    "change_between",
    "check_content",
    "check_owner",
    "check_permission",
    "check_tag",
    "include_artifacts",
    "is_in_prompt",
    "is_on_page",
    "log_entry",
    "make_patch",
    "merge_patch",
    "outlived",
    "parse_content",
    "plan_reset",
    "plan_write",
    "project",
    "project_all",
    "read_artifact",
    "redacted",
    "redacted_blocks",
    "reserved_again",
    "retained",
    "session_view",
    "tag_collisions",
    "wire_form",
    "write_artifact",
]
