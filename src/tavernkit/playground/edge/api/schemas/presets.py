"""Presets and their prompts as the API takes and gives them."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.lorebooks.documents import NoteOut
from tavernkit.playground.story.presets.documents import (
    PresetOut,
)
from tavernkit.playground.story.presets.prompt_manager import listed_prompts
from tavernkit.sillytavern.presets import ChatPreset, Prompt


class PresetImported(BaseModel):
    preset: PresetOut
    notes: list[NoteOut]


class DefaultPreset(StrictModel):
    """The preset that your new spaces use."""

    preset_id: UUID | None


class PresetPromptOut(BaseModel):
    """A prompt of the prompt manager."""

    identifier: str
    name: str
    role: str
    content: str
    marker: bool
    system_prompt: bool
    injection_position: int
    injection_depth: int
    injection_order: int
    injection_trigger: list[str]
    forbid_overrides: bool
    enabled: bool | None = Field(description="Whether it is sent; null for a prompt that is not in the order.")

    @classmethod
    def of(cls, prompt: Prompt, enabled: bool | None) -> Self:
        return cls(
            identifier=presentable(prompt.identifier),
            name=presentable(prompt.name),
            role=presentable(prompt.role),
            content=presentable(prompt.content),
            marker=prompt.marker,
            system_prompt=prompt.system_prompt,
            injection_position=prompt.injection_position,
            injection_depth=prompt.injection_depth,
            injection_order=prompt.injection_order,
            injection_trigger=presentable(list(prompt.injection_trigger)),
            forbid_overrides=prompt.forbid_overrides,
            enabled=enabled,
        )


class PromptsOut(BaseModel):
    """The prompts of a chat preset, in the order in which they are sent."""

    preset_id: UUID
    settings_version: int
    prompts: list[PresetPromptOut]


def prompts_out(row: Preset, preset: ChatPreset) -> PromptsOut:
    """The prompt manager of a preset, for a client."""
    return PromptsOut(
        preset_id=row.id,
        settings_version=row.settings_version,
        prompts=[PresetPromptOut.of(prompt, enabled) for prompt, enabled in listed_prompts(preset)],
    )
