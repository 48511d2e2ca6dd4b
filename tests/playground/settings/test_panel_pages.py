"""The tab with the settings, and the form for browsers without scripts."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tavernkit.playground.base.languages import LANGUAGES, translated
from tavernkit.playground.story.settings.service import (
    change_conversation_settings,
    change_space_settings,
    read_conversation_settings,
    read_space_settings,
)
from tavernkit.playground.story.settings_schema.models import Layer
from tavernkit.playground.story.settings_schema.resolving import SETTINGS, json_schema
from tavernkit.playground.story.spaces.service import change_space
from tests.playground.spaces.cast import members
from tests.playground.spaces.panel import SidePanel, side_panel, words

pytestmark = pytest.mark.anyio


async def test_every_setting_of_a_layer_has_one_field_and_no_other_has(sqlite_url: str, tmp_path: Path) -> None:
    layers: tuple[Layer, ...] = ("space", "member", "conversation")
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        for layer in layers:
            html = await at.see(f"{at.panel}/settings?layer={layer}")
            paths = re.findall(r'data-path="([^"]+)"', html)
            assert sorted(paths) == sorted(
                path for path, setting in SETTINGS.items() if layer in setting.leaf.layers and setting.leaf.in_form
            )
            ids = re.findall(r'\bid="([^"]+)"', html)
            assert len(ids) == len(set(ids)), layer


async def test_settings_at_hand_come_first(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        paths = re.findall(r'data-path="([^"]+)"', await at.see(f"{at.panel}/settings?layer=space"))
    quick = [path for path, setting in SETTINGS.items() if setting.leaf.quick]
    assert paths[: len(quick)] == quick


async def test_a_setting_is_found_by_its_words_in_every_language(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        html = await at.see(f"{at.panel}/settings?layer=space")
    for path, setting in SETTINGS.items():
        if "space" in setting.leaf.layers and setting.leaf.in_form:
            found = unescape(re.findall(r'data-words="([^"]+)"', _field(html, path))[0])
            for language in LANGUAGES:
                for sentence in (setting.leaf.label, *setting.leaf.labels.values()):
                    assert translated(sentence, language).lower() in found, path


async def test_each_tab_of_the_schema_is_on_the_page_with_its_settings(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        html = await at.see(f"{at.panel}/settings?layer=space")
    panels = re.split(r'<div id="settings_(\w+)" class="setting-panel"', html)
    shown = {
        tab: set(re.findall(r'data-path="([^"]+)"', part)) for tab, part in zip(panels[1::2], panels[2::2], strict=True)
    }
    said: dict[str, set[str]] = {}
    for group in json_schema()["properties"].values():
        for leaf in group["properties"].values():
            if "space" in leaf["x-storage"]:
                path = f"{leaf['x-ui']['group']}.{leaf['x-storage']['space'].rpartition('.')[2]}"
                said.setdefault(leaf["x-ui"]["tab"], set()).add(path)
    said["prompts"].remove("prompt.modules")
    assert shown == said
    # Without scripts, nothing is behind a tab.
    assert re.search(r'role="tablist"[^>]* hidden>', html)
    assert not re.search(r'class="setting-panel"[^>]* hidden', html)


async def test_what_matters_only_in_a_group_is_hidden_elsewhere(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        assert _is_hidden(await at.see(f"{at.panel}/settings?layer=space"), "space.reply_order")
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        assert not _is_hidden(await at.see(f"{at.panel}/settings?layer=space"), "space.reply_order")


async def test_a_value_says_where_it_comes_from(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        await change_space_settings(
            at.play.runtime,
            at.play.viewer,
            at.space_id,
            settings_version=0,
            patch={"llm": {"temperature": 0.7}, "authors_note": {"depth": 9}},
        )
        space = await at.see(f"{at.panel}/settings?layer=space")
        assert 'name="llm.temperature"' in space
        assert "Changed here" in _field(space, "llm.temperature")
        here = _field(await at.see(f"{at.panel}/settings?layer=conversation"), "llm.temperature")
        assert 'placeholder="0.7"' in here
        assert "From the space" in here
        note = _field(await at.see(f"{at.panel}/settings?layer=conversation"), "authors_note.depth")
        assert 'value="9"' in note
        assert 'data-own="null"' in note


async def test_the_form_saves_only_what_was_changed(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        fields = _filled(await at.see(f"{at.panel}/settings?layer=conversation"))
        fields |= {"llm.temperature": "0.9", "authors_note.text": "It rains.\r\nHard.", "llm.stop": "END\r\nSTOP"}
        await _save(at, "conversation", fields)
        now = await read_conversation_settings(at.play.runtime, at.play.viewer, at.conversation_id)
        assert now.own == {
            "llm": {"temperature": 0.9, "stop": ["END", "STOP"]},
            "authors_note": {"text": "It rains.\nHard."},
        }
        fields = _filled(await at.see(f"{at.panel}/settings?layer=conversation"))
        assert fields["llm.stop"].split() == ["END", "STOP"]
        await _save(at, "conversation", fields | {"llm.temperature": "", "world_info.recursive": ""})
        now = await read_conversation_settings(at.play.runtime, at.play.viewer, at.conversation_id)
        assert "temperature" not in now.own["llm"]
        assert now.own["world_info"] == {"recursive": False}


async def test_what_is_refused_keeps_what_was_typed(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        fields = _filled(await at.see(f"{at.panel}/settings?layer=conversation"))
        wrong = await _save(at, "conversation", fields | {"llm.temperature": "99", "authors_note.text": "Mine"}, 422)
        assert "llm.temperature was not saved" in wrong
        assert 'value="99"' in _field(wrong, "llm.temperature")
        assert "Mine" in _field(wrong, "authors_note.text")
        await change_conversation_settings(
            at.play.runtime,
            at.play.viewer,
            at.conversation_id,
            settings_version=0,
            patch={"authors_note": {"text": "Theirs"}},
        )
        late = await _save(at, "conversation", fields | {"authors_note.text": "Mine"}, 409)
        assert "changed in the meantime" in late
        assert "Mine" in _field(late, "authors_note.text")


async def test_a_member_has_settings_of_its_own(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        [_, _, bo] = await members(at.play, at.space_id)
        html = await at.see(f"{at.panel}/settings?layer=member&member={bo.id}")
        assert f"/api/v1/members/{bo.id}/settings" in html
        fields = _filled(html) | {"llm.top_k": "12"}
        answer = await at.client.post(f"{at.panel}/settings?layer=member&member={bo.id}", data=fields)
        assert answer.status_code == 303, answer.text
        assert [row.settings for row in await members(at.play, at.space_id)][1:] == [{}, {"llm": {"top_k": 12}}]
        await at.see(f"{at.panel}/settings?layer=member&member={at.space_id}", status=404)


async def test_who_may_only_look_gets_no_way_to_change(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        await change_space(at.play.runtime, at.play.viewer, at.space_id, settings_version=0, archived=True)
        html = await at.see(f"{at.panel}/settings?layer=space")
        assert "You can view these settings, but not change them." in words(html)
        assert 'data-settings-form-target="save"' not in html
        assert html.count('data-part="control"') == len(
            re.findall(r' disabled(?: required)? data-part="control"', html)
        )


async def test_settings_read_like_those_of_the_api(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        html = await at.see(f"{at.panel}/settings?layer=space")
        api = await read_space_settings(at.play.runtime, at.play.viewer, at.space_id)
        own = [json.loads(unescape(value)) for value in re.findall(r'data-own="([^"]+)"', html)]
        assert set(own) == {None}
        assert f'data-settings-form-version-value="{api.settings_version}"' in html


async def _save(at: SidePanel, layer: Layer, fields: dict[str, str], status: int = 303) -> str:
    shown = [path for path, setting in SETTINGS.items() if layer in setting.leaf.layers]
    answer = await at.client.post(f"{at.panel}/settings?layer={layer}", data={**fields, "shown": shown})
    assert answer.status_code == status, answer.text
    return answer.text


def _field(html: str, path: str) -> str:
    """The part of the page that is about one setting."""
    return html.partition(f'data-path="{path}"')[2].partition("data-path=")[0]


def _is_hidden(html: str, path: str) -> bool:
    return _field(html, path).partition(">")[0].rstrip().endswith("hidden")


def _filled(html: str) -> dict[str, str]:
    """What a browser would send for the form."""
    fields = {}
    for path, setting in SETTINGS.items():
        part = _field(html, path)
        if not part:
            continue
        match setting.leaf.control:
            case "toggle":
                if re.search(r'value="true" checked', part):
                    fields[path] = "true"
            case "select":
                chosen = re.search(r'<option value="([^"]*)" selected', part)
                fields[path] = chosen[1] if chosen else ""
            case "textarea" | "tags":
                text = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", part, re.DOTALL)
                fields[path] = unescape(text[1]) if text else ""
            case _:
                value = re.search(rf'name="{path}"[^>]*? value="([^"]*)"', part)
                fields[path] = unescape(value[1]) if value else ""
    version = re.search(r'name="settings_version" value="(\d+)"', html)
    return {**fields, "settings_version": version[1] if version else "", "shown": "llm.top_k"}
