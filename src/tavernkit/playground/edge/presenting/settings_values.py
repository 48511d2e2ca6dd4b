"""Settings as people see and type them: texts in controls, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Generic, TypeVar

import msgspec

from tavernkit.playground.edge.web.forms import one_newline
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings_schema.leaf import Layer
from tavernkit.playground.story.settings_schema.pack import SETTINGS, Setting, json_schema
from tavernkit.values import Json, JsonObject, Value

_Item = TypeVar("_Item")

NOT_A_NUMBER = "not a number"
"""Stands for a number that nobody can read, and that no setting takes."""


class _Kind(Value, frozen=True, kw_only=True):
    type: str = ""


class _Range(Value, frozen=True, kw_only=True):
    min: float | int | None = None
    max: float | int | None = None
    step: float | int | None = None


class _Look(Value, frozen=True, kw_only=True):
    range: _Range = _Range()


class SettingSchema(_Kind, frozen=True, kw_only=True):
    """What the schema says about one setting."""

    description: str = ""
    any_of: tuple[_Kind, ...] = msgspec.field(default=(), name="anyOf")
    look: _Look = msgspec.field(name="x-ui")

    @property
    def is_nullable(self) -> bool:
        """Whether the setting can be left to the preset, the card or the provider."""
        return any(kind.type == "null" for kind in self.any_of)

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole ones."""
        return any(kind.type == "integer" for kind in (self, *self.any_of))


class _Properties(Value, Generic[_Item], frozen=True, kw_only=True):
    properties: dict[str, _Item]


@cache
def _schemas() -> _Properties[_Properties[SettingSchema]]:
    return msgspec.convert(json_schema(), _Properties[_Properties[SettingSchema]])


def schema_of(setting: Setting) -> SettingSchema:
    return _schemas().properties[setting.group].properties[setting.name]


def control_text(value: Json) -> str:
    """A value as it stands in its control; nothing at all for null."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case list():
            return "\n".join(str(item) for item in value)
        case _:
            return str(value)


def typed_changes(form: Mapping[str, str], shown: list[str], layer: Layer, seen: SettingsOut) -> JsonObject:
    """A patch out of the fields of a form, of those that say something else than what is there."""
    patch: dict[str, dict[str, Json]] = {}
    for path in shown:
        setting = SETTINGS.get(path)
        if setting is None or layer not in setting.leaf.layers:
            continue
        value = _value(setting, form.get(path, ""))
        own = seen.own.get(setting.group, {}).get(setting.name)
        there = own if schema_of(setting).is_nullable else seen.effective[setting.group][setting.name].value
        if value != there:
            patch.setdefault(setting.group, {})[setting.name] = value
    return patch


def _value(setting: Setting, text: str) -> Json:
    text = one_newline(text)
    match setting.leaf.control:
        case "toggle":
            return text == "true"
        case "number" | "slider":
            return _number(text, whole=schema_of(setting).is_whole)
        case "tags":
            return [line for line in text.split("\n") if line] or None
        case _:
            return text if text or not schema_of(setting).is_nullable else None


def _number(text: str, *, whole: bool) -> Json:
    if not text.strip():
        return None
    try:
        number: Json = json.loads(text)
    except ValueError:
        return NOT_A_NUMBER
    if isinstance(number, bool) or not isinstance(number, int | float):
        return NOT_A_NUMBER
    return int(number) if whole and number == int(number) else number
