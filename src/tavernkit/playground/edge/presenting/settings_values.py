"""Settings as people see and type them: texts in controls, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tavernkit.playground.edge.web.forms import one_newline
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings_schema.models import Layer
from tavernkit.playground.story.settings_schema.resolving import SETTINGS, Setting, json_schema
from tavernkit.values import Json, JsonObject

NOT_A_NUMBER = "not a number"
"""Stands for a number that nobody can read, and that no setting takes."""


def schema_of(setting: Setting) -> JsonObject:
    """What the schema says about one setting."""
    groups: dict[str, Any] = json_schema()["properties"]
    described: JsonObject = groups[setting.group]["properties"][setting.name]
    return described


def is_nullable(setting: Setting) -> bool:
    """Whether the setting can be left to the preset, the card or the provider."""
    return any(kind.get("type") == "null" for kind in schema_of(setting).get("anyOf", ()))


def is_whole(setting: Setting) -> bool:
    """Whether its numbers are whole ones."""
    schema = schema_of(setting)
    return "integer" in (schema.get("type"), *(kind.get("type") for kind in schema.get("anyOf", ())))


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
        there = own if is_nullable(setting) else seen.effective[setting.group][setting.name].value
        if value != there:
            patch.setdefault(setting.group, {})[setting.name] = value
    return patch


def _value(setting: Setting, text: str) -> Json:
    text = one_newline(text)
    match setting.leaf.control:
        case "toggle":
            return text == "true"
        case "number" | "slider":
            return _number(text, whole=is_whole(setting))
        case "tags":
            return [line for line in text.split("\n") if line] or None
        case _:
            return text if text or not is_nullable(setting) else None


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
