"""The legacy engine: whole-text passes in a fixed order, with the quirks that cards have come to rely on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.macros import Variables
from tavernkit.sillytavern.macros.environment import (
    CardFields,
    ChatLine,
    DynamicMacro,
    Environment,
    GroupNames,
    MacroSettings,
    ModelState,
)
from tavernkit.sillytavern.macros.legacy import LegacyMacros
from tavernkit.sillytavern.macros.legacy.named_values import MARKER_PASSES, expanded_card, named_passes
from tavernkit.sillytavern.macros.legacy.order import PASSES_AFTER_NAMES, PASSES_BEFORE_NAMES
from tavernkit.sillytavern.macros.legacy.passes import LegacyExpansion
from tavernkit.sillytavern.macros.problems import MacroLimits, MacroProblem
from tavernkit.sillytavern.presets import Instruct, SystemPrompt

NOON = datetime(2024, 3, 15, 12, 0, tzinfo=UTC)
CARD = CardFields(description="Mira keeps {{user}}'s lamp.", personality="wry", system_prompt="Speak as {{char}}.")


def zed(**changes: Any) -> Environment:
    """Zed talks to Mira at noon, and every chance is even."""
    base = Environment(user_name="Zed", character_name="Mira", card=CARD, clock=lambda: NOON, random=lambda: 0.5)
    return base.with_(**changes)


def expand(text: str, environment: Environment | None = None) -> str:
    return LegacyMacros().expand(text, environment or zed())


class TestNames:
    @pytest.mark.parametrize("text", ["{{user}}", "{{USER}}", "<USER>", "<user>"])
    def test_case_does_not_matter(self, text: str) -> None:
        assert expand(text) == "Zed"

    @pytest.mark.parametrize(
        "text", ["{{ user }}", "{{user }}", "< USER>", "{{user::x}}", "{{u\u017fer}}", "{{nobody}}"]
    )
    def test_anything_else_stays_as_it_is(self, text: str) -> None:
        assert expand(text) == text

    def test_a_name_that_is_a_macro_is_expanded_by_the_passes_after_it(self) -> None:
        environment = zed(user_name="{{char}}", character_name="{{user}}")

        assert expand("{{user}}", environment) == "{{user}}"

    def test_not_char_holds_muted_members_and_the_user(self) -> None:
        group = GroupNames(members=("Mira", "Oskar", "Pell"), muted=frozenset({"Pell"}))

        assert expand("{{group}}|{{groupNotMuted}}|{{notChar}}", zed(group=group)) == (
            "Mira, Oskar, Pell|Mira, Oskar|Oskar, Pell, Zed"
        )


class TestCard:
    def test_texts_of_the_card_are_expanded(self) -> None:
        assert expand("{{description}} {{charPrompt}}") == "Mira keeps Zed's lamp. Speak as Mira."

    def test_card_macros_stay_where_the_card_is_not_to_be_expanded(self) -> None:
        assert expand("{{description}} {{user}}", zed(expands_card=False)) == "{{description}} Zed"

    def test_a_card_text_can_quote_one_of_a_later_pass_but_not_itself(self) -> None:
        card = CardFields(description="{{personality}} {{description}}", personality="{{description}} wry")

        assert expand("{{description}}", zed(card=card)) == "{{description}} wry {{description}}"

    def test_variables_that_the_card_sets_can_be_read(self) -> None:
        card = CardFields(description="{{setvar::mood::gloomy}}A lighthouse.")

        assert expand("{{getvar::mood}}", zed(card=card)) == "gloomy"

    def test_the_original_is_given_once(self) -> None:
        environment = zed(original="for {{user}}")

        assert expand("{{original}}|{{ORIGINAL}}|", environment) == "for Zed||"
        assert expand("{{original}}") == "{{original}}"


class TestDynamicMacros:
    @pytest.mark.parametrize(
        ("value", "text"),
        [("x", "x"), (5, "5"), (2.5, "2.5"), (None, ""), (True, "true"), ({"a": 1}, '{"a":1}'), ([1, 2], "[1,2]")],
    )
    def test_values_become_text(self, value: DynamicMacro, text: str) -> None:
        assert expand("{{it}}", zed(dynamic_macros={"it": value})) == text

    def test_a_function_is_asked(self) -> None:
        assert expand("{{it}}", zed(dynamic_macros={"it": lambda: "made"})) == "made"

    def test_they_may_take_the_place_of_names_but_not_of_earlier_passes(self) -> None:
        environment = zed(dynamic_macros={"user": "Dyn", "newline": "NL", "é": "accented"})

        assert expand("{{user}} <USER> {{newline}} {{É}}", environment) == "Dyn Dyn \n accented"

    def test_they_come_after_the_names(self) -> None:
        assert expand("{{it}}", zed(dynamic_macros={"it": "for {{user}}"})) == "for {{user}}"


class TestVariables:
    def test_every_set_happens_before_every_get(self) -> None:
        assert expand("{{getvar::x}}{{setvar::x::1}}") == "1"

    def test_a_value_ends_at_the_first_brace(self) -> None:
        variables = Variables()

        assert expand("{{setvar::a::{{user}}}}", zed(variables=variables)) == "}}"
        assert variables.snapshot() == {"a": "{{user"}

    def test_a_name_may_hold_braces(self) -> None:
        variables = Variables()

        expand("{{setvar::{{char}}::v}}", zed(variables=variables))

        assert variables.snapshot() == {"{{char}}": "v"}

    def test_an_empty_value_can_be_set_but_not_added(self) -> None:
        variables = Variables({"hp": "10"})

        assert expand("{{setvar::a::}}{{addvar::hp::}}", zed(variables=variables)) == "{{addvar::hp::}}"
        assert variables.snapshot() == {"hp": "10", "a": ""}

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("007", "7"),
            ("0x1F", "31"),
            (" ", " "),
            ([1, "x"], "1,x"),
            ([1, None, [2]], "1,,2"),
            ({"a": 1}, "[object Object]"),
            (True, "1"),
        ],
    )
    def test_values_are_written_as_javascript_writes_them(self, value: object, text: str) -> None:
        assert expand("{{getvar:: v }}", zed(variables=Variables({"v": value}))) == text

    def test_counting_gives_the_new_value(self) -> None:
        variables = Variables(global_={"list": '["a"]'})

        assert expand("{{incvar::n}}{{incvar::n}}{{decvar::n}} {{incglobalvar::list}}", zed(variables=variables)) == (
            "121 a,1"
        )
        assert variables.snapshot("global") == {"list": '["a",1]'}


class TestLists:
    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("{{random::a::b::c}}", "b"),
            ("{{random: a , b\\,b , c }}", "b,b"),
            ("{{random ::  a  ::  b  }}", "  b  "),
            ("{{pick::}}", ":"),
            ("{{random a,b}}", "{{random a,b}}"),
            ("{{random\u00a0:k}}", "k"),
            ("{{random\x1c:k}}", "{{random\x1c:k}}"),
        ],
    )
    def test_separators(self, text: str, result: str) -> None:
        assert expand(text) == result

    def test_a_pick_depends_on_the_chat_the_text_and_the_place(self) -> None:
        environment = zed(chat_id_hash=123456789)

        assert expand("{{pick::a::b::c::d}}", environment) == "a"
        assert expand("xx{{pick::a::b::c::d}}", environment) == "xxb"
        assert expand("xx{{pick::a::b::c::d}}", environment.with_(chat_id_hash=42)) == "xxc"


class TestDice:
    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("{{roll d6}}", "4"),
            ("{{roll: 2d6+1 }}", "9"),
            ("{{roll 20}}", "11"),
            ("{{roll::d6}}", ""),
            ("{{roll}}", "{{roll}}"),
        ],
    )
    def test_formulas(self, text: str, result: str) -> None:
        assert expand(text) == result


class TestChat:
    CHAT = (
        ChatLine(text="Hello.", name="Mira"),
        ChatLine(text="Hi!", name="Zed", is_user=True, sent="2024-03-15T10:00:00Z"),
        ChatLine(text="Mind the step.", name="Mira", swipe=0, swipe_count=2),
    )

    def test_last_messages(self) -> None:
        text = "{{lastMessage}}|{{lastMessageId}}|{{lastUserMessage}}|{{lastCharMessage}}"

        assert expand(text, zed(chat=self.CHAT)) == "Mind the step.|2|Hi!|Mind the step."

    def test_a_message_that_is_being_swiped_does_not_count(self) -> None:
        chat = (*self.CHAT[:2], self.CHAT[2].with_(swipe=2))

        assert expand("{{lastMessageId}} {{lastSwipeId}} {{currentSwipeId}}", zed(chat=chat)) == "1 2 3"

    def test_an_empty_chat(self) -> None:
        assert expand("[{{lastMessage}}{{lastMessageId}}{{lastSwipeId}}{{currentSwipeId}}]") == "[NaN]"

    def test_idle_duration(self) -> None:
        assert expand("{{idle_duration}}", zed(chat=self.CHAT)) == "2 hours"
        assert expand("{{idle_duration}}") == "just now"


class TestTime:
    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("{{time}} {{date}} {{weekday}}", "12:00 PM March 15, 2024 Friday"),
            ("{{isodate}}T{{isotime}}", "2024-03-15T12:00"),
            ("{{datetimeformat  DD.MM.YYYY}}", "15.03.2024"),
            ("{{datetimeformat::YYYY}}", "{{datetimeformat::YYYY}}"),
            ("{{time_utc-4}}", "8:00 AM"),
            ("{{timeDiff::2024-01-01::2024-01-05}}", "4 days ago"),
            ("{{timeDiff::{{isodate}}::2024-03-10}}", "in 5 days"),
        ],
    )
    def test_formats(self, text: str, result: str) -> None:
        assert expand(text) == result


class TestUtilities:
    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("a\n\r\n{{trim}}\n\nb", "ab"),
            ("a {{trim}} b", "a  b"),
            ("{{us{{noop}}er}}", "Zed"),
            ("{{reverse:{{user}}}}", "deZ"),
            ("{{reverse::abc}}", "cba:"),
            ("{{reverse:a\nb}}", "{{reverse:a\nb}}"),
            ("{{// multi\nline}}x", "x"),
            ("{{// {{setvar::a::1}} }}x{{getvar::a}}", "x1"),
            ("{{// unclosed", "{{// unclosed"),
        ],
    )
    def test_texts(self, text: str, result: str) -> None:
        assert expand(text) == result

    def test_what_is_being_typed_is_expanded(self) -> None:
        assert expand("{{input}}", zed(input_text="typed by {{user}}")) == "typed by Zed"

    def test_an_outlet_is_not(self) -> None:
        environment = zed(outlets={"lore": "about {{char}}"})

        assert expand("{{outlet:: lore }}{{outlet::none}}", environment) == "about {{char}}"

    @pytest.mark.parametrize(("api", "banned"), [("text", ['a"}} {{banned "b']), ("chat", [])])
    def test_banned_words_of_one_line_are_taken_together(self, api: str, banned: list[str]) -> None:
        environment = zed(model=ModelState().with_(api=api))

        assert expand('{{banned "a"}} {{banned "b"}}|', environment) == "|"
        assert environment.banned_words == banned

    def test_state(self) -> None:
        environment = zed(generation_type="swipe", model=ModelState(name="gpt-4", max_prompt=3795))

        assert (
            expand("{{model}} {{maxPrompt}} {{lastGenerationType}} {{isMobile}}", environment)
            == "gpt-4 3795 swipe false"
        )


class TestTemplates:
    def test_sequences_are_empty_while_instruct_is_off(self) -> None:
        instruct = Instruct(enabled=True, input_sequence="IN {{user}}", output_sequence="OUT")

        for enabled, result in [(True, "IN Zed|OUT"), (False, "|")]:
            environment = zed(settings=MacroSettings(instruct=instruct.with_(enabled=enabled)))
            assert expand("{{instructInput}}|{{instructLastOutput}}", environment) == result

    def test_the_card_may_bring_the_system_prompt(self) -> None:
        prompt = SystemPrompt(enabled=True, content="Default for {{char}}.")

        for preferred, result in [(True, "Speak as Mira."), (False, "Default for Mira.")]:
            environment = zed(settings=MacroSettings(system_prompt=prompt, prefer_character_prompt=preferred))
            assert expand("{{systemPrompt}}", environment) == result


CALLS = [
    "user",
    "getvar::a",
    "setvar::a::",
    "addvar::a::1",
    "random::",
    "pick::",
    "reverse:",
    "roll d6",
    "trim",
    "noop",
]
PIECES = [
    "{{",
    "}}",
    "{",
    "}",
    "::",
    ":",
    " ",
    "\n",
    '"',
    "//",
    "<USER>",
    "banned ",
    "timeDiff::",
    "description",
    *CALLS,
]
BRACES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


class TestSkipping:
    @given(text=BRACES, name=st.sampled_from(["Zed", "", "{", "{{", "us", "<US", "{{random::a"]))
    def test_leaving_out_passes_changes_nothing(self, text: str, name: str) -> None:
        environment = zed(user_name=name)
        every_pass = zed(user_name=name)
        expansion = LegacyExpansion(
            text, every_pass, expanded_card(every_pass, expand), expand=expand, limits=MacroLimits()
        )
        result = text
        for kind in (*MARKER_PASSES, *PASSES_BEFORE_NAMES, *named_passes(every_pass), *PASSES_AFTER_NAMES):
            result = kind.run(result, expansion)

        assert expand(text, environment) == result


class TestLimits:
    @given(text=BRACES)
    def test_any_text_comes_to_an_end(self, text: str) -> None:
        assert isinstance(expand(text, zed()), str)

    @given(text=BRACES)
    def test_the_same_text_gives_the_same_result(self, text: str) -> None:
        first, second = (expand(text, zed()) for _ in range(2))

        assert first == second

    @given(text=st.text().filter(lambda text: "{{" not in text and "<" not in text))
    def test_text_without_macros_is_returned_itself(self, text: str) -> None:
        assert expand(text) is text

    @pytest.mark.parametrize(
        "unit", ["{{", "{{getvar::", "{{setvar::a", "\n{{", '{{banned "', "{{timeDiff::", "{{pick:a"]
    )
    def test_a_megabyte_of_openings_takes_linear_time(self, unit: str) -> None:
        text = unit * (1_000_000 // len(unit))

        with not_hanging():
            assert expand(text) == text

    @pytest.mark.parametrize(
        "text", ["{{long}}{{long}}", "{{setvar::a::xxxxxxxxxx}}{{getvar::a}}{{getvar::a}}{{getvar::a}}"]
    )
    def test_a_text_that_would_grow_too_long_is_left_as_it_is(self, text: str) -> None:
        problems: list[MacroProblem] = []
        engine = LegacyMacros(limits=MacroLimits(output=60), on_problem=problems.append)

        assert engine.expand(text, zed(dynamic_macros={"long": "x" * 50})) == text
        assert [problem.code for problem in problems] == ["macro_limit"]

    def test_so_is_a_text_with_too_many_calls_or_dice(self) -> None:
        engine = LegacyMacros(limits=MacroLimits(steps=100))

        for text in ["{{user}}" * 101, "{{roll 99d6}}{{roll 99d6}}"]:
            assert engine.expand(text, zed()) == text


class TestProblems:
    def test_what_is_left_is_told(self) -> None:
        problems: list[MacroProblem] = []
        environment = zed(dynamic_macros={"it": "{{user}}"})

        LegacyMacros().expand("{{it}} {{nobody}} {{char::x}} {{", environment, on_problem=problems.append)

        assert [(problem.code, problem.name, problem.position) for problem in problems] == [
            ("unconsumed_macro", "user", 0),
            ("unknown_macro", "nobody", 7),
            ("macro_syntax", "char", 18),
            ("macro_syntax", "", 30),
        ]

    def test_a_text_that_is_expanded_whole_has_none(self) -> None:
        problems: list[MacroProblem] = []

        LegacyMacros(on_problem=problems.append).expand("{{user}}{{description}}{{trim}}", zed())

        assert problems == []


def test_a_value_is_never_taken_for_a_replacement_pattern() -> None:
    names: Mapping[str, str] = {"it": r"$& $1 \1 \g<0>"}

    assert expand("{{it}}", zed(dynamic_macros=names)) == r"$& $1 \1 \g<0>"
