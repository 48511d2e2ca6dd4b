"""The engine: how macros are found and answered, its modes, its limits, and what others see of it."""

import pytest
from tests.risuai.cbs.scenes import scene
from tests.support.hanging import not_hanging

from tavernkit.macros.engine import MacroEngine, MacroEnvironment, NameEnvironment
from tavernkit.macros.variables import Variables
from tavernkit.risuai.cbs import CBS, CBSCall, CBSEnvironment, CBSOptions, FunctionPack, Functions, LeftAsText, expand
from tavernkit.risuai.errors import CBSError, CBSStackOverflowError, CBSSyntaxError

STRICT = CBSOptions(strict=True)
TOO_MANY = "ERROR: Call stack limit reached"


def shown(text: str, **character: str) -> str:
    return expand(text, scene({"fog": "4"}, **character))


def refused(text: str) -> CBSSyntaxError:
    with pytest.raises(CBSSyntaxError) as raised:
        expand(text, scene(), STRICT)
    return raised.value


class TestMacros:
    def test_the_innermost_is_answered_first_and_its_answer_is_text_of_the_outer_one(self) -> None:
        assert shown("{{{{lower::UPPER}}::{{user}}}}") == "TESS"

    def test_an_answer_is_not_read_again(self) -> None:
        here = scene({"tricky": "{{user}}"})
        assert expand("{{getvar::tricky}}", here) == "{{user}}"

    @pytest.mark.parametrize("name", ["user", "USER", "u_s-e r", " user "])
    def test_case_blanks_and_dashes_do_not_matter_in_names(self, name: str) -> None:
        assert shown(f"{{{{{name}}}}}") == "Tess"

    def test_the_first_colon_decides_what_parts_arguments(self) -> None:
        assert shown("{{equal::a:b::a:b}}") == "1"
        assert shown("{{equal:a:a::b}}") == "1"

    @pytest.mark.parametrize(
        "text", ["{{nosuch}}", "{{nosuch::a::b}}", "{{}}", "{{// said aside}}", "{{?1+1}}", "{{/}}"]
    )
    def test_what_nobody_answers_stays(self, text: str) -> None:
        assert shown(text) == text

    def test_markers_stand_for_macros(self) -> None:
        assert shown("<user> <CHAR> <Bot> {{equal::<user>::Tess}} <user >") == "Tess Marlow Marlow 1 <user >"

    @pytest.mark.parametrize("text", ["{", "}", "{}", "{ {user} }", "}}", "#}", "{{user}", "a {b} c"])
    def test_other_braces_stay(self, text: str) -> None:
        assert shown(text) == text

    def test_return_ends_the_text(self) -> None:
        assert shown("before {{lower::{{return::out}}}} after") == "out"

    def test_surrogates_that_meet_are_one_character(self) -> None:
        assert shown("{{unicodedecode::55357}}{{unicodedecode::56832}}") == "\U0001f600"


class TestParsesWithinAParse:
    def test_twenty_are_the_limit(self) -> None:
        assert shown("{{#func r}}x{{call::r}}{{/func}}{{call::r}}") == "x" * 19 + TOO_MANY
        assert shown("{{description}}", description="{{char}} {{description}}") == "Marlow " * 19 + TOO_MANY

    def test_calls_and_functions_of_the_table_are_counted_apart(self) -> None:
        text = "{{#func c}}.{{/func}}" + "{{call::c}}" * 15 + "{{description}}" * 15
        assert shown(text, description=".") == "." * 30

    def test_functions_of_the_text_are_unknown_in_what_a_macro_brings_in(self) -> None:
        assert shown("{{#func f}}x{{/func}}{{description}}", description="{{call::f}}") == "{{call::f}}"

    def test_variables_of_the_parse_are_unknown_there_too(self) -> None:
        assert shown("{{settempvar::a::1}}{{tempvar::a}}{{description}}", description="[{{tempvar::a}}]") == "1[]"

    def test_strict_parsing_refuses_the_one_too_many(self) -> None:
        with pytest.raises(CBSStackOverflowError):
            expand("{{#func r}}x{{call::r}}{{/func}}{{call::r}}", scene(), STRICT)


class TestStrictParsing:
    def test_a_block_that_never_closes(self) -> None:
        error = refused("ab {{#when::1}}{{user}}")
        assert (error.position, error.block_type) == (3, "when")
        assert str(error) == "{{#when}} opens and never closes, at character 3."

    def test_the_position_is_that_of_the_text_as_it_was_given(self) -> None:
        assert refused("<user> & <char> {{#if 1}}").position == 16
        assert refused("{{#each a§b x}}{{slot::x}}{{/each}} {{#pure}}").position == 36
        assert refused("12{{#when::{{user}}::is::x}}").position == 2

    def test_a_macro_that_never_closes(self) -> None:
        error = refused("a {{user")
        assert (error.position, error.block_type) == (2, None)

    @pytest.mark.parametrize(
        ("text", "block_type"),
        [
            ("a {{#nothing}}x{{/nothing}}", "nothing"),
            ("a {{/if}}", "if"),
            ("a {{:else}}", "else"),
            ("a {{#if 0}}{{:else}}{{/if}}", "else"),
            ("a {{#func}}x{{/func}}", "func"),
        ],
    )
    def test_what_is_malformed(self, text: str, block_type: str) -> None:
        assert refused(text).block_type == block_type

    def test_in_a_text_that_a_macro_brings_in_there_is_no_position(self) -> None:
        with pytest.raises(CBSSyntaxError, match="in a text that a macro brought in") as raised:
            expand("{{description}}", scene(description="{{#when::1}}"), STRICT)
        assert raised.value.position is None

    def test_what_is_whole_passes(self) -> None:
        assert expand("{{#when::1}}{{user}}{{:else}}x{{/when}}{{nosuch}}", scene(), STRICT) == "Tess{{nosuch}}"


LIST = "§".join("x" * 100)
HOSTILE = {
    "lists in lists": f"{{{{#each {LIST} a}}}}" * 6 + "x" + "{{/each}}" * 6,
    "arguments that double": "{{#func f}}" + "{{arg::1}}" * 10 + "{{/func}}" + "{{call::f::" * 15 + "y" + "}}" * 15,
    "dollars": "{{#each " + "$'" * 2000 + " a}}" + "{{slot::a}}" * 2000 + "{{/each}}",
    "variables that double": "{{settempvar::a::xxxxxxxxxx}}" + "{{settempvar::a::{{tempvar::a}}{{tempvar::a}}}}" * 60,
    "a text that brings itself in": "{{description}}{{description}}",
    "sums in lists": f"{{{{#each {LIST} a}}}}{{{{? {'1+' * 50_000}}}}}{{{{/each}}}}",
}


class TestLimits:
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_a_text_that_costs_too_much_is_given_back_soon(self, text: str) -> None:
        with not_hanging(seconds=5):
            assert expand(text, scene(description=text)) == text

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_strict_parsing_refuses_it(self, text: str) -> None:
        with pytest.raises(CBSError):
            expand(text, scene(description=text), STRICT)

    def test_the_refusal_says_where_to_look(self) -> None:
        with pytest.raises(CBSError, match="costs too much to expand"):
            expand(HOSTILE["lists in lists"], scene(), STRICT)

    def test_what_opens_deeper_than_511_levels_never_closes(self) -> None:
        assert shown("{{lower::" * 510 + "X" + "}}" * 510) == "x"
        assert shown("{{lower::" * 512 + "X}}") == "{{lower::" * 510 + "<lower::" * 2 + "X}}"


class TestEngine:
    def test_it_is_a_macro_engine_and_its_environment_a_macro_environment(self) -> None:
        engine: MacroEngine = CBS()
        environment: MacroEnvironment = CBSEnvironment(scene(nickname="Quill"))
        assert engine.expand("{{char}} and {{user}}", environment) == "Quill and Tess"
        assert (environment.character_name, environment.user_name) == ("Quill", "Tess")

    def test_functions_can_be_added_and_replaced(self) -> None:
        pack = FunctionPack("weather")

        @pack.function("weather", "sky_now")
        def weather(call: CBSCall) -> str:
            return f"{call.need(0)} {call.parse('over {{user}}')}"

        engine = CBS(Functions([pack]))
        engine.functions.register("user", lambda _: "Robin", aliases=["me"])
        here = CBSEnvironment(scene())
        assert engine.expand("{{sky now::Rain}}, {{me}}, {{char}}", here) == "Rain over Robin, Robin, {{char}}"
        with pytest.raises(TypeError, match="'alias'"):
            engine.functions.register("moon", lambda _: "full", alias="luna")
        assert engine.expand("{{weather}}", here) == "{{weather}}"

    def test_a_function_can_leave_its_macro_in_the_text(self) -> None:
        functions = Functions()
        functions.register("nothing", lambda _: None)

        def refuse(_: CBSCall) -> str:
            raise LeftAsText

        functions.register("refuse", refuse)
        text = "{{nothing::a}}{{refuse}}"
        assert CBS(functions).expand(text, CBSEnvironment(scene())) == text

    def test_variables_in_their_scopes(self) -> None:
        environment = CBSEnvironment(scene(), CBSOptions(runs_variables=True))
        environment.set_var("mode", "2", "toggle")
        environment.set_var("mood", "calm", "temp")
        text = "{{setvar::a::1}}{{settempvar::b::2}}{{tempvar::mood}}{{#when::mode::tis::2}}!{{/when}}"
        assert CBS().expand(text, environment) == "calm!"
        assert environment.get_var("a") == "1"
        assert environment.get_var("b", "temp") == "2"
        assert environment.get_var("toggle_mode", "global") == environment.get_var("mode", "toggle") == "2"
        assert environment.has_var("mood", "temp")
        assert not environment.has_var("mood")

    def test_the_environment_of_another_build_gives_its_names_and_variables(self) -> None:
        foreign = NameEnvironment(character_name="Mira", user_name="Robin", variables=Variables({"fog": "4"}))
        assert CBS().expand("{{char}}, {{user}}, {{getvar::fog}}", foreign) == "Mira, Robin, 4"
