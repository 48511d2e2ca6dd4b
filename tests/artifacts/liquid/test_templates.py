"""What templates print: the parts of the language that stories lean on."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from tavernkit.artifacts.liquid import LazyObject, LiquidOptions, LiquidTemplate, TextObject
from tavernkit.errors import LiquidError, LiquidRenderError, LiquidSyntaxError
from tavernkit.text.seeded import SeededRandom

NOON = datetime(2026, 3, 14, 12, 0, 5, tzinfo=UTC)


def render(source: str, options: LiquidOptions = LiquidOptions(), seed: str = "", **values: Any) -> str:  # noqa: B008 - a frozen value
    template = LiquidTemplate.parse(source, options=options)
    return template.render(values, clock=lambda: NOON, random=SeededRandom(seed).random)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ missing }}{{ nothing }}|{{ yes }}|{{ list }}|{{ thing }}", "|true|123|[object Object]"),
        ("{{ 5.0 }} {{ 0.1 | plus: 0.2 }} {{ 7 | divided_by: 2 }} {{ 2.5 | round }}", "5 0.30000000000000004 3.5 3"),
        ("{{ list[-1] }} {{ list.first }} {{ list['1'] }} {{ thing.size }} {{ 'abc'[1] }}", "3 1 2 1 b"),
        ("{% if nothing == nil and missing == nil %}both{% endif %}", "both"),
        ("{% if nothing == missing %}same{% else %}not the same{% endif %}", "not the same"),
        ("{% if nothing < 1 and list contains 2 %}yes{% endif %}", "yes"),
        ("{{ 'not ' | append: yes | upcase }} {{ yes and nothing }}", "NOT TRUE false"),
        ("{% for pair in thing %}{{ pair[0] }}={{ pair[1] }}{% endfor %}", "k=v"),
        ("{% for i in (1..9) limit: 2 offset: 3 reversed %}{{ i }}{% endfor %}", "54"),
        ("{% for i in list %}{% if i == 2 %}{% continue %}{% endif %}{{ forloop.rindex }}{% endfor %}", "31"),
        ("{% case 2 %}{% when 1 %}a{% when 2, 3 %}b{% when 2 %}c{% else %}d{% endcase %}", "bc"),
        ("{% liquid\n assign x = 2\n if x > 1\n echo 'more'\n endif\n%}", "more"),
        ("{% raw %}{{ x }}{% endraw %}{% comment %}{% if %}{% endcomment %}{% # it's fine %}", "{{ x }}"),
        ("a {%- if true -%} b {%- endif -%} c", "abc"),
        ("{{ '}}' }}{{ \"\\u0041\\n\" }}", "}}A\n"),
        ("{{ thing | json }} {{ thing | json: 2 }}", '{"k":"v"} {\n  "k": "v"\n}'),
        ("{{ 'a+b%2Bc%20d' | url_decode }}", "a b+c d"),
        ("{{ 'now' | date: '%Y-%m-%d %H:%M:%S' }}", "2026-03-14 12:00:05"),
        ("{{ '14 March 2026 3:09 pm' | date: '%A %-d %b, %H:%M' }}", "Saturday 14 Mar, 15:09"),
        ("{{ '2026-03-14 15:09:26' | date: '%s' }}", "1773500966"),
        ("{{ 'Sat Mar 14 2026 15:09:26 GMT+0200 (Somewhere)' | date: '%H:%M' }}", "13:09"),
        ("{{ '2026-03-14T23:30:00Z' | date: '%d %H:%M %:z', '+05:30' }}", "15 05:00 +05:30"),
        ("{{ 'the day before' | date: '%Y' }}", "the day before"),
        ("{{ '2024-12-31' | date: '%j %U %W %y %C %q' }}", "366 52 53 24 20 st"),
    ],
)
def test_what_is_printed(source: str, text: str) -> None:
    assert render(source, nothing=None, yes=True, list=[1, 2, 3], thing={"k": "v"}) == text


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("{{ user | shout }}", 1, 1),
        ("\n {% if true %}", 2, 2),
        ("\n\n{{ }}", 3, 4),
        ("{% unknown %}", 1, 1),
        ("a\n{{ x", 2, 1),
        ("{% for x of list %}{% endfor %}", 1, 1),
        ("{% case x %}\n{% when , %}{% endcase %}", 2, 9),
        ("{{ (1.3) }}", 1, 8),
        ("{% if 'out of memory' %}", 1, 1),
    ],
)
def test_a_mistake_is_a_sentence_with_its_place(source: str, line: int, column: int) -> None:
    with pytest.raises(LiquidSyntaxError, match=f"^Line {line}, column {column} of the template: .+\\.$") as caught:
        LiquidTemplate.parse(source)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ 'x' | append }}", "append expect 2 arguments"),
        ("{{ '%' | url_decode }}", "hex digit"),
        ("{{ '!' | base64_decode }}", "invalid base64"),
        ("{{ 1 | date: '%H', 'Not/AZone' }}", "no time zone"),
        ("{% include 'scene' %}", 'no partial "scene"'),
        ("{% layout 'toString' %}", 'no partial "toString"'),
        ("{% for forloop in (1..2) %}x{% endfor %}", "cannot use a value"),
        ("{{ list | where_exp: 'x', 'x | nope' }}", "undefined filter: nope"),
    ],
)
def test_a_failure_names_its_reason_and_its_place(source: str, reason: str) -> None:
    with pytest.raises(LiquidRenderError, match=reason) as caught:
        render("\n" + source, list=[1])
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_values_stay_as_they_are() -> None:
    values = {"turn": 5, "list": [3, 1]}
    source = "{% increment turn %}{% assign list = list | sort | push: 9 %}{{ turn }}{{ list }}"
    assert render(source, **values) == "56139"
    assert values == {"turn": 5, "list": [3, 1]}


def test_chance_is_what_the_caller_gives() -> None:
    source = "{{ (1..100) | sample: 5 | join }}"
    assert render(source, seed="a") == render(source, seed="a") != render(source, seed="b")


def test_an_object_may_print_as_its_name() -> None:
    char = TextObject({"name": "Mirelle", "age": 31}, text="Mirelle")
    assert render("{{ char }}, {{ char.age }}: {{ char | json }}", char=char) == (
        'Mirelle, 31: {"name":"Mirelle","age":31}'
    )


def test_values_are_data_and_never_templates() -> None:
    assert render("{{ said }}", said="{{ secret }}{% raw %}", secret="no") == "{{ secret }}{% raw %}"


def test_strict_variables_refuse_what_is_not_there() -> None:
    strict = LiquidOptions(strict_variables=True)
    assert render("{{ null }}{{ known.null }}", strict, known={"null": None}) == ""
    with pytest.raises(LiquidRenderError, match=r"undefined variable: known\.ghost"):
        render("{{ known.ghost }}", strict, known={})
    lenient = strict.with_(lenient_if=True)
    assert render("{% if ghost %}{% else %}none{% endif %} {{ ghost | default: 'x' }}", lenient) == "none x"


def test_unknown_filters_may_change_nothing() -> None:
    assert render("{{ 'a' | shout: 1 | upcase }}", LiquidOptions(strict_filters=False)) == "A"


def test_partials_are_texts_that_the_caller_gave() -> None:
    options = LiquidOptions(
        partials={
            "hello": "Hello {{ name }}{{ user }}.",
            "base": "<{% block main %}d{% endblock %}>",
            "self": "{% render 'self' %}",
            "bad": "{% if %}",
        }
    )
    assert render("{% render 'hello', name: 'you' %}", options, user="Rowan") == "Hello you."
    assert render("{% include 'hello' %}", options, user="Rowan") == "Hello Rowan."
    assert render("{% render 'hello' for names as name %}", options, names=["a", "b"]) == "Hello a.Hello b."
    assert render("{% layout 'base' %}{% block main %}mine{% endblock %}", options) == "<mine>"
    for broken in ("{% render 'self' %}", "{% render 'none such' %}"):
        with pytest.raises(LiquidError):
            render(broken, options)
    with pytest.raises(LiquidRenderError, match="Line 1, column 6 of the partial 'bad'"):
        render("{% render 'bad' %}", options)


def test_only_a_member_that_is_read_is_copied_and_noted() -> None:
    class Noted(LazyObject):
        def __init__(self, members: dict[str, Any]) -> None:
            super().__init__(members)
            self.read: list[str] = []

        def mark_read(self, name: str) -> None:
            self.read.append(name)

    not_json = object()
    for source, text, read in (
        ("{{ art.scene.place }}{{ art.none }}", "dock", ["scene"]),
        ("{% assign name = 'scene' %}{{ art[name].place }}", "dock", ["scene"]),
        ("{% assign name = 'art' %}{{ [name].scene.place }}", "dock", ["scene"]),
        ("{{ list | where_exp: 'it', 'it == art.mood' }}", "calm", ["mood"]),
        ("{% if true %}{{ art.mood }}{% else %}{{ art.scene }}{% endif %}", "calm", ["mood"]),
        ("{{ art.size }}{% if art.mood %}!{% endif %}", "3!", ["mood"]),
    ):
        art = Noted({"scene": {"place": "dock"}, "mood": "calm", "vast": not_json})
        assert render(source, art=art, list=["calm"], other=not_json) == text
        assert art.read == read
    art = Noted({"scene": {"place": "dock"}, "mood": "calm"})
    assert render("{% for pair in art %}{{ pair[0] }},{% endfor %}{{ art | json }}", art=art) == (
        'scene,mood,{"scene":{"place":"dock"},"mood":"calm"}'
    )
    assert sorted(art.read) == ["mood", "scene"]


def test_what_is_not_json_is_refused_with_a_sentence() -> None:
    for value in (object(), float("nan"), float("inf")):
        with pytest.raises(LiquidRenderError, match="not JSON"):
            render("{{ value }}", value=value)


def test_half_characters_and_nul_survive_the_way_to_the_engine_and_back() -> None:
    assert render("{{ text }}|{{ lamp | first }}", text="a\0b\ud83d", lamp="🏮") == "a\0b\ufffd|\ufffd"


def test_every_thread_renders_the_same() -> None:
    template = LiquidTemplate.parse("{{ (1..9) | sample: 4 | join }} {{ 'now' | date: '%H:%M' }} {{ n }}")

    def rendered(number: int) -> str:
        return template.render({"n": number % 2}, clock=lambda: NOON, random=lambda: 0.25)

    with ThreadPoolExecutor(max_workers=4) as threads:
        assert set(threads.map(rendered, range(40))) == {rendered(0), rendered(1)}


def test_the_library_does_not_load_it() -> None:
    check = "import sys, tavernkit; raise SystemExit('tavernkit.artifacts.liquid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
