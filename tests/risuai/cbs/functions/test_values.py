"""Texts, numbers, comparisons, arrays and objects, with JavaScript's ideas about each."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.arrays import parse_array, write_array

from .scenes import says


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{equal::1::01}}{{equal}}{{notequal::a}}", "011"),
        ("{{greater::0x10::15}}{{less::::1}}{{greaterequal::a::a}}{{lessequal}}", "1100"),
        ("{{and::1::true}}{{or::0::1}}{{not::true}}", "011"),
        ('{{all::[]}}{{any::[1,1]}}{{all::1::1}}{{any::["0","1"]}}', "1011"),
        ("{{iserror::ERROR: x}}{{iserror::an error:}}", "10"),
    ],
)
def test_comparing(macro: str, text: str) -> None:
    assert says(macro) == text


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{startswith::undefined}}{{endswith::ab::b}}{{contains::ab::B}}", "110"),
        ("{{replace::a.b.c::.::-}}", "a-b-c"),
        ("{{replace::abc::b::[$&$$$`$'$1]}}", "a[b$ac$1]c"),
        ("{{replace::ab::::-}}", "-a-b-"),
        ("{{replace::ab::::$&-}}", "-a-b-"),
        ("{{replace::ab::b}}", "aundefined"),
        ("{{split::a,b::,}}{{split::ab::}}{{split::ab}}", '["a","b"]["a","b"]["ab"]'),
        ("{{split::😀::}}", r'["\ud83d","\ude00"]'),
        ("{{join::[1,null,[2,3],{}]::-}}", "1--2,3-[object Object]"),
        ("{{join::a§b}}{{spread::a§b}}", "a,ba::b"),
        ("[{{trim::\u3000 a \ufeff}}]", "[a]"),
        ("{{length::a😀}}", "3"),
        ("{{upper::straße}}{{lower::ΑΣ}}{{capitalize::éa}}{{capitalize::}}", "STRASSEας" + "Éa"),
        ("{{Reverse::e\u0301👍🏽🇰🇷}}", "🇰🇷👍🏽e\u0301::esreveR"),
        ("{{tonumber::a1 b2.5-c}}", "1 2.5"),
    ],
)
def test_texts(macro: str, text: str) -> None:
    assert says(macro) == text


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{round::2.5}} {{round::-2.5}} {{round::-0.4}} {{round}}", "3 -2 0 NaN"),
        ("{{floor::-0.4}} {{ceil::-0.4}} {{floor::Infinity}} {{ceil::1e21}}", "-1 0 Infinity 1e+21"),
        ("{{abs::-2.5}} {{abs::}} {{abs::1,5}}", "2.5 0 NaN"),
        ("{{remaind::-7::3}} {{remaind::5::0}} {{remaind::5::Infinity}}", "-1 NaN 5"),
        ("{{pow::2::-1}} {{pow::-8::0.5}} {{pow::1::Infinity}}", "0.5 NaN NaN"),
        ("{{pow::-2::1023}} {{pow::-9::9999}} {{pow::0::-1}}", "-8.98846567431158e+307 -Infinity Infinity"),
        (
            "{{fixnum::1.005::2}} {{fixnum::10.235::2}} {{fixnum::-0.001::2}} {{fixnum::1e21::2}}",
            "1.00 10.23 -0.00 1e+21",
        ),
        ("{{fixnum::2.5}} {{fixnum::x::2}} {{fixnum::1::-0.5}}", "3 NaN 1"),
        ("{{min::5::a}} {{max::[]}} {{min::[]}} {{max::[null,true,[7]]}}", "0 -Infinity Infinity 7"),
        ("{{sum::0.1::0.2}} {{average::[]}} {{average::1§2}}", "0.30000000000000004 NaN 1.5"),
    ],
)
def test_numbers(macro: str, text: str) -> None:
    assert says(macro) == text


@pytest.mark.parametrize(
    "macro",
    [
        "{{fixnum::1::101}}",
        "{{fixnum::x::-1}}",
        "{{trim}}",
        "{{length}}",
        "{{replace}}",
        "{{sum}}",
        "{{arraypop}}",
        "{{ele}}",
        "{{hash}}",
        "{{codeblock}}",
        "{{metadata}}",
        "{{dice}}",
        "{{dictelement::null::k}}",
        "{{objectassert::5::k::v}}",
        "{{arrayelement::[0]::0}}",
        "{{arrayelement::[false]::0}}",
    ],
)
def test_where_javascript_throws_the_macro_stays(macro: str) -> None:
    assert says(macro) == macro


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{a}}{{a::é::}}{{a:b::c}}", '[]["é",""]["b","","c"]'),
        ("{{arraylength::[1,[2,3]]}}{{arraylength::}}{{arraylength::5}}", "211"),
        ('{{arrayelement::["a","b"]::-1}}{{arrayelement::x§y::1.9}}{{arrayelement::["a"]::5}}', "bynull"),
        ('{{arrayelement::[7]::0}} {{arrayelement::[{"text":"T"}]::0}} [{{arrayelement::[""]::0}}]', "undefined T []"),
        ("{{arrayshift::a§b}}{{arraypop::[]}}{{arraypush::[1]}}", '["b"][][1,null]'),
        ("{{arraysplice::[1,2,3]::-1::1::x}}{{arraysplice::[1]}}", '[1,2,"x"][null,1]'),
        ("{{arrayassert::a::2::b}}{{arrayassert::a::0::b}}{{arrayassert::a::1.5::b}}", '["a",null,"b"]["a"]["a"]'),
        ("{{range::[3]}}{{range::[2,5,2]}}{{range::[0,1,0.5]}}{{range::[5,1]}}", '["0","1","2"]["2","4"]["0","0.5"][]'),
        ('{{filter::["a","","a"]}}{{filter::["a","","a"]::unique}}', '["a"]["a",""]'),
        ('{{filter::[1,"1",1,true,{},{}]::unique}}{{filter::["",""]::nonempty}}', '[1,"1",true,{},{}][]'),
    ],
)
def test_arrays(macro: str, text: str) -> None:
    assert says(macro) == text


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{d::2=b::1=a::none::k=v=w::__proto__=x}}", '{"1":"a","2":"b","k":"v=w"}'),
        ('{{dictelement::{"k":"v"}::k}}{{dictelement::{"k":null}::k}}{{dictelement}}', "vnullnull"),
        ('{{dictelement::["p","q"]::1}}{{dictelement::"abc"::1}}{{dictelement::"abc"::length}}', "qbundefined"),
        ("{{dictelement::{}::toString}}{{dictelement::bad::x}}", "undefinednull"),
        ('{{objectassert::{"a":0}::a::5}}{{objectassert::bad::x::y}}', '{"a":"5"}{"x":"y"}'),
        ('{{objectassert::{"a":0}::a}}{{objectassert::{}::toString::x}}', "{}{}"),
        ('{{objectassert::["p"]::2::q}}{{objectassert::["p"]::x::q}}', '["p",null,"q"]["p"]'),
        ("{{objectassert::[]::length::2}}", "[null,null]"),
        ('{{ele::["a","b"]::1}}{{ele::x}}{{ele::bad::1}}{{ele::{"k":0}::k}}', "bxnullnull"),
        (r'{{ele::{"k":"[\"z\"]"}::k::0}}{{ele::[["p"]]::0::0}}{{ele::[1]::length}}', "znullundefined"),
    ],
)
def test_objects(macro: str, text: str) -> None:
    assert says(macro) == text


@given(st.lists(st.text(st.characters(exclude_characters=":", exclude_categories=["Cs"]))))
def test_an_array_reads_back(items: list[str]) -> None:
    assert parse_array(write_array(items)) == items
    assert json.loads(write_array(items)) == items


@given(st.text())
def test_what_is_no_array_is_split_at_its_signs(text: str) -> None:
    assert "§".join(map(str, parse_array("x" + text))) == "x" + text
