"""Artifacts: what pipelines make beside the conversation, kept in versions, told to the model, shown on the page.

Nothing here is loaded by `import tavernkit`.
"""

from tavernkit.artifacts.anchors import Anchor
from tavernkit.artifacts.artifact import (
    RESERVED_PREFIX,
    Artifact,
    ArtifactDefinition,
    ArtifactKey,
    Presentation,
    Session,
    Surface,
    Visibility,
    check_tag,
    is_in_prompt,
    is_on_page,
    read_artifact,
    write_artifact,
)
from tavernkit.artifacts.candidate import InclusionDecision, InclusionReport, PromptCandidate, inclusion_report
from tavernkit.artifacts.content import ArtifactVersion, ContentType, Writer, check_content, parse_content
from tavernkit.artifacts.inclusion import InclusionRules, PromptInclusion, VersionSelector
from tavernkit.artifacts.json_patch import apply_patch, make_patch, merge_patch
from tavernkit.artifacts.permissions import (
    TagClaim,
    TagCollision,
    WritePermission,
    check_owner,
    check_permission,
    tag_collisions,
)
from tavernkit.artifacts.placing import include_artifacts
from tavernkit.artifacts.projection import (
    ArtifactChange,
    Projection,
    ProjectionItem,
    change_between,
    project,
    project_all,
)
from tavernkit.artifacts.redaction import log_entry, redacted, redacted_blocks, wire_form
from tavernkit.artifacts.retention import Retention, outlived, retained
from tavernkit.artifacts.store import (
    ArchiveRow,
    ArtifactRecord,
    ArtifactStore,
    ArtifactWrite,
    Commit,
    MemoryStore,
    StoredArtifact,
    plan_reset,
    plan_write,
    reserved_again,
)
from tavernkit.artifacts.view import ArtifactView, RunArtifact, SessionArtifacts, session_artifacts

__all__ = [
    "RESERVED_PREFIX",
    "Anchor",
    "ArchiveRow",
    "Artifact",
    "ArtifactChange",
    "ArtifactDefinition",
    "ArtifactKey",
    "ArtifactRecord",
    "ArtifactStore",
    "ArtifactVersion",
    "ArtifactView",
    "ArtifactWrite",
    "Commit",
    "ContentType",
    "InclusionDecision",
    "InclusionReport",
    "InclusionRules",
    "MemoryStore",
    "Presentation",
    "Projection",
    "ProjectionItem",
    "PromptCandidate",
    "PromptInclusion",
    "Retention",
    "RunArtifact",
    "Session",
    "SessionArtifacts",
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
    "inclusion_report",
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
    "session_artifacts",
    "tag_collisions",
    "wire_form",
    "write_artifact",
]
