"""Which model answers, and with which presets."""

from __future__ import annotations

from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import GroupLook, Leaf, SettingsGroup, shown_by_kind


class ModelGroup(SettingsGroup):
    """Which model answers, by which preset and templates."""

    look: ClassVar[GroupLook] = GroupLook(label="Model", tab="basic")

    provider_id: Annotated[
        UUID | None,
        Leaf(
            label="Model",
            control="select",
            layers=("space", "member"),
            columns={"space": "provider_id", "member": "provider_id"},
            refers_to=("provider",),
            quick=True,
        ),
        Field(description="Who answers; without one, the default provider."),
    ] = None
    preset_id: Annotated[
        UUID | None,
        Leaf(
            label="Preset",
            control="select",
            layers=("space", "member"),
            columns={"space": "preset_id", "member": "preset_id"},
            refers_to=("chat", "text", "risuai"),
            quick=True,
        ),
        Field(description="Prompts and generation settings; without one, those that come with the application."),
    ] = None
    instruct_id: Annotated[
        UUID | None,
        Leaf(
            label="Instruct template",
            control="select",
            layers=("space", "member"),
            refers_to=("instruct",),
            visible_when=shown_by_kind("instruct_id"),
        ),
        Field(description="How turns are marked in a text prompt."),
    ] = None
    context_id: Annotated[
        UUID | None,
        Leaf(
            label="Context template",
            control="select",
            layers=("space", "member"),
            refers_to=("context",),
            visible_when=shown_by_kind("context_id"),
        ),
        Field(description="How the beginning of a text prompt is laid out."),
    ] = None
    system_prompt_id: Annotated[
        UUID | None,
        Leaf(label="System prompt", control="select", layers=("space", "member"), refers_to=("system_prompt",)),
        Field(description="The first instruction."),
    ] = None
    reasoning_id: Annotated[
        UUID | None,
        Leaf(label="Reasoning template", control="select", layers=("space", "member"), refers_to=("reasoning",)),
        Field(description="How thoughts are marked in replies."),
    ] = None
