"""The text that lists a preset's switches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.toggles import Toggle, parse_toggles


@pytest.mark.parametrize(
    ("line", "toggle"),
    [
        ("k=Label", Toggle(key="k", label="Label", type="switch")),
        ("k=Label=select=a,b,c", Toggle(key="k", label="Label", type="select", options=("a", "b", "c"))),
        ("k=Label=select=", Toggle(key="k", label="Label", type="select", options=("",))),
        ("k=Label=text", Toggle(key="k", label="Label", type="text")),
        ("k=Label=other=a=b", Toggle(key="k", label="Label", type="switch", options=("a",))),
        ("==divider", Toggle(key="", label="", type="divider")),
        ("=Looks=group", Toggle(key="", label="Looks", type="group")),
        ("==groupEnd=x", Toggle(key="", label="", type="groupEnd")),
    ],
)
def test_a_line(line, toggle):
    assert parse_toggles(line) == (toggle,)


@pytest.mark.parametrize("line", ["", "k", "=Label", "k=", "k==text", "divider"])
def test_a_line_without_key_or_label_is_passed_over(line):
    assert parse_toggles(line) == ()


def test_lines_stay_in_order():
    found = parse_toggles("=Looks=group\nhat=Hat\n==groupEnd\n\nmood=Mood=select=glad,sad")
    assert [toggle.type for toggle in found] == ["group", "switch", "groupEnd", "select"]


@given(text=st.text(st.sampled_from("k=,\ngroupEndtext")))
def test_any_text_is_read(text):
    assert len(parse_toggles(text)) <= text.count("\n") + 1
