"""Characters as the API shows and takes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tavernkit.playground.characters.cards import Change
from tavernkit.playground.characters.queries import CharacterLine
from tavernkit.playground.database.models import Character, CharacterAsset
from tavernkit.playground.storable import presentable

__all__ = [
    "MAX_EDIT_BYTES",
    "AssetOut",
    "CardEdit",
    "ChangeOut",
    "CharacterLineOut",
    "CharacterOut",
    "ImportOut",
    "RestoreIn",
    "VersionLineOut",
    "VersionOut",
]


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


MAX_EDIT_BYTES = 16 * 1024 * 1024
"""A card as text, with its lorebook."""

Long = Annotated[str, Field(max_length=1_000_000), AfterValidator(_without_nul)]
Short = Annotated[str, Field(max_length=1_000), AfterValidator(_without_nul)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1, description="The version that the change was made from.")]


class CharacterLineOut(BaseModel):
    """A character in a list."""

    id: UUID
    name: str
    nickname: str | None
    tags: list[str]
    spec_version: int = Field(description="The version of the card's specification that its file was written in.")
    version: int = Field(description="Grows with every change of the card.")
    avatar_sha256: str | None = Field(description="The picture, as PNG: `/blobs/{sha256}`.")
    thumbnail_sha256: str | None = Field(description="A small picture, as WebP.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, line: CharacterLine) -> CharacterLineOut:
        return cls(
            id=line.id,
            name=line.name,
            nickname=line.nickname,
            tags=line.tags,
            spec_version=line.spec_version,
            version=line.version,
            avatar_sha256=line.avatar_sha256,
            thumbnail_sha256=line.thumbnail_sha256,
            created_at=line.created_at,
            updated_at=line.updated_at,
        )


class AssetOut(BaseModel):
    """A file that belongs to a character."""

    kind: str
    name: str
    ext: str
    uri: str = Field(description="How the card refers to it.")
    sha256: str = Field(description="Its bytes: `/blobs/{sha256}`.")


class CharacterOut(CharacterLineOut):
    """A character with its card."""

    is_shared: bool = Field(description="True for characters that are everybody's.")
    card: dict[str, Any] = Field(description="The whole card, as Character Card V3.")
    assets: list[AssetOut]

    @classmethod
    def with_card(cls, row: Character, assets: Iterable[CharacterAsset]) -> CharacterOut:
        return cls(
            id=row.id,
            name=row.name,
            nickname=row.nickname,
            tags=row.tags,
            spec_version=row.spec_version,
            version=row.version,
            avatar_sha256=row.avatar_sha256,
            thumbnail_sha256=row.thumbnail_sha256,
            created_at=row.created_at,
            updated_at=row.updated_at,
            is_shared=row.owner_id is None,
            card=presentable(row.data),
            assets=[
                AssetOut(kind=asset.kind, name=asset.name, ext=asset.ext, uri=asset.uri, sha256=asset.sha256)
                for asset in assets
            ],
        )


class CardEdit(BaseModel):
    """Fields of the card to change; what is not named stays as it is."""

    model_config = ConfigDict(extra="forbid")

    version: Version
    name: Short | None = None
    nickname: Short | None = None
    description: Long | None = None
    personality: Long | None = None
    scenario: Long | None = None
    first_mes: Long | None = None
    mes_example: Long | None = None
    creator_notes: Long | None = None
    system_prompt: Long | None = None
    post_history_instructions: Long | None = None
    alternate_greetings: Annotated[list[Long], Field(max_length=1000)] | None = None
    group_only_greetings: Annotated[list[Long], Field(max_length=1000)] | None = None
    tags: Annotated[list[Short], Field(max_length=200)] | None = None
    creator: Short | None = None
    character_version: Short | None = None
    character_book: dict[str, Any] | None = Field(
        default=None, description="The card's own lorebook, as Character Card V3 writes it; null takes it out."
    )
    extensions: dict[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """What was named. Null means nothing there for what may be missing, and no change for everything else."""
        named = self.model_dump(exclude_unset=True, exclude={"version"})
        return {
            key: value for key, value in named.items() if value is not None or key in ("nickname", "character_book")
        }


class ChangeOut(BaseModel):
    """A field that differs; long texts are cut."""

    field: str
    before: str | None
    after: str | None

    @classmethod
    def of(cls, change: Change) -> ChangeOut:
        return cls(field=change.field, before=change.before, after=change.after)


class ImportOut(BaseModel):
    """What became of a file."""

    outcome: Literal["imported", "same", "updated", "skipped"]
    sentence: str
    character: CharacterOut
    changes: list[ChangeOut] = Field(description="What an update changed.")
    notes: list[str] = Field(description="What could not be taken as it was.")


class VersionLineOut(BaseModel):
    """An earlier card."""

    number: int
    replaced_by: str = Field(description="What came after it: edited, imported, restored or picture.")
    created_at: datetime


class VersionOut(VersionLineOut):
    card: dict[str, Any] = Field(description="The whole card, as Character Card V3.")
    changes: list[ChangeOut] = Field(description="What is different in the newest card.")


class RestoreIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Version
    number: int = Field(ge=1, le=2**31 - 1, description="The version to go back to.")
