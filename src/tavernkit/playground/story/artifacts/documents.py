"""A version of an artifact as JSON."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.artifacts import (
    Artifact,
    ArtifactVersion,
    ContentType,
    is_on_page,
    redacted,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.base.storable import presentable, storable

LONGEST_KEY = 60

_JOINTS = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")


def in_words(key: str) -> str:
    """A key or a tag as words: `max_hp` and `maxHp` are Max hp."""
    words = " ".join(_JOINTS.split(key[: LONGEST_KEY * 4])).strip()
    if not words:
        return _("Unnamed")
    name = shown_name(storable(words))
    # A word in capitals is one that is spelled so.
    parts = [part if part.isupper() else part.lower() for part in name.split()]
    text = " ".join(parts)
    text = text[:1].upper() + text[1:]
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 1].rstrip()}…"


class Redacted(BaseModel):
    """What stands in for content that people must not see."""

    hash: str
    length: int


class ArtifactVersionOut(Document):
    """A value that an artifact has or had."""

    version: int
    based_on_version: int | None
    content_type: ContentType
    content: Any = Field(default=None, description="Null also where people must not see it.")
    redacted: Redacted | None = Field(default=None, description="In place of what people must not see.")
    turn: int
    message_id: UUID | None = Field(description="The message whose telling made it.")
    swipe_id: UUID | None
    pipeline: str | None
    step: str | None
    created_at: datetime

    @classmethod
    def of(cls, artifact: Artifact, version: ArtifactVersion) -> Self:
        shown = is_on_page(artifact.visibility)
        return cls.of_row(
            version,
            content=presentable(version.content) if shown else None,
            redacted=None if shown else Redacted(**redacted(version.content)),
            message_id=None if version.turn_id is None else UUID(version.turn_id),
            swipe_id=None if version.variant_id is None else UUID(version.variant_id),
            pipeline=None if version.writer is None else version.writer.pipeline,
            step=None if version.writer is None else version.writer.step,
        )
