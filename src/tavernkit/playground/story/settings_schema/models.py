"""Every setting of a story, with its type, its limits and its default.

A setting without a value of its own (null) leaves the decision to the preset, the card or the provider.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tavernkit.playground.story.settings_schema.groups.authors_note import AuthorsNoteGroup
from tavernkit.playground.story.settings_schema.groups.llm import LlmGroup
from tavernkit.playground.story.settings_schema.groups.model import ModelGroup
from tavernkit.playground.story.settings_schema.groups.prompt import PromptGroup
from tavernkit.playground.story.settings_schema.groups.reasoning import ReasoningGroup
from tavernkit.playground.story.settings_schema.groups.turns import SpaceGroup
from tavernkit.playground.story.settings_schema.groups.world_info import WorldInfoGroup


class StorySettings(BaseModel):
    """All of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    space: SpaceGroup = SpaceGroup()
    model: ModelGroup = ModelGroup()
    llm: LlmGroup = LlmGroup()
    world_info: WorldInfoGroup = WorldInfoGroup()
    authors_note: AuthorsNoteGroup = AuthorsNoteGroup()
    prompt: PromptGroup = PromptGroup()
    reasoning: ReasoningGroup = ReasoningGroup()
