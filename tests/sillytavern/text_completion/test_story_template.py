"""The template language of story strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.text_completion.story_template import MAX_OUTPUT, render_story

VALUES = {"name": "Mira", "place": "the <lamp> & rock", "empty": ""}


def macros(text: str) -> str:
    return {"{{random::k}}": "k"}.get(text, text)


def rendered(template: str) -> str:
    return render_story(template, VALUES, macros)


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("plain } text { here }}", "plain } text { here }}"),
        ("{{name}} at {{ place }}", "Mira at the <lamp> & rock"),
        ("{{{name}}}{{&name}}{{[name]}}{{this.name}}{{./name}}{{'name'}}", "Mira" * 6),
        ("[{{empty}}]", "[]"),
        ("{{name.length}}{{name.first.last}}{{@index}}{{../name}}", "4{{index}}"),
        ("{{this}}", "[object Object]"),
    ],
)
def test_a_name_writes_its_value(template, output):
    assert rendered(template) == output


def test_nothing_is_escaped():
    assert rendered("{{place}}") == VALUES["place"]


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{random::k}}", "k"),
        ("{{unknown}}", "{{unknown}}"),
        ("{{unknown with arguments}}", "{{unknown}}"),
        ("{{setvar::a::b}}", "{{setvar::a::b}}"),
        ("{{12}}", "{{12}}"),
        ("a\n{{trim}}\nb", "a\n{{trim}}\nb"),
        ("{{log name}}", ""),
    ],
)
def test_a_name_without_a_value_is_a_macro(template, output):
    assert rendered(template) == output


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{#if name}}yes{{/if}}", "yes"),
        ("{{#if empty}}yes{{/if}}", ""),
        ("{{#if missing}}yes{{else}}no{{/if}}", "no"),
        ("{{#if empty}}yes{{^}}no{{/if}}", "no"),
        ("{{#if empty}}1{{else if name}}2{{else}}3{{/if}}", "2"),
        ("{{#if empty}}1{{else if missing}}2{{else}}3{{/if}}", "3"),
        ("{{#unless empty}}none{{else}}some{{/unless}}", "none"),
        ("{{#if name}}{{#if place}}both{{/if}}{{#unless place}}one{{/unless}}{{/if}}", "both"),
        ("{{#if true}}1{{/if}}{{#if 0}}2{{/if}}{{#if ''}}3{{/if}}{{#if null}}4{{/if}}{{#if 5}}5{{/if}}", "15"),
        ("{{#if (unknown name)}}a macro is something{{/if}}", "a macro is something"),
        ("{{#if name includeZero=true}}yes{{/if}}", "yes"),
        ("{{#with name}}{{this}} at {{../place}}{{else}}nobody{{/with}}", "Mira at the <lamp> & rock"),
        ("{{#with empty}}{{this}}{{else}}nobody{{/with}}", "nobody"),
        ("{{#name}}<{{this}}>{{@root.name}}{{/name}}", "<Mira>Mira"),
        ("{{#each name}}x{{else}}no list{{/each}}", "no list"),
        ("{{^empty}}x{{/empty}}", ""),
        ("{{#each this}}{{@key}} {{/each}}", "name place empty "),
        ("{{lookup this 'name'}}", "Mira"),
        ("{{#name}}{{length}}{{/name}}", "4"),
    ],
)
def test_blocks_choose(template, output):
    assert rendered(template) == output


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("a{{! a comment }}b", "ab"),
        ("a{{!-- with {{name}} in it --}}b", "ab"),
        ("a{{!--}}b", "ab"),
        (r"\{{name}} is {{name}}", "{{name}} is Mira"),
        (r"\\{{name}}", r"\Mira"),
    ],
)
def test_comments_and_escapes(template, output):
    assert rendered(template) == output


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("a {{~name~}} b", "aMirab"),
        ("a \n {{~name}} b", "aMira b"),
        ("a {{~! comment ~}} b", "ab"),
        ("a {{~#if name~}} b {{~else~}} c {{~/if~}} d", "abd"),
        ("a {{{name~}}} b", None),
        ("a {{~{name}~}} b", "aMirab"),
    ],
)
def test_tildes_take_white_space_away(template, output):
    if output is None:
        with pytest.raises(InvalidContextTemplateError):
            rendered(template)
    else:
        assert rendered(template) == output


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{#if name}}\nyes\n{{/if}}\nend", "yes\nend"),
        ("a\n  {{#if name}}  \n yes\n  {{/if}}  \nend", "a\n yes\nend"),
        ("{{#if empty}}\nyes\n{{else}}\nno\n{{/if}}\nend", "no\nend"),
        ("{{#if empty}}\n1\n{{else if name}}\n2\n{{/if}}\nend", "2\nend"),
        ("{{#if name}}{{name}}\n{{/if}}end", "Mira\nend"),
        ("x {{#if name}}\nyes\n{{/if}}", "x \nyes\n"),
        ("a\n {{! alone }} \nb", "a\nb"),
        ("a {{! not alone }}\nb", "a \nb"),
        ("a\n{{name}}\nb", "a\nMira\nb"),
        ("\n\n{{#if name}}\n\nyes{{/if}}", "\n\n\nyes"),
    ],
)
def test_a_block_or_comment_alone_on_its_line_takes_the_line_away(template, output):
    assert rendered(template) == output


@pytest.mark.parametrize(
    ("template", "where"),
    [
        ("{{#if name}}", "in line 1: it ends while a block is open"),
        ("ab{{/if}}", "in line 1 at '{{/if}}': a block is closed here that was never opened"),
        ("a\n\n{{else}}", "in line 3 at '{{else}}': a block is divided here that was never opened, or a second time"),
        ("{{#if name}}{{else}}{{else}}{{/if}}", "a block is divided here that was never opened, or a second time"),
        ("{{#if name}}{{/unless}}", "in line 1: if doesn't match unless"),
        ("{{#if}}{{/if}}", ": #if requires exactly one argument"),
        ("{{}}", "in line 1 at '}}': a tag is empty or ends too early"),
        ("{{name", "in line 1 at 'name': this is not expected here"),
        ("{{random::a,b}}", "in line 1 at 'random::a,b}}': this is not expected here"),
        ("{{f )}}", "in line 1 at ')}}': this is not expected here"),
        ("{{name place}}", ": a value takes no arguments"),
        ("{{name/..}}", "in line 1: Invalid path: name/.."),
        ("\0", ": Lexical error on line 1. Unrecognized text"),
        ("{{> partial}}", ": The partial partial could not be found"),
    ],
)
def test_mistakes_are_named_with_their_place(template, where):
    with pytest.raises(InvalidContextTemplateError) as caught:
        rendered(template)
    assert str(caught.value).startswith("The story string cannot be read")
    assert where in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "{{#if name}}" * 500 + "{{/if}}" * 500,
        "{{name}}" * 20_000,
        "{{f " + "(f " * 500 + ")" * 500 + "}}",
        "x" * 2_000_000,
        "{{" * 100_000,
        "{{!--" * 50_000,
        "{{name " + "'" * 99_999 + "}}",
        "{{#if name}}" + " " * 200_000,
        "{{else if name}}" * 500,
    ],
)
def test_a_hostile_template_is_refused_quickly(template):
    with not_hanging(), pytest.raises(InvalidContextTemplateError):
        rendered(template)


def test_a_template_that_grows_without_end_is_refused():
    values = {"much": "x" * (MAX_OUTPUT // 100)}
    with pytest.raises(InvalidContextTemplateError, match="would become longer than"):
        render_story("{{much}}" * 101, values, macros)


PARTS = [
    "{{name}}",
    "{{#if name}}",
    "{{#if empty}}",
    "{{else}}",
    "{{/if}}",
    "{{~",
    "}}",
    "\n",
    " ",
    "x",
    "\\",
    "{{! c }}",
]


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_any_template_is_rendered_or_refused_with_a_sentence(template):
    outcome = ""
    try:
        rendered(template)
    except InvalidContextTemplateError as error:
        outcome = str(error)
    assert outcome == "" or outcome.endswith(".")


def test_the_next_template_is_rendered_after_one_that_used_everything_up():
    with pytest.raises(InvalidContextTemplateError):
        rendered("{{#each this}}" * 90 + "x" + "{{/each}}" * 90)
    assert rendered("{{name}}") == "Mira"


def test_a_macro_is_expanded_once_for_each_place_in_order():
    numbers = iter("123456")
    given = {"name": "Mira"}
    for template in ("{{a}}{{#if name}}{{b}}{{/if}}{{a}}", "{{a}}{{#with name}}{{b}}{{/with}}{{a}}"):
        assert render_story(template, given, lambda macro: macro + next(numbers)) in (
            "{{a}}1{{b}}2{{a}}3",
            "{{a}}4{{b}}5{{a}}6",
        )


def test_marks_in_a_template_are_only_text():
    assert rendered("\ue000name\ue000 {{name}} \ue000\ue000") == "\ue000name\ue000 Mira \ue000\ue000"


texts = st.text(alphabet="ab \n", max_size=8)


@given(texts, texts, texts)
def test_the_untaken_arm_leaves_no_letter(before, yes, no):
    shown = rendered(f"{before}{{{{#if name}}}}{yes}{{{{else}}}}{no.replace('a', 'X').replace('b', 'X')}{{{{/if}}}}")
    assert "X" not in shown
    assert shown.replace("\n", "").replace(" ", "") == (before + yes).replace("\n", "").replace(" ", "")


@given(st.text(alphabet=st.characters(exclude_characters="\0{\\", exclude_categories=("Cs",))))
def test_text_without_tags_is_itself(text):
    assert rendered(text) == text
