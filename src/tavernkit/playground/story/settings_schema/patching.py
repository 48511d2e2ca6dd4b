"""Changing settings: a patch is checked whole before any of it is applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tavernkit.playground.base.database.models import Space
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.settings_schema.leaf import Layer
from tavernkit.playground.story.settings_schema.pack import GROUPS, SETTINGS, Setting
from tavernkit.playground.story.settings_schema.resolving import Layered, document_of
from tavernkit.values import Json, JsonObject

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


def apply_changes(row: Layered, layer: Layer, changes: Changes) -> None:
    """Put checked changes where they are stored; the rest of the JSON stays as it is."""
    document: dict[str, Json] = {key: dict(value) if isinstance(value, dict) else value
                                 for key, value in document_of(row).items()}  # fmt: skip
    for path, value in changes.items():
        setting = SETTINGS[path]
        column = setting.leaf.columns.get(layer)
        if column is not None:
            setattr(row, column, setting.default if value is None else value)
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
