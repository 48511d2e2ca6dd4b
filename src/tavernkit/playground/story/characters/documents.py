"""Characters as JSON: what a card is changed by, and what a character looks like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, Field, field_validator

from tavernkit.characters import Character as LibraryCharacter
from tavernkit.playground.base.database.models import Character, CharacterAsset
from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel
from tavernkit.playground.base.storable import presentable


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


Long = Annotated[str, Field(max_length=1_000_000), AfterValidator(_without_nul)]


Short = Annotated[str, Field(max_length=1_000), AfterValidator(_without_nul)]


Version = Annotated[int, Field(ge=1, le=2**31 - 1, description="The version that the change was made from.")]


MAY_BE_MISSING = frozenset({"nickname", "character_book", "creator_notes_multilingual", "source"})


class CharacterLineOut(StoredDocument):
    """A character in a list."""

    name: str
    nickname: str | None
    tags: list[str]
    own_tags: list[str] = Field(description="Tags that you have given it, which the card knows nothing of.")
    spec_version: int = Field(description="The version of the card's specification that its file was written in.")
    version: int = Field(description="Grows with every change of the card.")
    avatar_sha256: str | None = Field(description="The picture, as PNG: `/blobs/{sha256}`.")
    thumbnail_sha256: str | None = Field(description="A small picture, as WebP.")


class AssetOut(Document):
    """A file that belongs to a character."""

    id: UUID
    kind: str
    name: str
    ext: str
    uri: str = Field(description="How the card refers to it.")
    sha256: str = Field(description="Its bytes: `/blobs/{sha256}`.")


class CharacterOut(CharacterLineOut):
    """A character with its card."""

    is_shared: bool = Field(description="True for characters that are everybody's, and have no owner.")
    card: dict[str, Any] = Field(description="The whole card, as Character Card V3.")
    assets: list[AssetOut]

    @classmethod
    def with_card(cls, row: Character, assets: Iterable[CharacterAsset]) -> CharacterOut:
        files = [AssetOut.of_row(asset) for asset in assets]
        return cls.of_row(row, is_shared=row.owner_id is None, card=presentable(row.data), assets=files)


class CardFieldsIn(StrictModel):
    """Fields of a card, named as its specification names them."""

    name: Short | None = None
    nickname: Short | None = None
    description: Long | None = None
    personality: Long | None = None
    scenario: Long | None = None
    first_mes: Long | None = None
    mes_example: Long | None = None
    creator_notes: Long | None = None
    creator_notes_multilingual: Annotated[dict[Short, Any], Field(max_length=200)] | None = Field(
        default=None, description="Notes by the code of their language, such as `de`; null takes them out."
    )
    system_prompt: Long | None = None
    post_history_instructions: Long | None = None
    alternate_greetings: Annotated[list[Long], Field(max_length=1000)] | None = None
    group_only_greetings: Annotated[list[Long], Field(max_length=1000)] | None = None
    tags: Annotated[list[Short], Field(max_length=200)] | None = None
    creator: Short | None = None
    character_version: Short | None = None
    source: Annotated[list[Short], Field(max_length=200)] | None = Field(
        default=None, description="Where the card comes from: addresses or ids; null takes them out."
    )
    character_book: dict[str, Any] | None = Field(
        default=None, description="The card's own lorebook, as Character Card V3 writes it; null takes it out."
    )
    extensions: dict[str, Any] | None = None
    unknown: dict[str, Any] | None = Field(
        default=None, description="Further fields of the card's data, which its specification does not name."
    )

    @field_validator("unknown")
    @classmethod
    def _not_known(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        if known := sorted((given or {}).keys() & {*LibraryCharacter.__struct_fields__}):
            raise ValueError(f"{known[0]} is a field of its own")
        return given

    def fields(self) -> dict[str, Any]:
        """What was named. Null means nothing there for what may be missing, and no change for everything else."""
        named = self.model_dump(exclude_unset=True, exclude={"version"})
        return {key: value for key, value in named.items() if value is not None or key in MAY_BE_MISSING}


class OwnTags(StrictModel):
    """The tags that a character gets beside those of its card."""

    tags: Annotated[list[Short], Field(max_length=200)]


AssetKind: TypeAlias = Literal["icon", "emotion", "background", "user_icon", "other"]


class AssetChange(StrictModel):
    """What a picture is called and what it is; what is not named stays as it is."""

    version: Version
    name: Annotated[str, Field(min_length=1, max_length=180)] | None = None
    kind: AssetKind | None = None


class NewCard(CardFieldsIn):
    """What a new character says; what is not named is empty."""

    name: Short


class CardEdit(CardFieldsIn):
    """Fields of the card to change; what is not named stays as it is."""

    version: Version
