"""Which value of a setting counts, and where it comes from: the one place where layers are laid over each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.story.settings_schema.leaf import LAYERS, Layer, Source
from tavernkit.playground.story.settings_schema.models import StorySettings
from tavernkit.playground.story.settings_schema.pack import GROUPS, SETTINGS, Setting
from tavernkit.values import Json, JsonObject, Value

Layered: TypeAlias = Space | SpaceMembership | Conversation


class Effective(Value, frozen=True, kw_only=True):
    """All settings as they count, and for each path the layer that it comes from."""

    settings: StorySettings
    sources: Mapping[str, Source]

    def to_json(self) -> JsonObject:
        """By group and name, each with its value and its source."""
        values = self.settings.model_dump(mode="json")
        return {
            group: {
                name: {"value": value, "source": self.sources[f"{group}.{name}"]}
                for name, value in values[group].items()
            }
            for group in GROUPS
        }


def effective(
    space: Space, *, member: SpaceMembership | None = None, conversation: Conversation | None = None
) -> Effective:
    """Lay the conversation over the member over the space over the defaults.

    A stored value that the setting can no longer be is passed over.
    """
    rows: dict[Layer, Layered | None] = {"space": space, "member": member, "conversation": conversation}
    values: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    sources: dict[str, Source] = {}
    for setting in SETTINGS.values():
        source: Source = "default"
        value = setting.default
        for layer in LAYERS:
            row = rows[layer]
            found = None if row is None or layer not in setting.leaf.layers else _own_value(row, layer, setting)
            if found is not None:
                source, value = layer, found
        values[setting.group][setting.name] = value
        sources[setting.path] = source
    return Effective(settings=StorySettings.model_validate(values), sources=sources)


def own_values(row: Layered, layer: Layer) -> JsonObject:
    """What this layer itself sets, by group and name."""
    own: dict[str, dict[str, Json]] = {}
    for setting in SETTINGS.values():
        if layer in setting.leaf.layers:
            value = _own_value(row, layer, setting)
            if value is not None:
                own.setdefault(setting.group, {})[setting.name] = setting.write(value)
    return own


def document_of(row: Layered) -> Mapping[str, Json]:
    """The JSON column that holds the settings without a column of their own."""
    return row.prompt_settings if isinstance(row, Space) else row.settings


def _own_value(row: Layered, layer: Layer, setting: Setting) -> Any:
    """The layer's own value, or None; a column that holds the default says nothing."""
    column = setting.leaf.columns.get(layer)
    if column is not None:
        value = getattr(row, column)
        return None if value == setting.default else value
    group = document_of(row).get(setting.group)
    stored = group.get(setting.name) if isinstance(group, dict) else None
    if stored is None:
        return None
    try:
        return setting.read(stored)
    except ValidationError:
        return None
