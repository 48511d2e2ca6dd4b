"""The parser engines: what holds for every text, and what the recorded cases leave open."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.macros import NameEnvironment, Variables
from tavernkit.sillytavern.macros import (
    CardFields,
    ChatLine,
    Environment,
    GroupNames,
    MacroLimits,
    MacroSettings,
    ModelState,
    ParserMacros,
    macro_engine,
)
from tavernkit.sillytavern.presets import ContextTemplate, Instruct

VERSIONS = ("1.15", "1.19")
ENGINES = {version: ParserMacros(version) for version in VERSIONS}
both = pytest.mark.parametrize("version", VERSIONS)


def environment(**fields):
    fields.setdefault("variables", Variables({"hp": "10", "name": "Kestrel"}, {"gold": 5}))
    return Environment(user_name="Zed", character_name="Mira", **fields)


def expand(text, version="1.19", **fields):
    return ENGINES[version].expand(text, environment(**fields))


pieces = (
    "{ } {{ }} {{{ }}} :: : | \\ / # ! . $ = ++ || ??= , user char if else reverse setvar getvar hp pick trim //"
    " unknown 1 é 😀 <USER> {{user}} {{if~1}} {{else}} {{/if}} {{reverse}} {{/reverse}} {{setvar::x:: {{.hp~"
)
tokens = st.sampled_from(["\n", " ", *(piece.replace("~", " ") for piece in pieces.split())])
texts = st.lists(tokens, max_size=40).map("".join)


@both
@given(text=texts)
def test_any_text_comes_to_an_end_and_twice_to_the_same(version, text):
    first = expand(text, version)
    assert expand(text, version) == first


@both
@given(text=st.text(st.characters(exclude_characters="{<\\"), max_size=60))
def test_text_without_openers_markers_and_escapes_is_the_same_object(version, text):
    assert ENGINES[version].expand(text, environment()) is text


@both
@given(text=texts)
def test_a_call_of_an_unknown_macro_keeps_its_text(version, text):
    plain = text.replace("{", "").replace("}", "").replace("<", "").replace("\\", "").replace("|", "").replace(":", "")
    wanted = f"{{{{nobody::{plain}}}}}"
    assert expand(wanted, version) == wanted


@given(effect=st.sampled_from(["{{setvar::hp::0}}", "{{.hp = 0}}", "{{incvar::hp}}", "{{deletevar::hp}}", "{{.hp--}}"]))
@pytest.mark.parametrize(
    "template", ["{{{{if 0}}}}{0}{{{{/if}}}}", "{{{{if 1}}}}{{{{else}}}}{0}{{{{/if}}}}", "{{{{if::0::{0}}}}}"]
)
def test_a_branch_that_is_not_taken_has_no_effect(template, effect):
    variables = Variables({"hp": "10"})
    expand(template.format(effect), variables=variables)
    assert variables.snapshot() == {"hp": "10"}


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 100_000,
        "{{reverse::" * 10_000 + "}}" * 10_000,
        "{{if 1}}" * 5_000 + "{{/if}}" * 5_000,
        "{{reverse}}" * 10_000,
    ],
    ids=["openers", "nested", "blocks", "unclosed"],
)
@both
def test_hostile_text_returns_soon(version, text):
    with not_hanging(seconds=5):
        assert expand(text, version) == text


@both
def test_a_text_that_grows_without_end_is_left_as_it_is(version):
    text = "{{setvar::a::x}}" + "{{setvar::a::{{getvar::a}}{{getvar::a}}}}" * 60
    assert expand(text, version) == text


def test_spaces_without_end_are_left_as_they_are():
    assert expand("{{space::99999999999999999999}}") == "{{space::99999999999999999999}}"


def test_blocks_that_are_read_again_and_again_have_a_limit():
    engine = ParserMacros("1.19", limits=MacroLimits(rereading=100))
    text = "{{if 1}}" * 30 + "x" * 200 + "{{/if}}" * 30
    assert engine.expand(text, environment()) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{reverse::{{1}} y}}", "1{{ y}}"),
        ("{{reverse::{{}}}} {{user}}", "{{}} Zed"),
        ("{{.}}|", "|"),
        ("{{. .hp}}", "10"),
        ("{{.hp x}}", "10"),
        ("{{.hp++ ++}}", "11"),
        ("{{.?}}{{$! hp y}}|{{.!{{user}}}}", "|{{.!Zed}}"),
        ("{{reverse::{{.!x}}}}{{reverse::{{.!x y}}}}", "y x!.{{}}"),
        ("{{reverse::{{.hp.k}}}}", "ph.{{}}"),
        ("{{.a = {{ }} }}[{{.a}}] {{.b = {{user}} {{!1}}}}[{{.b}}]", " }}[{{}}] }}[Zed {{!}}1]"),
        ("{{reverse::{{if }}T{{else}}F}}", "F\0\x1fESLE\x1f\0T}} fi{{"),
        ("{{//{{user}}/}}", "{{//{{user}}/}}"),
        ("{{reverse}}a {{foo {{/reverse}}", "oof{{ a"),
        ("{{user}}{{user}}x{{/user}}", "{{user}}Zedx{{/user}}"),
        ("{{nobody}}a{{/nobody}}", "{{nobody}}a}}"),
        ("{{if 1}}{{if }a{{else}}b{{/if}}{{/if}}", "{{if }ab{{/if}}"),
        ("{{if 1}}a{{reverse}}b{{else}}c{{/reverse}}{{/if}}", "a{{reverse}}b"),
        ("{{#reverse}} a\n  b {{/reverse}}", " b  \na "),
    ],
)
def test_odd_texts_are_mended_as_there(text, expected):
    assert expand(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user|upper}} {{char}}", "{{user|upper}} Mira"),
        ("{{user | 3}}{{char}}", "{{user | 3}}{{char}}"),
        ("{{!user::{{char}}}}", "{{!user::Mira}}"),
        ("{{reverse::{{user}}|x}}", "{{reverse::Zed|x}}"),
        ("{{reverse::{{char | x}}}}", "rahc{{}}"),
    ],
)
def test_flags_and_pipes_make_a_call_text_in_1_15(text, expected):
    assert expand(text, "1.15") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{reverse::{{{user}}}}}", "resu{}}{{}}}"),
        ("{{reverse::{{{{user}}}}}}", "deZ}}{{}}"),
        ("{{reverse::{{user}} {{ }}x", "}}{{ deZx"),
        ("{{reverse::{{!user}}", "resu!}}{{"),
        ("{{reverse::a{b}}", "b{a"),
        ("{{reverse::{ {user} }}}", "}resu{ {}"),
        ("{{// {{ }}x", "x"),
    ],
)
def test_an_opener_without_a_name_in_an_argument_prints_a_closing_pair_in_1_15(text, expected):
    assert expand(text, "1.15") == expected


def test_the_engine_is_a_setting():
    assert macro_engine("legacy").expand("{{USER}}", environment()) == "Zed"
    assert macro_engine("1.15").expand("{{USER}}", environment()) == "{{USER}}"
    assert macro_engine("1.19").expand("{{USER}}", environment()) == "Zed"


def test_any_environment_of_the_core_will_do():
    plain = NameEnvironment(character_name="Mira", user_name="Zed", variables=Variables({"hp": 3}))
    engine = macro_engine("1.19")
    assert engine.expand("{{user}} {{char}} {{.hp++}}{{deletevar::hp}} {{hasvar::hp}}", plain) == "Zed Mira 4 false"


def test_time_follows_the_clock_the_zone_and_the_locale_of_the_environment():
    fields = {"clock": lambda: datetime(2024, 7, 1, 22, 5, tzinfo=UTC), "zone": ZoneInfo("Europe/Vienna")}
    assert expand("{{date}} {{time}} {{datetimeformat::Z}}", **fields) == "July 2, 2024 12:05 AM +02:00"
    assert expand("{{date}} {{time}}", **fields, locale="en-GB") == "2 July 2024 00:05"


def test_chance_comes_from_the_environment_and_picks_from_the_place():
    assert expand("{{random::a::b::c}}", random=lambda: 0.9) == "c"
    picks = [expand("{{pick::a::b::c::d}}" * 8, chat_id_hash=seed) for seed in (1, 1, 2)]
    assert picks[0] == picks[1] != picks[2]
    assert len(set(picks[0])) > 1


def test_the_card_sees_everything_but_itself():
    card = CardFields(description="{{char}}, {{personality}}{{original}}|", personality="wry")
    assert expand("{{description}}", card=card, original="o") == "Mira, {{original}}|"


def test_examples_take_the_shape_of_the_instruct_template():
    instruct = Instruct(
        enabled=True, input_sequence="[U]", output_sequence="[{{name}}]", output_suffix="$", names_behavior="none"
    )
    fields = {
        "card": CardFields(message_examples="<START>\n{{user}}: Tea?\n{{char}}: Always.\nTwo."),
        "settings": MacroSettings(instruct=instruct, context=ContextTemplate(example_separator="***")),
        "model": ModelState(api="text"),
    }
    assert expand("{{mesExamples}}", **fields) == "***\n[U]\nTea?\n[Mira]\nAlways.\nTwo.$"


def test_a_swipe_that_is_being_written_is_not_the_last_message():
    chat = (ChatLine(text="first"), ChatLine(text="pending", swipe=2, swipe_count=2))
    assert expand("{{lastMessage}} {{lastMessageId}} {{currentSwipeId}}", chat=chat) == "first 0 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{setvarkey::a::::x}}{{setvarkey::a::.5::y}}{{.a}}", '["x"]'),
        ("{{setvarkey::a::k::x}}{{setvarkey::a:: 1.0 ::y}}{{.a}}", '{"1":"y","k":"x"}'),
        ("{{setvar::a::[ 1 ]}}{{setvarkey::a::k::x}}{{.a}}{{setvarkey::a::length::x}}{{.a}}", "[1][1]"),
        ("{{setvarkey::hp::0::x}}{{.hp}}[{{getvarkey::hp::0}}]", "10[]"),
        ('{{setvar::a::"xyz"}}{{getvarkey::a::1}}{{getvarkey::a::length}}{{getvarkey::a::k}}', "y3"),
        ("{{setvar::a::[true,null,[2]]}}{{getvarkey::a::0}}{{getvarkey::a::1}}{{getvarkey::a::2}}", "1null[2]"),
        ("{{setvar::a::null}}{{getvarkey::a::0}}{{setvarkey::a::k::x}}{{.a}}", '0{"k":"x"}'),
    ],
)
def test_elements_are_those_of_javascript(text, expected):
    assert expand(text) == expected


def test_examples_are_written_as_the_prompt_of_a_group_writes_them():
    environment = Environment(
        user_name="Robin",
        character_name="Mira",
        group=GroupNames(members=("Mira", "Oskar")),
        card=CardFields(message_examples="<START>\nRobin: Hi.\nOskar: Ho.\nOskar: Hum."),
        settings=MacroSettings(instruct=Instruct(enabled=True, input_sequence="U", output_sequence="A")),
        model=ModelState(api="text"),
    )

    assert ParserMacros().expand("{{mesExamples}}", environment) == "U\nRobin: Hi.\nA\nOskar: Ho.\nOskar: Hum.\n"
