"""Presets and their prompts as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel, patching, showing
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.presets.prompts import EVERY_CHARACTER
from tavernkit.playground.story.presets.queries import Kind

Name = Annotated[str, Field(min_length=1, max_length=200)]


Description = Annotated[str, Field(max_length=2000)]


Version = Annotated[int, Field(ge=0, le=2**31 - 1, description="The `settings_version` that was read.")]


Identifier = Annotated[str, Field(min_length=1, max_length=200)]


CharacterId = Annotated[
    str,
    Field(min_length=1, max_length=200, description="Whose order; 100001 is the one for all characters, which counts."),
]


class PresetNaming(StrictModel):
    name: Name
    description: Description = ""


class NewPreset(PresetNaming):
    kind: Kind
    data: dict[str, Any] = Field(
        default={},
        description="Fields of the file; the others get the platform's defaults. Without any, prompts that work.",
    )


@patching
class PatchPreset(PresetNaming):
    settings_version: Version
    data: dict[str, Any] = Field(default={}, description="The fields to change; the others stay as they are.")
    remove: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)] = Field(
        default=[], description="Fields to take out of the file."
    )


@showing
class PresetSummary(PresetNaming, StoredDocument):
    """A preset in a list."""

    kind: Kind
    is_system: bool = Field(description="Everybody's: who is no administrator changes a copy of it.")
    settings_version: int

    @classmethod
    def of(cls, row: Preset) -> Self:
        return cls.of_row(row, is_system=row.owner_id is None)


class PresetOut(PresetSummary):
    """A preset. `data` is the file."""

    data: dict[str, Any]

    @classmethod
    def of(cls, row: Preset) -> Self:
        return cls.of_row(row, is_system=row.owner_id is None, data=presentable(row.data))


class PromptFields(StrictModel):
    name: Annotated[str, Field(max_length=500)] | None = None
    role: Literal["system", "user", "assistant"] | None = None
    content: Annotated[str, Field(max_length=500_000)] | None = None
    injection_position: Literal[0, 1] | None = Field(default=None, description="1 is in the chat, at a depth.")
    injection_depth: Annotated[int, Field(ge=0, le=100_000)] | None = None
    injection_order: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] | None = None
    injection_trigger: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)] | None = None
    forbid_overrides: bool | None = None
    marker: bool | None = Field(default=None, description="Filled in automatically, as its identifier says.")
    system_prompt: bool | None = Field(default=None, description="One of SillyTavern's own.")

    def given(self) -> dict[str, Any]:
        """The fields of a prompt that are named, ready for one."""
        named = self.model_dump(include=set(PromptFields.model_fields), exclude_none=True)
        fields = {name: presentable(value) for name, value in named.items()}
        if self.injection_trigger is not None:
            fields["injection_trigger"] = tuple(map(storable, self.injection_trigger))
        return fields


class NewPrompt(PromptFields):
    settings_version: Version
    identifier: Identifier | None = Field(default=None, description="One is made where none is given.")
    position: Annotated[int, Field(ge=0, le=1000)] | None = None
    enabled: bool = True


class PatchPrompt(PromptFields):
    settings_version: Version
    enabled: bool | None = None
    character_id: CharacterId = EVERY_CHARACTER


class ResetPrompt(StrictModel):
    settings_version: Version


class PromptPlace(StrictModel):
    identifier: Identifier
    enabled: bool = True


class OrderPrompts(StrictModel):
    settings_version: Version
    order: list[PromptPlace] = Field(max_length=1000)
    character_id: CharacterId = EVERY_CHARACTER


class RestoreField(StrictModel):
    settings_version: Version
    path: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=10)]


class DifferenceOut(Document):
    """A field that is not as it was imported."""

    path: list[str] = Field(description="Names of fields; a prompt by its identifier, an order by its character.")
    now: Any
    before: Any
    is_new: bool = Field(description="It was not in the file.")
    is_gone: bool = Field(description="It is no longer in the preset.")


class OriginalOut(BaseModel):
    """The file that a preset was imported from, unpacked, and what is different today."""

    original: dict[str, Any] | None = Field(description="Null where nobody knows it.")
    differences: list[DifferenceOut]
