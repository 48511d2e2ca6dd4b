"""The schema of all settings: what it says about each, and that somebody reads each."""

import importlib
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS
from tavernkit.playground.story.settings_schema.models import LAYERS
from tavernkit.playground.story.settings_schema.resolving import GROUPS, SETTINGS, Setting, json_schema, schema_etag
from tavernkit.sillytavern.story import AuthorsNote
from tavernkit.sillytavern.world_info import SHIPPED_SETTINGS
from tests.playground.settings.readers import READ_BY

TABLES: dict[str, Any] = {"space": Space, "membership": SpaceMembership, "conversation": Conversation}
EVERY = sorted(SETTINGS)


def _leaf(path: str) -> dict[str, Any]:
    group, name = path.split(".")
    found: dict[str, Any] = json_schema()["properties"][group]["properties"][name]
    return found


def test_the_schema_is_one_and_its_tag_is_that_of_its_content() -> None:
    assert jsonschema_rs.meta.is_valid(dict(json_schema()))
    assert json_schema()["properties"].keys() == GROUPS.keys()
    assert schema_etag().startswith('"')
    assert schema_etag() == schema_etag()


@pytest.mark.parametrize("path", EVERY)
def test_each_setting_says_what_it_is_and_how_it_is_shown(path: str) -> None:
    leaf = _leaf(path)
    assert leaf["description"].endswith(".")
    ui = leaf["x-ui"]
    assert {"label", "control", "group", "order", "tab", "quick"} <= ui.keys()
    if ui["control"] == "slider":
        assert {"min", "max", "step"} <= ui["range"].keys()
    if ui["control"] == "select":
        assert "options" in ui or set(ui["enumLabels"]) == set(leaf["enum"])


@pytest.mark.parametrize("path", EVERY)
def test_each_setting_is_stored_where_there_is_a_column(path: str) -> None:
    storage = _leaf(path)["x-storage"]
    assert list(storage) == [layer for layer in LAYERS if layer in storage]
    for place in storage.values():
        table, column, *inside = place.split(".")
        assert column in TABLES[table].__table__.columns
        assert ".".join(inside) in ("", path)


@pytest.mark.parametrize("path", EVERY)
def test_what_a_setting_depends_on_is_there(path: str) -> None:
    condition = _leaf(path)["x-ui"].get("visibleWhen")
    if condition is None:
        return
    values = condition.get("in", [condition.get("const")])
    if "ref" in condition:
        assert all(SETTINGS[condition["ref"]].problem(value) is None for value in values)
    elif condition["context"] == "provider_kind":
        assert set(values) <= PROVIDER_KINDS.keys()
    else:
        assert (condition["context"], values) == ("is_group", [True])


def test_each_setting_that_a_kind_of_provider_shows_depends_on_the_kind() -> None:
    conditions = {path.split(".")[1]: _leaf(path)["x-ui"].get("visibleWhen", {}) for path in EVERY}
    for kind in PROVIDER_KINDS.values():
        for name in kind.settings:
            assert kind.id in conditions[name]["in"]


def test_each_setting_has_a_reader() -> None:
    assert READ_BY.keys() == SETTINGS.keys()
    for reader in READ_BY.values():
        module, _, function = reader.partition(":")
        assert callable(vars(importlib.import_module(module))[function])


def test_every_setting_of_the_space_in_the_contract_is_there() -> None:
    stored = {place for path in EVERY for place in _leaf(path)["x-storage"].values()}
    columns = (
        "reply_order card_handling_mode allow_self_responses auto_mode_enabled auto_mode_delay_ms "
        "during_generation_user_input_policy user_turn_debounce_ms group_regenerate_mode"
    )
    assert {f"space.{column}" for column in columns.split()} <= stored


def test_the_defaults_are_those_of_a_fresh_sillytavern_and_of_the_columns() -> None:
    for name in ("depth", "budget_percent", "budget_cap", "include_names", "recursive", "max_recursion_steps",
                 "case_sensitive", "match_whole_words", "use_group_scoring", "min_activations"):  # fmt: skip
        assert SETTINGS[f"world_info.{name}"].default == vars_of(SHIPPED_SETTINGS)[name]
    for name in ("text", "position", "depth", "role", "interval", "scan"):
        assert SETTINGS[f"authors_note.{name}"].default == vars_of(AuthorsNote())[name]
    for setting in SETTINGS.values():
        column = setting.name if setting.leaf.has_column and "space" in setting.leaf.layers else None
        default = None if column is None else Space.__table__.columns[column].default
        if default is not None:
            assert default.arg == setting.default


def vars_of(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


@given(
    setting=st.sampled_from([SETTINGS[path] for path in EVERY]),
    value=st.none()
    | st.booleans()
    | st.integers(-10, 10_000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["natural", "chat", "system", "auto", "queue"])
    | st.uuids().map(str)
    | st.lists(st.text(max_size=3), max_size=3),
)
def test_models_and_schema_agree_on_every_value(setting: Setting, value: Any) -> None:
    accepted = jsonschema_rs.validator_for(_leaf(setting.path), validate_formats=True).is_valid(value)
    if isinstance(value, float) and value.is_integer():
        # JSON Schema takes 1.0 for an integer; the models do not.
        return
    assert (setting.problem(value) is None) == accepted


@given(setting=st.sampled_from([SETTINGS[path] for path in EVERY]), value=st.data())
def test_what_is_written_is_read_again(setting: Setting, value: st.DataObject) -> None:
    chosen = value.draw(st.sampled_from([setting.default, True, 1, 0.5, "chat", "natural", ["x"]]))
    if setting.problem(setting.write(chosen) if chosen is setting.default else chosen) is None:
        kept = setting.read(setting.write(chosen) if chosen is setting.default else chosen)
        assert setting.read(setting.write(kept)) == kept
