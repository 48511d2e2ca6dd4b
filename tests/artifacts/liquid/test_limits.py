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
from tavernkit.errors import LiquidError, LiquidLimitError
from tavernkit.text.js_regex import compile_regex

pytestmark = pytest.mark.slow

SMALL = LiquidLimits(steps=2_000, output=2_000, memory=20_000)
FILTER_NAMES = """
    abs append array_to_sentence_string at_least at_most base64_decode base64_encode capitalize ceil cgi_escape compact
    concat date date_to_long_string date_to_rfc822 date_to_string date_to_xmlschema default divided_by downcase escape
    escape_once find find_exp find_index first floor group_by group_by_exp has hmac_sha256 inspect join json last lstrip
    map minus modulo newline_to_br normalize_whitespace number_of_words plus pop prepend push raw reject remove replace
    replace_first reverse round rstrip sample sha256 shift size slice slugify sort sort_natural split squish strip
    strip_html sum times to_integer truncate truncatewords uniq unshift upcase uri_escape url_decode url_encode where
    where_exp xml_escape
"""
FILTERS = FILTER_NAMES.split()


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
        ("{% for i in (1..2001) %}{% endfor %}", "steps"),
        ("{% for i in (1..99) %}{% for j in (1..99) %}{% endfor %}{% endfor %}", "steps"),
        ("{% tablerow i in (1..2001) %}{% endtablerow %}", "steps|longer than"),
        ("{% for i in (1..40) %}" + "{{ i | plus: 1 }}" * 40 + "{% endfor %}", "steps"),
        ("{% for i in (1..40) %}{% if true " + "and true " * 60 + "%}{% endif %}{% endfor %}", "steps"),
        ("{{ (1..5000) | sort | size }}", "steps"),
        ("{{ text }}{{ text }}{{ text }}", "longer than"),
        ("{% for i in (1..40) %}{% capture text %}{{ text }}{{ text }}{% endcapture %}{% endfor %}", "longer than"),
        ("{% for i in (1..40) %}{% assign text = text | append: text %}{% endfor %}", "characters and items"),
        ("{% for i in (1..99999999999) %}{% endfor %}", "characters and items"),
        ("{% for i in (9007199254740992..9007199254740994) %}{% endfor %}", "all the memory"),
        ("{{ deep | json }}", "nested too deeply"),
        ("{{ deep }}", "nested too deeply"),
        ("{{ deeper }}", "nested too deeply"),
        (
            "{% for i in (1..90) %}{% assign d = d | date: '%s' | plus: 90000| date: '%d %b %Y' %}{% endfor %}",
            "depend",
        ),
    ],
)
def test_a_rendering_may_cost_too_much(source: str, limit: str) -> None:
    with pytest.raises(LiquidLimitError, match=limit) as caught:
        render(source, SMALL, text="x" * 900, deep=nested(900), deeper=nested(3_000), d="1 Jan 2020")
    assert caught.value.line == 1


def test_a_list_in_itself_many_times_over_costs_too_much() -> None:
    grow = "{% assign a = '1' | split: '' %}{% for i in (1..40) %}{% assign a = a | push: a %}{% endfor %}"
    with pytest.raises(LiquidLimitError, match="steps"):
        render(grow)


def test_time_is_up_with_the_place_where_it_was() -> None:
    source = "\n {% for i in (1..100000) %}{{ i }}{% endfor %}"
    with pytest.raises(LiquidLimitError, match=r"^Line 2, column \d+ of the template: .* time that it may") as caught:
        render(source, LiquidLimits(seconds=0.05))
    assert caught.value.line == 2
    assert render("{{ 'after' }}") == "after"


def test_regular_expressions_do_not_share_the_memory_that_a_template_uses_up() -> None:
    pattern = compile_regex("b+")
    with pytest.raises(LiquidLimitError, match="memory"):
        render("{% for i in (9007199254740992..9007199254740994) %}{% endfor %}")
    assert pattern.test("abba")
    assert render("{{ 'after' }}") == "after"


def test_a_long_template_is_read_within_its_time() -> None:
    LiquidTemplate.parse("{{ a.b }}" * 11_000)


def test_more_templates_than_are_kept_are_all_rendered() -> None:
    sources = [f"{{{{ n }}}} {number}" + "x" * 9_000 for number in range(150)]
    for source in [*sources, *sources]:
        assert render(source, n=1) == source.replace("{{ n }}", "1")


NAMES = st.sampled_from(
    ["a", "b.c", "list", "list[0]", "b['c']", "missing", "nil", "blank", "1.5", "-2", "'x y'", "(1..3)"]
)
OPERATORS = st.sampled_from(["==", "!=", "<", ">=", "contains", "and", "or", "not", "|", ":", ",", ".."])
ARGUMENTS = st.lists(NAMES, max_size=3).map(", ".join)
CALLS = st.tuples(NAMES, st.sampled_from(FILTERS), ARGUMENTS).map(lambda parts: "{} | {}: {}".format(*parts))
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
    st.sampled_from(FILTERS),
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
