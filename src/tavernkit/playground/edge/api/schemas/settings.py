"""What the API takes and gives about settings."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tavernkit.playground.base.schemas import StrictModel


class SettingsPatch(StrictModel):
    """A change of settings."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    settings: dict[str, Any] = Field(
        description="Groups of settings as in the schema; null takes a setting, or a whole group, back.",
        examples=[{"llm": {"temperature": 0.8}, "authors_note": {"text": "It rains."}}],
    )
