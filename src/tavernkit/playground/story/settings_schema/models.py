"""Every setting of a story, with its type, its limits and its default.

A setting without a value of its own (null) leaves the decision to the preset, the card or the provider.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tavernkit.playground.story.settings_schema.groups.authors_note import AuthorsNoteSettings
from tavernkit.playground.story.settings_schema.groups.llm import LlmSettings
from tavernkit.playground.story.settings_schema.groups.model import ModelSettings
from tavernkit.playground.story.settings_schema.groups.prompt import PromptSettings
from tavernkit.playground.story.settings_schema.groups.reasoning import ReasoningSettings
from tavernkit.playground.story.settings_schema.groups.turns import SpaceSettings
from tavernkit.playground.story.settings_schema.groups.world_info import WorldInfoSettings


class Settings(BaseModel):
    """All of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    space: SpaceSettings = SpaceSettings()
    model: ModelSettings = ModelSettings()
    llm: LlmSettings = LlmSettings()
    world_info: WorldInfoSettings = WorldInfoSettings()
    authors_note: AuthorsNoteSettings = AuthorsNoteSettings()
    prompt: PromptSettings = PromptSettings()
    reasoning: ReasoningSettings = ReasoningSettings()
