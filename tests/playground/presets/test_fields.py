"""Every field of every kind of preset is on a page, and survives from the page into the file and back."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from html import unescape
from pathlib import Path
from typing import Any, get_args

import httpx2
import msgspec
import pytest

from tavernkit.playground.edge.views.preset_fields import FieldGroup, PresetField, field_groups
from tavernkit.playground.edge.views.preset_looks import CARD_FIELDS, ELSEWHERE
from tavernkit.playground.edge.views.preset_parts import TRIGGERS
from tavernkit.playground.story.presets.blank import blank_preset
from tavernkit.playground.story.presets.queries import KINDS
from tavernkit.prompt.context import GenerationType
from tavernkit.risuai.settings import PromptCard, RisuSettings, TemplateSettings
from tavernkit.risuai.stored import spelling_of
from tavernkit.risuai.template.cards import KNOWN_CARDS
from tavernkit.sillytavern.presets import MasterExport, PresetPrompt
from tavernkit.sillytavern.presets.fields import PresetFile
from tests.playground.accounts.installation import open_installation

pytestmark = pytest.mark.anyio

BOX = re.compile(r'<(?:input|textarea|select)[^>]* name="([^"]+)"')
NAMED = frozenset({"name"})
"""What a part of a master export has, and a preset of its own shows as the name of the preset."""
UNSTORED = {"lore_is_recursive", "lore_full_words"}
"""Settings of RisuAI that are in no preset file."""


@pytest.fixture
async def browser(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation.browser()


def fields_of(model: type[PresetFile]) -> list[str]:
    own = [field.name for field in msgspec.structs.fields(model) if field.name not in ("unknown", "spelling")]
    return [name for name in own if name not in ELSEWHERE.get(model, ())]


def parts_of(model: type[MasterExport]) -> Iterator[tuple[str, type[PresetFile]]]:
    for field in msgspec.structs.fields(model):
        if field.name not in ("unknown", "spelling"):
            yield field.name, get_args(field.type)[0]


def expected(kind: str) -> set[str]:
    """Where the fields of the models stand in the file."""
    if kind == "risuai":
        settings = spelling_of(RisuSettings)
        assert {field.name for field in msgspec.structs.fields(RisuSettings)} - {*settings, "written"} == UNSTORED
        nested = {f"promptSettings.{name}" for name in spelling_of(TemplateSettings).values()}
        return {*settings.values(), *nested} - ELSEWHERE[RisuSettings]
    model = KINDS[kind]
    if issubclass(model, MasterExport):
        names = {
            part: {*fields_of(inner), *NAMED.intersection(inner.__struct_fields__)} for part, inner in parts_of(model)
        }
        return {f"{part}.{name}" for part in names for name in names[part]}
    # The name is that of the preset.
    return {name for name in fields_of(model) if name != "name"}


def other_value(field: PresetField) -> str:
    """Something else than the box says, which it takes."""
    if field.choices:
        return next(key for key in field.choices if key != field.value)
    match field.control:
        case "check":
            return "" if field.value else "on"
        case "number":
            least, most = (0 if field.least is None else field.least), (10 if field.most is None else field.most)
            fitting = [text for text in ("1", "0.25", "2") if least <= float(text) <= most]
            return next(text for text in fitting if text != field.value and (field.type == "number" or "." not in text))
        case "json":
            return {"list": '[{"text": "a"}]', "object": '{"a": [1]}'}.get(field.type, '{"b": null}')
        case "lines":
            return "first\nsecond"
        case _:
            return f"{field.value}\n{{{{char}}}} “ü”" if field.control == "area" else "other"


@pytest.mark.parametrize("kind", [*KINDS, "risuai"])
async def test_every_field_is_reachable_and_survives_export_and_import(browser: httpx2.AsyncClient, kind: str) -> None:
    made = await browser.post("/presets", data={"name": "Mine", "kind": kind})
    address = made.headers["location"]
    page = (await browser.get(address)).text
    assert expected(kind) <= {unescape(name) for name in BOX.findall(page)}

    form = {
        field.name: other_value(field)
        for group in field_groups(kind, blank_preset(kind))
        for field in group.fields
        if not (kind == "risuai" and field.name == "regex")
    }
    saved = await browser.post(address, data={"settings_version": "0", "name": "Changed", **form})
    assert saved.status_code == 303, re.findall(r"<p>(.*)</p>", saved.text)
    typed = boxes(await stored(browser, address), kind)
    assert {name: typed[name] for name in form} == {name: json_of(value) for name, value in form.items()}

    file = (await browser.get(f"/api/v1{address}/export")).content
    again = await browser.post("/presets/import", files={"file": ("again", file)})
    copy = again.headers["location"]
    assert boxes(await stored(browser, copy), kind) == typed
    assert (await browser.get(copy)).status_code == 200


async def stored(browser: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    data: dict[str, Any] = (await browser.get(f"/api/v1{address}")).json()["data"]
    return data


def boxes(data: dict[str, Any], kind: str) -> dict[str, str]:
    groups: tuple[FieldGroup, ...] = field_groups(kind, data)
    return {field.name: field.value for group in groups for field in group.fields}


def json_of(value: str) -> str:
    """How a box shows JSON that was typed in another way."""
    try:
        return json.dumps(json.loads(value), ensure_ascii=False, indent=2)
    except ValueError:
        return value


async def test_every_field_of_a_prompt_is_reachable_and_survives(browser: httpx2.AsyncClient) -> None:
    address = (await browser.post("/presets", data={"name": "Mine", "kind": "chat"})).headers["location"]
    await browser.post(f"{address}/prompts", data={"settings_version": "0", "identifier": "own", "name": "Own"})
    page = (await browser.get(f"{address}/prompts/edit?identifier=own")).text
    shown = {unescape(name) for name in BOX.findall(page)}
    assert {*fields_of(PresetPrompt), "identifier", *(f"trigger_{name}" for name in TRIGGERS)} <= shown
    assert set(TRIGGERS) == set(get_args(GenerationType))

    form = {
        "settings_version": "1",
        "identifier": "own",
        "name": "Weather",
        "role": "assistant",
        "content": "It rains.\nStill.",
        "injection_position": "1",
        "injection_depth": "7",
        "injection_order": "-3",
        "forbid_overrides": "on",
        "trigger_continue": "on",
        "trigger_swipe": "on",
        "extension": "on",
        "enabled": "off",
        "state": "off",
        "…": '{"colour": "blue"}',
    }
    assert (await browser.post(f"{address}/prompts/edit", data=form)).status_code == 303
    file = (await browser.get(f"/api/v1{address}/export")).content
    copy = (await browser.post("/presets/import", files={"file": ("again.json", file)})).headers["location"]
    data = await stored(browser, copy)
    assert next(prompt for prompt in data["prompts"] if prompt["identifier"] == "own") == {
        "identifier": "own",
        "name": "Weather",
        "role": "assistant",
        "content": "It rains.\nStill.",
        "system_prompt": False,
        "marker": False,
        "enabled": False,
        "injection_position": 1,
        "injection_depth": 7,
        "injection_order": -3,
        "injection_trigger": ["continue", "swipe"],
        "forbid_overrides": True,
        "extension": True,
        "colour": "blue",
    }
    assert data["prompt_order"][0]["order"][-1] == {"identifier": "own", "enabled": False}


@pytest.mark.parametrize("type", KNOWN_CARDS)
async def test_every_field_of_a_card_is_reachable_and_survives(browser: httpx2.AsyncClient, type: str) -> None:
    address = (await browser.post("/presets", data={"name": "Mine", "kind": "risuai"})).headers["location"]
    card = (await browser.post(f"{address}/cards", data={"settings_version": "0", "type": type})).headers["location"]
    shown = {unescape(name) for name in BOX.findall((await browser.get(card)).text)}
    assert {*spelling_of(PromptCard).values(), *CARD_FIELDS[type]} <= shown
    given = {
        "name": "Mine",
        "text": "Write.\nSlowly.",
        "type2": "main",
        "role": "bot",
        "innerFormat": "<{{slot}}>",
        "defaultText": "None.",
        "rangeStart": "-4",
        "rangeEnd": "9",
        "chatAsOriginalOnSystem": "on",
        "depth": "2",
    }
    assert (await browser.post(card, data={"settings_version": "1", **given})).status_code == 303
    file = (await browser.get(f"/api/v1{address}/export")).content
    copy = (await browser.post("/presets/import", files={"file": ("again.risup", file)})).headers["location"]
    written = (await stored(browser, copy))["promptTemplate"][-1]
    numbers = {"rangeStart": -4, "rangeEnd": 9, "depth": 2, "chatAsOriginalOnSystem": True}
    assert written == {"type": type, **given, **numbers}
