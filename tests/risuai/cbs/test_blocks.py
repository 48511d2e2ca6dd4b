"""Blocks: which part of them is taken, what becomes of white space, and what is left alone."""

import pytest
from tests.risuai.cbs.scenes import scene

from tavernkit.risuai.cbs import CBSOptions, expand

HERE = {"fog": "4", "flag": "1", "no": "0", "list": '["oak","ash","elm"]'}


def shown(text: str) -> str:
    return expand(text, scene(HERE, toggles={"lantern": "1", "mode": "2"}))


def holds(condition: str) -> bool:
    return {"Y": True, "N": False}[shown(f"{{{{#when::{condition}}}}}Y{{{{:else}}}}N{{{{/when}}}}")]


class TestConditionsOfWhen:
    @pytest.mark.parametrize("condition", ["1", "true", "0::1", "1::xyz::1"])
    def test_only_1_and_true_are_true_and_an_unknown_operator_looks_at_its_right(self, condition: str) -> None:
        assert holds(condition)

    @pytest.mark.parametrize("condition", ["", "0", "TRUE", " 1", "2", "yes", "1::0", "and", "not", "1::and", "is::a"])
    def test_everything_else_is_false(self, condition: str) -> None:
        assert not holds(condition)

    @pytest.mark.parametrize("condition", ["1::and::true", "0::or::1", "a::is::a", "a::isnot::b", "not::0"])
    def test_logic(self, condition: str) -> None:
        assert holds(condition)

    @pytest.mark.parametrize("condition", ["5::>::3", "3::<::5", "5::>=::5", "5::<=::5.0", "7px::>::6"])
    def test_comparisons_go_in_reading_order(self, condition: str) -> None:
        assert holds(condition)
        assert not holds(condition.replace("5", "x").replace("7", "x"))

    @pytest.mark.parametrize(
        "condition",
        ["var::flag", "toggle::lantern", "fog::vis::4", "fog::visnot::5", "mode::tis::2", "mode::tisnot::3"],
    )
    def test_variables_and_toggles(self, condition: str) -> None:
        assert holds(condition)

    def test_operators_are_worked_off_from_the_right(self) -> None:
        assert holds("1::and::not::0")
        assert not holds("a::is::a::and::1")  # a is "0"
        assert holds("1::is::a::is::a")

    @pytest.mark.parametrize(("condition", "answer"), [("keep::1", True), ("keep::0", False), ("keep::not::0", True)])
    def test_a_modifier_keeps_its_operand(self, condition: str, answer: bool) -> None:
        assert holds(condition) is answer

    def test_a_blank_instead_of_colons_takes_one_word(self) -> None:
        assert shown("{{#when 1}}Y{{/when}}") == "Y"
        assert shown("{{#when not 0}}Y{{:else}}N{{/when}}") == "N"

    def test_the_head_may_come_from_macros_and_blocks(self) -> None:
        assert shown("{{#when::{{#when::1}}1{{/when}}::is::{{getvar::flag}}}}Y{{/when}}") == "Y"


class TestBodyOfWhen:
    def test_blank_lines_at_the_edges_go(self) -> None:
        assert shown("A\n{{#when::1}}\n\n  two\n  three\n\n{{/when}}\nB") == "A\n  two\n  three\nB"

    def test_keep_keeps_them(self) -> None:
        assert shown("A{{#when::keep::1}}\n two\n\n{{/when}}B") == "A\n two\n\nB"
        assert shown("A{{#when::keep::0}}\nx\n{{:else}}\n\ny\n{{/when}}B") == "A\ny\nB"

    def test_legacy_trims_like_if(self) -> None:
        assert shown("{{#when::legacy::1}}\n  a\n   b\n{{/when}}|") == "a\nb|"
        assert shown("{{#when::legacy::0}}{{setvar::x::1}}{{/when}}|") == "|"

    def test_else_in_a_body_of_many_lines_has_a_line_to_itself(self) -> None:
        assert shown("{{#when::0}}\na\n   {{:else}}   \nb\n{{/when}}") == "b"
        assert shown("{{#when::1}}a\n{{:else}} b{{/when}}") == "a\n{{:else}} b"
        assert shown("{{#when::0}}a{{:else}}\nb{{/when}}") == ""

    def test_the_first_else_counts(self) -> None:
        assert shown("{{#when::0}}a{{:else}}b{{:else}}c{{/when}}") == "b{{:else}}c"

    def test_macros_of_the_other_branch_run_all_the_same(self) -> None:
        here = scene()
        assert expand("{{#when::0}}{{setvar::q::1}}{{/when}}|", here, CBSOptions(runs_variables=True)) == "|"
        assert here.variables.get("q") == "1"

    def test_a_block_is_closed_by_any_name(self) -> None:
        assert shown("{{#when::1}}Y{{/anything}}{{#when::1}}Z{{/}}") == "YZ"


class TestIf:
    def test_trims_every_line(self) -> None:
        assert shown("{{#if 1}}\n  a\n   b \n{{/if}}|") == "a\nb|"

    def test_pure_leaves_white_space(self) -> None:
        assert shown("{{#if_pure true}}\n  a \n{{/if_pure}}|") == "\n  a \n|"

    @pytest.mark.parametrize("head", ["#if", "#if 0", "#if  1", "#if::1", "#if\t1"])
    def test_looks_at_the_second_word(self, head: str) -> None:
        assert shown(f"{{{{{head}}}}}Y{{{{/if}}}}|") == "|"

    def test_what_is_not_shown_is_not_run(self) -> None:
        here = scene()
        assert expand("{{#if 0}}{{setvar::z::1}}{{/if}}|", here, CBSOptions(runs_variables=True)) == "|"
        assert not here.variables.has("z")

    def test_an_else_inside_keeps_it_from_closing(self) -> None:
        assert shown("{{#if 0}}a{{:else}}b{{/if}}") == "<a{{:else}}b{{/if}}"


class TestLegacyIf:
    def test_shows_what_follows_the_first_line(self) -> None:
        assert shown("{#if {{getvar::flag}}\n yes {{user}} #}") == "yes Tess"

    @pytest.mark.parametrize("value", ["", "0", "-1"])
    def test_false(self, value: str) -> None:
        assert shown(f"{{#if {value}\nshown\n#}}|") == "|"

    def test_anything_else_stays(self) -> None:
        assert shown("{#if 1 shown#}") == "{#if 1 shown#}"


class TestEach:
    def test_the_last_word_names_the_slot(self) -> None:
        assert shown("{{#each {{getvar::list}} tree}}[{{slot::tree}}]{{/each}}") == "[oak][ash][elm]"
        assert shown('{{#each as ["x y","z"] w}}{{slot::w}}/{{/each}}') == "x y/z/"
        assert shown("{{#each a§b w}}{{slot::w}}{{/each}}") == "ab"

    def test_items_are_written_as_javascript_writes_them(self) -> None:
        assert shown('{{#each [null,true,1.50,["p",null],{}] t}}<{{slot::t}}>{{/each}}') == (
            "<null><true><1.5><p,><[object Object]>"
        )

    def test_dollars_have_their_meaning(self) -> None:
        assert shown('{{#each ["$&","$1","$$"] t}}<{{slot::t}}>{{/each}}') == "<{{slot::t}}><$1><$>"

    def test_lines_are_trimmed_and_keep_keeps_them(self) -> None:
        assert shown('{{#each ["a","b"] t}}\n  {{slot::t}} \n{{/each}}|') == "ab|"
        assert shown('{{#each::keep ["a","b"] t}}\n  {{slot::t}} \n{{/each}}|') == "\n  a \n\n  b \n|"

    def test_the_result_is_read_as_if_written_there(self) -> None:
        assert shown('{{#each ["user","char"] t}}{{ {{slot::t}} }},{{/each}}') == "Tess,Marlow,"
        assert shown('{{upper::{{#each ["a","b"] t}}{{slot::t}}{{/each}}}}') == "AB"

    def test_braces_may_be_completed_by_what_follows(self) -> None:
        assert shown('{{#each ["{"] t}}{{slot::t}}{{/each}}{user}}') == "Tess"
        assert shown('{{upper::a{{#each ["}"] t}}{{slot::t}}{{/each}}}!') == "A!"
        assert shown('{#if 1\na{{#each ["#"] t}}{{slot::t}}{{/each}}}!') == "a!"
        assert shown("{{#each a§b x}}{{#each c§d y}}{{slot::y}}{{/each}}{{/each}}") == "cdcd"

    def test_blocks_inside_are_worked_out_for_each_item(self) -> None:
        assert shown('{{#each ["a","b"] t}}{{#when::{{slot::t}}::is::a}}A{{/when}}{{slot::t}}{{/each}}') == "Aab"

    def test_an_else_inside_keeps_it_from_closing(self) -> None:
        assert shown("{{#each a§b t}}{{#when::1}}A{{:else}}B{{/when}}{{/each}}tail") == (
            "<{{#when::1}}A{{:else}}B{{/when}}{{/each}}tail"
        )


class TestFunctions:
    def test_argument_0_is_the_name(self) -> None:
        assert shown("{{#func hi}}[{{arg::0}}|{{arg::1}}|{{arg::2}}]{{/func}}{{call::hi::x}}") == "[hi|x|{{arg::2}}]"

    def test_functions_call_each_other(self) -> None:
        assert shown("{{#func a}}A{{call::b}}{{/func}}{{#func b}}B{{/func}}{{call::a}}") == "AB"

    def test_an_unknown_one_stays(self) -> None:
        assert shown("{{call::none}}{{call}}{{arg::0}}") == "{{call::none}}{{call}}{{arg::0}}"

    def test_a_call_inside_a_raw_block_runs(self) -> None:
        assert shown("{{#func f}}x{{/func}}{{#pure}}{{user}}{{call::f}}{{/pure}}") == "{{user}}x"

    def test_return_leaves_only_the_text_that_it_stands_in(self) -> None:
        assert shown("{{#func f}}a{{return::b}}c{{/func}}[{{call::f}}]") == "[b]"


class TestTextAsItIs:
    def test_pure_leaves_macros_and_blocks(self) -> None:
        assert shown("{{#pure}} {{user}} {{#when::1}}x{{/when}} {{/pure}}|") == "{{user}} {{#when::1}}x{{/when}}|"

    def test_markers_in_it_have_become_macros(self) -> None:
        assert shown("{{#pure}}<user>{{/pure}}") == "{{user}}"

    @pytest.mark.parametrize("name", ["puredisplay", "pure_display"])
    def test_for_the_page_braces_get_backslashes(self, name: str) -> None:
        assert shown(f"{{{{#{name}}}}}{{{{user}}}}{{{{/}}}}") == r"\{\{user\}\}"

    def test_escape_replaces_braces_and_brackets(self) -> None:
        assert shown("{{#escape}} {{a}}(b) {{/escape}}|") == "\ue9b8\ue9b8a\ue9b9\ue9b9\ue9bab\ue9bb|"
        assert shown("{{#escape::keep}} {a} {{/escape}}|") == " \ue9b8a\ue9b9 |"

    def test_code_is_one_line_with_its_escapes_read(self) -> None:
        assert shown("{{#code}} a\n\tb\\n{{user}}\\u0041\\q\\x{{/code}}|") == "ab\nTessAq\0|"
        assert shown("{{#code}}\\ud83d\\ude00{{/code}}") == "\U0001f600"


def test_what_is_never_closed_comes_back() -> None:
    assert shown("a {{user") == "a {{user"
    assert shown("a {#if 1") == "a {{if 1"
    assert shown("{{#pure}}open {{user}}") == "<open {{user}}"
    assert shown("{{#when::1}}{{upper::x") == "<{{upper::x"
    assert shown("{{#unknown}}x{{/unknown}}") == "{{#unknown}}x{{/unknown}}"
