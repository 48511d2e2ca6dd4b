"""The settings of a place as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from tavernkit.playground.story.settings_schema.models import Layer, Source
from tavernkit.playground.story.settings_schema.resolving import Effective, Layered, own_values


class EffectiveValue(BaseModel):
    """A setting as it counts, and the layer that it comes from."""

    value: Any
    source: Source


class SettingsOut(BaseModel):
    """The settings of one layer, with the layers below it."""

    layer: Literal["space", "member", "conversation"]
    settings_version: int = Field(description="The version of this layer.")
    own: dict[str, dict[str, Any]] = Field(description="What this layer itself sets, by group and name.")
    effective: dict[str, dict[str, EffectiveValue]] = Field(description="Every setting, by group and name.")


def settings_out(row: Layered, layer: Layer, resolved: Effective) -> SettingsOut:
    """One layer's settings as the API gives them."""
    return SettingsOut.model_validate(
        {
            "layer": layer,
            "settings_version": row.settings_version,
            "own": own_values(row, layer),
            "effective": resolved.to_json(),
        }
    )
