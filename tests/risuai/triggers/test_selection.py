"""Which triggers run, and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.risuai.triggers.builders import effect, scene, set_, trigger

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.module import read_module
from tavernkit.risuai.triggers import TriggerOutcome, run_triggers


def test_those_of_the_mode_run_in_their_order() -> None:
    story = scene(trigger(set_("a", "1")), trigger(set_("b", "1"), type="output"), trigger(set_("a", "2")))
    assert run_triggers(story, "start").variables == {"a": "2"}
    assert run_triggers(story, "output").variables == {"b": "1"}


def test_a_name_chooses_from_every_mode() -> None:
    story = scene(
        trigger(set_("a", "1"), name="man", type="manual"),
        trigger(set_("b", "{{trigger_id}}"), name="man"),
        trigger(set_("c", "1"), name="other", type="manual"),
    )
    assert run_triggers(story, "manual", manual_name="man", trigger_id="btn").variables == {"a": "1", "b": "btn"}


def test_modules_come_after_the_character() -> None:
    story = scene(trigger(set_("a", "first")))
    module = {"name": "m", "id": "m", "trigger": [trigger(set_("a", "{{getvar::a}} then module"))]}
    story.modules = [read_module(LooseObject(module, ReportBuilder()))]
    assert run_triggers(story, "start").variables == {"a": "first then module"}


def test_without_triggers_there_is_nothing_to_run() -> None:
    assert run_triggers(scene(), "start").outcome is TriggerOutcome.NO_TRIGGERS


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"type": "var", "var": "n", "operator": "=", "value": "5"}, True),
        ({"type": "var", "var": "n", "operator": "=", "value": "5.0"}, False),
        ({"type": "var", "var": "n", "operator": ">", "value": "not a number"}, True),
        ({"type": "var", "var": "none", "operator": "null", "value": ""}, True),
        ({"type": "value", "var": "{{getvar::n}}", "operator": "=", "value": "{{? 2+3}}"}, True),
        ({"type": "value", "operator": "=", "value": ""}, False),
        ({"type": "chatindex", "operator": ">=", "value": "3"}, True),
        ({"type": "exists", "type2": "strict", "value": "thr", "depth": 1}, False),
        ({"type": "exists", "type2": "loose", "value": "THR", "depth": 1}, True),
        ({"type": "exists", "type2": "loose", "value": "one", "depth": 1}, False),
        ({"type": "exists", "type2": "regex", "value": "^one two", "depth": 0}, True),
    ],
)
def test_conditions(condition: dict[str, Any], holds: bool) -> None:
    story = scene(trigger(set_("hit", "1"), conditions=[condition]), variables={"n": "5"})
    assert ("hit" in run_triggers(story, "start").variables) is holds


def test_a_display_has_variables_of_its_own_and_harmless_effects_only() -> None:
    story = scene(
        trigger(
            set_("seen", "1"),
            effect("Impersonate", role="user", value="no"),
            effect("SetDisplayState", value="shown {{getvar::seen}}"),
            type="display",
        )
    )
    result = run_triggers(story, "display", display_data="text", temporary={"old": "1"})
    assert result.display_data == "shown null"
    assert result.temporary == {"old": "1", "seen": "1"}
    assert result.variables == {}
    assert len(result.messages) == 3


def test_a_request_is_changed_as_json() -> None:
    story = scene(
        trigger(
            effect("SetRequestState", index="0", value="new"),
            effect("SetRequestStateRole", index="0", value="nobody"),
            type="request",
        )
    )
    result = run_triggers(story, "request", display_data='[{"role":"system","content":"old"}]')
    assert result.display_data == '[{"role":"system","content":"new"}]'


def test_what_is_for_displays_ends_any_other_run() -> None:
    result = run_triggers(scene(trigger(set_("a", "1"), effect("GetDisplayState", outputVar="b"))), "start")
    assert result.outcome is TriggerOutcome.RETURNED
    assert result.variables == {"a": "1"}
