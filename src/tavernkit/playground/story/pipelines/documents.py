"""Profiles and choices as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from tavernkit.artifacts.pipelines import EXAMPLES, Profile
from tavernkit.artifacts.wire import inlined_schema
from tavernkit.playground.base.database.models import PipelineProfile, PipelineProfileVersion
from tavernkit.playground.base.schemas import StoredDocument, StrictModel, patching, showing

Name = Annotated[str, Field(min_length=1, max_length=200)]


Description = Annotated[str, Field(max_length=2000)]


_OF_THE_ROW = ("id", "version", "name", "description")


class _ProfileSchema:
    """Asked for with the documentation of the API, when extensions have added their kinds of steps."""

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return inlined_schema(Profile, left_out=_OF_THE_ROW)


ProfileContent = TypeAliasType("ProfileContent", Annotated[dict[str, Any], _ProfileSchema()])


Content = Annotated[ProfileContent, Field(description="The profile: its `pipelines` with their steps.")]


class ProfileNaming(StrictModel):
    name: Name
    description: Description = ""


class NewProfile(ProfileNaming):
    content: Content = {}


@patching
class PatchProfile(NewProfile):
    settings_version: Annotated[int, Field(ge=1, le=2**31 - 1, description="The `settings_version` that was read.")]


@showing
class ProfileSummary(ProfileNaming, StoredDocument):
    """A profile in a list."""

    is_system: bool = Field(description="Everybody's: only administrators change it.")
    settings_version: int = Field(description="The number of its newest version.")

    @classmethod
    def of(cls, row: PipelineProfile) -> Self:
        return cls.of_row(row, is_system=row.owner_id is None)


class ProfileOut(ProfileSummary):
    """A profile as it is now."""

    content: dict[str, Any] = Field(description="As it was saved; `ProfileContent` describes it.")

    @classmethod
    def with_content(cls, row: PipelineProfile, version: PipelineProfileVersion) -> Self:
        return cls.of_row(row, is_system=row.owner_id is None, content=version.content)


class ProfilePlace(StrictModel):
    """Where a profile is followed; none of the three is everything of yours."""

    conversation_id: UUID | None = None
    character_id: UUID | None = None
    space_id: UUID | None = None

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        if len(self.named()) > 1:
            raise ValueError("name at most one of conversation_id, character_id and space_id")
        return self

    def named(self) -> dict[str, UUID]:
        """The column that says where, with its value."""
        return self.model_dump(include=set(ProfilePlace.model_fields), exclude_none=True)


class Choose(ProfilePlace):
    profile_id: UUID | None = Field(description="The profile to follow; null for none, whatever wider places say.")


class AddExample(ProfilePlace):
    """An example, and what it is added to as it was read; where something else is followed by now, it is refused."""

    example: Annotated[str, Field(max_length=100, description=f"One of {', '.join(EXAMPLES)}.")]
    profile_id: UUID = Field(description="The profile that is followed at the place, be it because of a wider one.")
    settings_version: Annotated[int, Field(ge=1, le=2**31 - 1, description="The version of it that was read.")]
