"""The settings one by one, each under its path, as they are stored, checked and shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tavernkit.playground.story.settings_schema.models import DOCUMENTS, Layer, Leaf, SettingsGroup, StorySettings
from tavernkit.values import Json, JsonObject, Value

VERSION = "1"
"""Grows when a setting is moved or its meaning changes; new settings are found by the ETag."""

_ORDER_STEP = 10


class Setting(Value, frozen=True, kw_only=True):
    """One setting: `group` and `name` are its path."""

    group: str
    name: str
    leaf: Leaf
    default: Any
    adapter: TypeAdapter[Any]

    @property
    def path(self) -> str:
        return f"{self.group}.{self.name}"

    def storage(self, layer: Layer) -> str:
        """Where the setting is kept in this layer: a column, or a path in a JSON column."""
        document = DOCUMENTS[layer]
        return f"{document.partition('.')[0]}.{self.name}" if self.leaf.has_column else f"{document}.{self.path}"

    def read(self, value: Json) -> Any:
        """The value as the application uses it; raises ValidationError for what the setting cannot be."""
        return self.adapter.validate_json(json.dumps(value), strict=True)

    def problem(self, value: Json) -> str | None:
        """What is wrong with the value, if anything is."""
        try:
            self.read(value)
        except ValidationError as error:
            first = error.errors()[0]["msg"]
            return first[:1].lower() + first[1:]
        return None

    def write(self, value: Any) -> Json:
        """The value as it is stored in JSON."""
        return self.adapter.dump_python(value, mode="json")


def _groups() -> Iterator[tuple[str, type[SettingsGroup]]]:
    for name, field in StorySettings.model_fields.items():
        group = field.annotation
        if not (isinstance(group, type) and issubclass(group, SettingsGroup)):
            raise TypeError(f"{name} is no group of settings")
        yield name, group


def _settings() -> Iterator[Setting]:
    config = ConfigDict(strict=True, allow_inf_nan=False)
    for group_name, group in GROUPS.items():
        for name, field in group.model_fields.items():
            leaf = next(item for item in field.metadata if isinstance(item, Leaf))
            wanted: Any = Annotated[(field.annotation, *field.metadata)]
            yield Setting(
                group=group_name,
                name=name,
                leaf=leaf,
                default=field.get_default(),
                adapter=TypeAdapter(wanted, config=config),
            )


GROUPS: Mapping[str, type[SettingsGroup]] = dict(_groups())
SETTINGS: Mapping[str, Setting] = {setting.path: setting for setting in _settings()}
"""Every setting by its path."""


@cache
def json_schema() -> JsonObject:
    """The JSON Schema of all settings; `x-storage` says where each is kept, `x-ui` how it is shown."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of a story",
        "version": VERSION,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: _group_schema(name, group, (index + 1) * _ORDER_STEP)
            for index, (name, group) in enumerate(GROUPS.items())
        },
    }


@cache
def schema_etag() -> str:
    """Changes whenever the schema does."""
    text = json.dumps(json_schema(), sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _group_schema(name: str, group: type[SettingsGroup], order: int) -> JsonObject:
    schema = group.model_json_schema()
    fields = group.model_fields
    return {
        "title": group.look.label,
        "description": schema["description"],
        "type": "object",
        "additionalProperties": False,
        "x-ui": {"label": group.look.label, "tab": group.look.tab, "order": order},
        "properties": {
            key: {**described, **_leaf_schema(SETTINGS[f"{name}.{key}"], fields[key], (index + 1) * _ORDER_STEP)}
            for index, (key, described) in enumerate(schema["properties"].items())
        },
    }


def _leaf_schema(setting: Setting, field: FieldInfo, order: int) -> JsonObject:
    leaf = setting.leaf
    look = GROUPS[setting.group].look
    ui: dict[str, Json] = {
        "label": leaf.label,
        "control": leaf.control,
        "group": setting.group,
        "order": order,
        "tab": look.tab,
        "quick": leaf.quick,
    }
    span = _range(field, leaf)
    for key, value in {
        "range": span or None,
        "rows": leaf.rows,
        "enumLabels": dict(leaf.labels) or None,
        "options": list(leaf.refers_to) or None,
        "visibleWhen": None if leaf.visible_when is None else leaf.visible_when.to_json(),
    }.items():
        if value is not None:
            ui[key] = value
    return {
        "title": leaf.label,
        "x-storage": {layer: setting.storage(layer) for layer in leaf.layers},
        "x-ui": ui,
    }


def _range(field: FieldInfo, leaf: Leaf) -> dict[str, Json]:
    span: dict[str, Json] = {}
    for limit in field.metadata:
        if isinstance(limit, Ge):
            span["min"] = limit.ge
        elif isinstance(limit, Le):
            span["max"] = limit.le
    if leaf.step is not None:
        span["step"] = leaf.step
    return span
