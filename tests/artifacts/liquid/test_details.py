"""Where templates meet the edges: what LiquidJS 10.30 prints there is printed here, too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tavernkit.artifacts.liquid import LiquidOptions, LiquidTemplate
from tavernkit.errors import LiquidRenderError, LiquidSyntaxError
from tavernkit.text.seeded import SeededRandom

VALUES: dict[str, Any] = {
    "list": ["sharp", "loyal", "stubborn"],
    "thing": {"k": "v"},
    "holes": ["a", None],
    "nothing": None,
}
PARTIALS = {
    "base": "<{% block main %}d{{ user }}{% endblock %}|{% block two %}t{% endblock %}>",
    "middle": "{% layout 'base' %}{% block main %}M{{ block.super }}{% endblock %}",
    "count": "{% cycle 1, 2 %}{% increment k %}",
    "leave": "a{% break %}b",
    "Rowan": "R",
}


def render(source: str, options: LiquidOptions | None = None, **values: Any) -> str:
    template = LiquidTemplate.parse(source, options=options or LiquidOptions())
    clock = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
    return template.render({**VALUES, **values}, clock=lambda: clock, random=SeededRandom("").random)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-03-14T23:30:00-05:00", "14 23:30 -0500 -0500"),
        ("2026-03-14T23:30:00+0530", "14 23:30 +0530 +0530"),
        ("Sat, 14 Mar 2026 15:09:26 GMT+0200", "14 15:09 +0200 +0200"),
        ("2026-03-14T23:30:00Z", "14 23:30 +0000 +0000"),
        ("2026-03-14 23:30:00", "14 23:30 +0000 UTC"),
        ("03-14-2026", "13 03:34 -2026 -2026"),
        ("1773500966", "14 15:09 +0000 +0000"),
    ],
)
def test_a_date_keeps_the_offset_it_is_written_with_where_that_is_an_option(written: str, shown: str) -> None:
    source, keeping = "{{ written | date: '%d %H:%M %z %Z' }}", LiquidOptions(preserve_timezones=True)
    assert render(source, keeping, written=written) == shown
    assert render("{{ '2026-03-14T23:30:00-05:00' | date: '%H:%M %z', 'Asia/Tokyo' }}", keeping) == "13:30 +0900"
    assert render("{{ '2026-03-14T23:30:00-05:00' | date: '%d %H:%M %z' }}") == "15 04:30 +0000"


def test_url_decode_makes_a_plus_a_space_but_not_one_that_was_encoded() -> None:
    assert render("{{ 'a+b%2Bc%20d' | url_decode }}") == "a b+c d"


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Saturday 14 March 2026", "2026-03-14 00:00:00.000"),
        ("Mar-14-2026 3:09 pm (a Saturday (in spring)) GMT+2", "2026-03-14 13:09:00.000"),
        ("10:20:30.5 1 Jan 20 EST", "2020-01-01 15:20:30.500"),
        ("2026-3-4 7:05 +05:30", "2026-03-04 01:35:00.000"),
        ("12/25/99 24:00", "1999-12-26 00:00:00.000"),
        ("99 Dec 5 10::", "1999-12-05 10:00:00.000"),
        ("-002026-03-14T10:00-0030", "-2026-03-14 10:30:00.000"),
        ("0026-03-14", "0026-03-14 00:00:00.000"),
        ("Dec 828", "0828-12-01 00:00:00.000"),
        ("chapter 3", "2001-03-01 00:00:00.000"),
        *(
            (text, text)
            for text in (
                "14 March 2026 Saturday", "May 3rd, 2026", "chapter3", "[0]", "1 Jan 2020 13:00 pm", "1 2 3 4", "noon",
                " 2026-03-14T10:00:00Z", "2026-03-14T10:00:00+24:00", "2026-03-14T1:00", "5)",
                "1 Jan 2020 10:00+12345", "1 Jan 2020 10:20.x", "1 Jan 2020 10:20:30,5", "5-6-2020 10:10 x",
            )
        ),
    ],
)  # fmt: skip
def test_dates_in_words_are_read_as_v8_reads_them(written: str, moment: str) -> None:
    assert render("{{ written | date: '%Y-%m-%d %H:%M:%S.%L' }}", written=written) == moment


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 1.9 | date: '%s' }} {{ -0.5 | date: '%s' }}", "1 -1"),
        ("{{ 0 | date: '%5h|%10z|%:Z' }}", "00Jan|00000+0000|+00:00"),
        ("{{ 0 | date: '%10z|%_10z|%:Z', 60 }}", "-000000100|     -0100|-01:00"),
        ("{{ 0 | date: '%H:%M %Z', 'asia/TOKYO' }}", "09:00 asia/TOKYO"),
        ("{{ 0 | date: '%H:%M', true }} {{ 0 | date: '%H:%M', list }}", "23:59 0"),
        ("{{ (0..0) | date: '%Y' }}", "2000"),
    ],
)
def test_dates_are_written(source: str, text: str) -> None:
    assert render(source) == text


def test_no_zone_says_where_the_machine_stands() -> None:
    with pytest.raises(LiquidRenderError, match="no time zone “localtime”"):
        render("{{ 0 | date: '%H', 'localtime' }}")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ '  a b c  ' | truncatewords: 4 }}", "a b c ..."),
        ("{{ 'a b' | truncatewords: 'x' }}|{{ 'a b' | truncatewords: 0.5 }}", "|..."),
        ("{{ 'abcdef' | truncate: 5.2 }}|{{ '' | truncate: -1 }}|{{ 'abc' | strip: 0 }}", "abcdef||abc"),
        ("{{ 'abcdef' | slice: -7, 3 }}|{{ 'abcdef' | slice: '-2', 3 }}|{{ 'abcdef' | slice: 0.5, 1.5 }}", "|abc|bc"),
        ("{{ list | slice }}|{{ list | slice: '1', 1 }}|{{ list | slice: -4, 9 }}", "|loyalstubborn|"),
        ("{{ '' | first | json }}{{ '' | last | json }}", '""""'),
        ("{{ list | push: nil | join: '+' }}", "sharp+loyal+stubborn+[object Object]"),
        ("{{ holes | array_to_sentence_string }}", "a and null"),
        ("{{ holes | reverse | push: 1 | array_to_sentence_string }}", ", a, and 1"),
        ("{{ (1..3) | sum: 0 }} {{ list | sort: false }}", "6 loyalsharpstubborn"),
        ("{{ list | where: '0', 's' | join }} {{ list | has: 'length', 5 }}", "sharp stubborn true"),
        ("{{ list | where: 'size', 5 | size }}", "0"),
        ("{{ 3.14 | modulo: 3.7 }} {{ -7 | modulo: 3 }} {{ 5 | modulo: 0 }}", "3.1399999999999997 2 NaN"),
        ("{{ 'The Road' | slugify: 'default', 1 }} {{ 'The Road' | slugify: 'default', '' }}", "The-Road the-road"),
        ("{{ list['-1'] }}{{ list['01'] }}{{ 'abc'['-0'] }}|{{ list[-1] }}", "|stubborn"),
        ("{{ size }}", "0"),
    ],
)  # fmt: skip
def test_filters_and_paths_take_unusual_values(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% cycle 'a' | upcase, 'b' %}{% cycle 'a' | upcase, 'b' %}{% cycle 'a'  | upcase, 'b' %}", "AbA"),
        ("{{ list) | size }} {{ list | size) | plus: 1 }}{% if false) or true %}T{% endif %}", "sharployalstubborn 3"),
        ("{% assign x = 'lamp   %}{{ x }}{% case 1 %}{% when 1, %}!{% endcase %}", "lam!"),
        ("{% liquid\n raw\n  x {{ y }}\n\n endraw\n echo 1 %}", "x {{ y }}\n1"),
        ("{% for i in (1..1) %}{{ forloop | size }}{% endfor %}", "1"),
    ],
)  # fmt: skip
def test_tags_are_read_and_shown(source: str, text: str) -> None:
    assert render(source) == text


def cells(*texts: str) -> str:
    return "".join(f'<td class="col{place}">{text}</td>' for place, text in enumerate(texts, 1)) + "</tr>"


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("(1..3) cols: -2 %}{{ i }}", '1">' + cells("1", "2") + '<tr class="row0">' + cells("3")),
        ("(1..4) limit: '1' offset: 1 %}{{ tablerowloop.col_last }}", '1">' + cells("false", "false", "true")),
        ("(1..2) cols: '2' %}{{ tablerowloop.col_last }}", '1">' + cells("false", "false")),
        ("(1..1) %}{{ tablerowloop }}", '1">' + cells('{"i":0,"length":1,"name":"i-(1..1)","cols":1}')),
        ("(1..2) %}{{ i }}{% break %}x", '1">' + cells("1", "2")),
        ("(1..2) -%} {{ i }}{% break %}x", '1">' + cells("1", "")),
    ],
)
def test_tables(source: str, rows: str) -> None:
    assert render(f"{{% tablerow i in {source}{{% endtablerow %}}") == f'<tr class="row{rows}'


@pytest.mark.parametrize("source", ["cycle , 'b'", "cycle 'a' ]", "cycle : 'a'", "liquid\n raw\n x\n"])
def test_what_cannot_be_read_is_refused(source: str) -> None:
    with pytest.raises(LiquidSyntaxError):
        LiquidTemplate.parse(f"{{% {source} %}}")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% layout 'base' %}{% block main %}[{{ block.super | upcase }}]{% endblock %}", "<[DROWAN]|t>"),
        ("{% block main %}{{ block }}{{ block.super }}{% endblock %}", "[object Object]"),
        ("{% layout 'middle' %}{% block 'main' %}[{{ block.super }}]{% endblock %}", "<[MdRowan]|t>"),
        ("{% layout 'base', user: 'U' %}{% block main %}{{ x }}{{ user }}{% endblock %}{% assign x = 6 %}", "<6U|t>"),
        ("{% layout 'base' %}{% block none %}{{ 1 | append }}{% endblock %}", "<dRowan|t>"),
        ("{% include 'middle' %}{% include 'middle' %}{% include 'base' %}", "<MdRowan|t><MdRowan|t><dRowan|t>"),
        ("{% for i in (1..2) %}{% render 'count' %};{% render 'leave' %};{% endfor %}", "10;a;10;a;"),
        ("{% for i in (1..2) %}{% include 'count' %};{% include 'leave' %};{% endfor %}", "10;a"),
        ("{% include '{{ user }}' %}", "R"),
    ],
)  # fmt: skip
def test_partials_and_layouts(source: str, text: str) -> None:
    assert render(source, LiquidOptions(partials=PARTIALS), user="Rowan") == text


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{% layout 'base' %}{% block main %}{% block main %}{% endblock %}{% endblock %}", "“main” stands in itself"),
        ("{% render ghost for list %}", "without a name"),
    ],
)
def test_partials_that_lead_nowhere_are_refused(source: str, reason: str) -> None:
    with pytest.raises(LiquidRenderError, match=reason):
        render(source, LiquidOptions(partials=PARTIALS))


def test_assignments_are_as_lenient_as_conditions() -> None:
    lenient = LiquidOptions(strict_variables=True, lenient_if=True)
    assert render("{% assign x = ghost | size %}{{ x }}", lenient) == "0"
    with pytest.raises(LiquidRenderError, match="there is no ghost"):
        render("{% assign x = 1 | plus: ghost %}", lenient)
