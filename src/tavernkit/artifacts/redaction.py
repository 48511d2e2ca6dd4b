"""What may leave: events, logs and snapshots go through here, and what people must not see becomes a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypedDict

from tavernkit.artifacts.artifact import Artifact, is_on_page
from tavernkit.artifacts.candidate import render_value, sources_of
from tavernkit.artifacts.content import ArtifactVersion
from tavernkit.artifacts.projection import change_between
from tavernkit.prompt.block import Block


class Redaction(TypedDict):
    """What stands in for content that is not shown."""

    hash: str
    length: int


def redacted(content: object) -> Redaction:
    """What stands in for content that is not shown: enough to see that it is the same, nothing of what it says."""
    text = render_value(content, "text")
    return {"hash": f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}", "length": len(text)}


def wire_form(artifact: Artifact, version: ArtifactVersion) -> dict[str, object]:
    """An artifact's version as clients get it; the content only where people may see it."""
    fields: dict[str, object] = {
        "id": artifact.id,
        "tag": artifact.tag,
        "kind": artifact.kind,
        "visibility": artifact.visibility,
        "uiSurface": None if artifact.surface is None else str(artifact.surface),
        "contentType": version.content_type,
        "version": version.version,
        "basedOnVersion": version.based_on_version,
        "createdAt": version.created_at.isoformat(),
        "turn": version.turn,
    }
    if is_on_page(artifact.visibility):
        return {**fields, "content": version.content}
    return {**fields, "redacted": redacted(version.content)}


def log_entry(artifact: Artifact, before: ArtifactVersion | None, after: ArtifactVersion) -> dict[str, object]:
    """What a step's log says about a write: from which version to which, and the change in a few words, without what
    was written. It is also the only trace of an artifact that lives in one run."""
    change = change_between(before, after)
    shown = is_on_page(artifact.visibility)
    return {
        "artifact": artifact.name,
        "tag": artifact.tag,
        "kind": artifact.kind,
        "access": artifact.access,
        "session": artifact.session.session_id,
        "basedOnVersion": after.based_on_version,
        "version": after.version,
        # The keys of a state tell what it is about, so they too are kept from those who must not see it.
        "change": change.summary if shown or change.kind != "json_patch" else change.summary.partition(":")[0],
        **redacted(after.content),
    }


def redacted_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks of a prompt for a log or a snapshot: whatever holds an artifact that people must not see is hashed,
    as a whole and not by its first letters."""
    return tuple(map(_redacted_block, blocks))


def _redacted_block(block: Block) -> Block:
    if all(is_on_page(str(source["visibility"])) for source in sources_of(block)):
        return block
    trace = redacted(block.content)
    return block.with_(content=f"[{trace['hash']}, {trace['length']} characters]", parts=(), trail=())
