"""The settings one by one, each under its path, as they are stored, checked and shown.

Which value of a setting counts, and where it comes from, is decided here alone: layers are laid over each other. A
patch is checked whole before any of it is applied.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.settings_schema.models import (
    DOCUMENTS,
    LAYERS,
    Layer,
    Leaf,
    SettingsGroup,
    Source,
    StorySettings,
)
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
            leaf = leaf.completed(name, field.annotation, group.look)
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


def descriptions() -> Iterator[str]:
    """What is said of each group and each setting: sentences of the interface that are not marked where they stand."""
    for group in GROUPS.values():
        yield inspect.cleandoc(group.__doc__ or "")
        yield from (field.description for field in group.model_fields.values() if field.description)


@cache
def json_schema() -> JsonObject:
    """The JSON Schema of all settings, in English; `x-storage` says where each is kept, `x-ui` how it is shown."""
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
        "title": str(group.look.label),
        "description": schema["description"],
        "type": "object",
        "additionalProperties": False,
        "x-ui": {"label": str(group.look.label), "tab": group.look.tab, "order": order},
        "properties": {
            key: {**described, **_leaf_schema(SETTINGS[f"{name}.{key}"], fields[key], (index + 1) * _ORDER_STEP)}
            for index, (key, described) in enumerate(schema["properties"].items())
        },
    }


def _leaf_schema(setting: Setting, field: FieldInfo, order: int) -> JsonObject:
    leaf = setting.leaf
    look = GROUPS[setting.group].look
    ui: dict[str, Json] = {
        "label": str(leaf.label),
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
        "enumLabels": {key: str(label) for key, label in leaf.labels.items()} or None,
        "options": list(leaf.refers_to) or None,
        "visibleWhen": None if leaf.visible_when is None else leaf.visible_when.to_json(),
    }.items():
        if value is not None:
            ui[key] = value
    return {
        "title": str(leaf.label),
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


def read_patch(patch: JsonObject, layer: Layer | None) -> Changes:
    """Check a merge patch for a layer, or for any: groups of settings, in which null takes a setting back; so does null
    for a group."""
    changes: dict[str, Any] = {}
    for group, content in patch.items():
        if group not in GROUPS:
            raise _refused(group, _("the group does not exist"))
        if content is None:
            own = (setting for setting in SETTINGS.values() if setting.group == group)
            changes.update({setting.path: None for setting in own if layer is None or layer in setting.leaf.layers})
            continue
        if not isinstance(content, dict):
            raise _refused(group, _("a group of settings must be an object"))
        for name, value in content.items():
            path = f"{group}.{name}"
            setting = SETTINGS.get(path)
            if setting is None:
                raise _refused(path, _("the setting does not exist"))
            if layer is not None and layer not in setting.leaf.layers:
                layers = ", ".join(setting.leaf.layers)
                raise _refused(path, _("it can be set for: {layers}", layers=layers))
            cleaned = _cleaned(value)
            problem = None if cleaned is None else setting.problem(cleaned)
            if problem is not None:
                raise _refused(path, problem)
            changes[path] = None if cleaned is None else setting.read(cleaned)
    return changes


def changed_settings(settings: StorySettings, changes: Changes) -> StorySettings:
    """The settings with checked changes, which are stored nowhere; None is the default."""
    values = settings.model_dump()
    for path, value in changes.items():
        setting = SETTINGS[path]
        values[setting.group][setting.name] = setting.default if value is None else value
    return StorySettings.model_validate(values)


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


def _cleaned(value: Json) -> Json:
    """NUL is nothing that a person can have meant."""
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _refused(path: str, why: str) -> Refused:
    path = titled(path, "“”")
    return Refused("invalid", _("The setting {path} was not saved: {reason}.", path=path, reason=why))
