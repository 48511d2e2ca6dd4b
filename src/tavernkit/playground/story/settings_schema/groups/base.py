"""What all groups of settings share."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from tavernkit.values import Value

MAX_TEXT = 100_000


class GroupLook(Value, frozen=True, kw_only=True):
    """How a group of settings is headed, and on which tab it is."""

    label: str
    tab: Literal["basic", "prompts", "authors_note", "more"]


class SettingsGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    look: ClassVar[GroupLook]
