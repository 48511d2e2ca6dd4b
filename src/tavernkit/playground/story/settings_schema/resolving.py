"""Which value of a setting counts, and where it comes from: the one place where layers are laid over each other; and
changing settings: a patch is checked whole before any of it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.settings_schema.models import LAYERS, Layer, Source, StorySettings
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
            found = None if row is None or layer not in setting.leaf.layers else _own_value(row, setting)
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
            value = _own_value(row, setting)
            if value is not None:
                own.setdefault(setting.group, {})[setting.name] = setting.write(value)
    return own


def document_of(row: Layered) -> Mapping[str, Json]:
    """The JSON column that holds the settings without a column of their own."""
    return row.prompt_settings if isinstance(row, Space) else row.settings


def _own_value(row: Layered, setting: Setting) -> Any:
    """The layer's own value, or None; a column that holds the default says nothing."""
    if setting.leaf.has_column:
        value = getattr(row, setting.name)
        return None if value == setting.default else value
    group = document_of(row).get(setting.group)
    stored = group.get(setting.name) if isinstance(group, dict) else None
    if stored is None:
        return None
    try:
        return setting.read(stored)
    except ValidationError:
        return None


Changes = Mapping[str, Any]
"""The new value of each path; None leaves it to the layer below."""

_PLACES: Mapping[Layer, str] = {"space": "a space", "member": "a member", "conversation": "a conversation"}


def read_patch(patch: JsonObject, layer: Layer) -> Changes:
    """Check a merge patch: groups of settings, in which null takes a setting back; so does null for a group."""
    changes: dict[str, Any] = {}
    for group, content in patch.items():
        if group not in GROUPS:
            raise _refused(group, "there is no such group of settings")
        if content is None:
            changes.update(dict.fromkeys(_paths(group, layer)))
            continue
        if not isinstance(content, dict):
            raise _refused(group, "a group of settings is an object")
        for name, value in content.items():
            path = f"{group}.{name}"
            setting = SETTINGS.get(path)
            if setting is None:
                raise _refused(path, "there is no such setting")
            if layer not in setting.leaf.layers:
                places = " or ".join(_PLACES[place] for place in setting.leaf.layers)
                raise _refused(path, f"it is a setting of {places}, not of {_PLACES[layer]}")
            cleaned = _cleaned(value)
            problem = None if cleaned is None else setting.problem(cleaned)
            if problem is not None:
                raise _refused(path, problem)
            changes[path] = None if cleaned is None else setting.read(cleaned)
    return changes


def apply_changes(row: Layered, changes: Changes) -> None:
    """Put checked changes where they are stored; the rest of the JSON stays as it is."""
    document: dict[str, Json] = {key: dict(value) if isinstance(value, dict) else value
                                 for key, value in document_of(row).items()}  # fmt: skip
    for path, value in changes.items():
        setting = SETTINGS[path]
        if setting.leaf.has_column:
            setattr(row, setting.name, setting.default if value is None else value)
        else:
            _put(document, setting, value)
    if isinstance(row, Space):
        row.prompt_settings = document
    else:
        row.settings = document


def _put(document: dict[str, Json], setting: Setting, value: Any) -> None:
    group = document.get(setting.group)
    if not isinstance(group, dict):
        group = {}
    if value is None:
        group.pop(setting.name, None)
    else:
        group[setting.name] = setting.write(value)
    if group:
        document[setting.group] = group
    else:
        document.pop(setting.group, None)


def _paths(group: str, layer: Layer) -> list[str]:
    return [path for path, setting in SETTINGS.items() if setting.group == group and layer in setting.leaf.layers]


def _cleaned(value: Json) -> Json:
    """NUL is nothing that a person can have meant."""
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _refused(path: str, why: str) -> Refused:
    return Refused(code="invalid", sentence=f"The setting {titled(path, 'without a name')} was not taken: {why}.")
