"""Whatever a template says, reading and rendering it ends, and ends in a text or in an error of ours."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import json_objects, json_values, texts

from tavernkit.artifacts.liquid import LiquidLimits, LiquidTemplate
from tavernkit.artifacts.liquid.filters import FILTERS
from tavernkit.errors import LiquidError, LiquidLimitError

SMALL = LiquidLimits(loops=50, steps=2_000, output=2_000, memory=20_000)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def render(source: str, limits: LiquidLimits = LiquidLimits(), **values: Any) -> str:  # noqa: B008 - a frozen value
    clock = datetime(2026, 3, 14, tzinfo=UTC)
    return LiquidTemplate.parse(source).render(values, clock=lambda: clock, random=lambda: 0.5, limits=limits)


@pytest.mark.parametrize(
    "source",
    [
        "x" * 100_001,
        "{% if 1 %}" * 51 + "{% endif %}" * 51,
        "{% liquid\n" + "if 1\n" * 60 + "endif\n" * 60 + "%}",
        "{{ a" + "[a" * 5_000 + "]" * 5_000 + " }}",
    ],
    ids=["long", "deep", "deep lines", "deep path"],
)
def test_a_template_may_be_too_much_to_read(source: str) -> None:
    with pytest.raises(LiquidLimitError):
        LiquidTemplate.parse(source)


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        ("{% for i in (1..51) %}{% endfor %}", "loops"),
        ("{% for i in (1..10) %}{% for j in (1..10) %}{% endfor %}{% endfor %}", "loops"),
        ("{% tablerow i in (1..51) %}{% endtablerow %}", "loops"),
        ("{% for i in (1..40) %}" + "{{ i | plus: 1 }}" * 40 + "{% endfor %}", "steps"),
        ("{{ (1..5000) | sort | size }}", "steps"),
        ("{{ text }}{{ text }}{{ text }}", "longer than"),
        (
            "{% assign a = text %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}",
            "characters and items",
        ),
        (
            "{% assign a = text | split: '' %}{% for i in (1..40) %}{% assign a = a | push: a %}{% endfor %}{{ a }}",
            "items",
        ),
        ("{% for i in (1..99999999999) %}{% endfor %}", "a range"),
        ("{{ deep | json }}", "nested too deeply"),
        ("{{ deep }}", "nested too deeply"),
    ],
)
def test_a_rendering_may_cost_too_much(source: str, limit: str) -> None:
    with pytest.raises(LiquidLimitError, match=limit):
        render(source, SMALL.with_(memory=2_000_000) if "deep" in source else SMALL, text="x" * 900, deep=nested(3_000))


def test_a_list_in_itself_many_times_over_costs_too_much() -> None:
    grow = "{% assign a = '1' | split: '' %}{% for i in (1..40) %}{% assign a = a | push: a %}{% endfor %}"
    for use in ("{{ a }}", "{{ a | json }}", "{{ a | join }}", "{{ a | plus: 1 }}"):
        with pytest.raises(LiquidLimitError):
            render(grow + use, SMALL)
    other = grow.replace(" a ", " b ")
    with pytest.raises(LiquidLimitError):
        render(grow + other + "{% if a == b %}{% endif %}", SMALL)


NAMES = st.sampled_from(
    ["a", "b.c", "list", "list[0]", "b['c']", "missing", "nil", "blank", "1.5", "-2", "'x y'", "(1..3)"]
)
OPERATORS = st.sampled_from(["==", "!=", "<", ">=", "contains", "and", "or", "not", "|", ":", ",", ".."])
ARGUMENTS = st.lists(NAMES, max_size=3).map(", ".join)
CALLS = st.tuples(NAMES, st.sampled_from(sorted(FILTERS)), ARGUMENTS).map(lambda parts: "{} | {}: {}".format(*parts))
EXPRESSIONS = CALLS | st.lists(NAMES | OPERATORS, max_size=5).map(" ".join)
OUTPUTS = EXPRESSIONS.map(lambda expression: f"{{{{ {expression} }}}}")
TAG_NAMES = """
    if elsif else endif unless endunless case when endcase for endfor tablerow endtablerow assign capture endcapture
    increment cycle break continue echo liquid raw endraw comment endcomment # render include layout block endblock
"""
TAGS = st.tuples(
    st.sampled_from([*TAG_NAMES.split(), "for x in", "assign x ="]),
    EXPRESSIONS,
).map(lambda parts: "{{% {} {} %}}".format(*parts))
BLOCKS = st.recursive(
    st.lists(OUTPUTS | texts, max_size=3).map("".join),
    lambda inner: (
        st.builds("{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format, EXPRESSIONS, inner, inner)
        | st.builds("{{% for x in {} %}}{}{{% endfor %}}".format, NAMES, inner)
        | st.builds("{{% capture a %}}{}{{% endcapture %}}".format, inner)
    ),
    max_leaves=5,
)
SOURCES = st.lists(texts | OUTPUTS | TAGS | st.sampled_from(["{{", "}}", "{%", "%}", "-", "'"]), max_size=8).map(
    "".join
)
VALUES = st.fixed_dictionaries({"a": json_values, "b": json_objects, "list": st.lists(json_values, max_size=4)})


@given(SOURCES | BLOCKS, VALUES)
def test_any_text_is_a_template_or_a_sentence(source: str, values: dict[str, Any]) -> None:
    with suppress(LiquidError):
        text = render(source, SMALL, **values)
        text.encode()
        assert len(text) <= SMALL.output


@given(
    st.sampled_from(sorted(FILTERS)),
    json_values | st.sampled_from([math.nan, math.inf, -math.inf, 10**400]),
    st.lists(json_values | st.sampled_from([math.nan, math.inf, -(10**400), "1e400", "%Y"]), max_size=3),
)
def test_every_filter_takes_every_value(name: str, value: Any, arguments: list[Any]) -> None:
    given_names = {f"v{place}": argument for place, argument in enumerate(arguments)}
    with suppress(LiquidError):
        render(f"{{{{ value | {name}: {', '.join(given_names)} }}}}", SMALL, value=value, **given_names)


@given(BLOCKS, VALUES)
def test_the_same_of_everything_gives_the_same_text(source: str, values: dict[str, Any]) -> None:
    def outcome() -> str:
        try:
            return render(source, SMALL, **values)
        except LiquidError as error:
            return str(error)

    assert outcome() == outcome()
