"""The template language of story strings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hanging import not_hanging

from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.text_completion.handlebars import render
from tavernkit.sillytavern.text_completion.handlebars.nodes import MAX_OUTPUT

VALUES = {"name": "Mira", "place": "the <lamp> & rock", "empty": ""}


def macros(text: str) -> str:
    return {"{{random::k}}": "k"}.get(text, text)


def rendered(template: str) -> str:
    return render(template, VALUES, macros)


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("plain } text { here }}", "plain } text { here }}"),
        ("{{name}} at {{ place }}", "Mira at the <lamp> & rock"),
        ("{{{name}}}{{&name}}{{[name]}}{{this.name}}{{./name}}{{'name'}}", "Mira" * 6),
        ("[{{empty}}]", "[]"),
        ("{{name.length}}{{name.first.last}}{{@index}}{{../name}}", ""),
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
        ("{{#if name}}", "character 1: the block `if` has no end"),
        ("ab{{/if}}", "character 3: a block is closed or divided here that was never opened"),
        ("{{else}}", "character 1: a block is closed or divided"),
        ("{{#if name}}{{/unless}}", "character 13: the block `if` is closed as `unless`"),
        ("{{#if name}}{{else}}{{else}}{{/if}}", "more than one `else`"),
        ("{{#if}}{{/if}}", "`if` needs exactly one argument"),
        ("{{if name place}}", "`if` needs exactly one argument"),
        ("{{}}", "a tag is empty or ends too early"),
        ("{{name", "a tag has no end"),
        ("{{! never", "a comment has no end"),
        ("{{random::a,b}}", "'r' is not expected here"),
        ("{{name place}}", "`name` is a value and takes no arguments"),
        ("{{name.x place}}", "`name.x` is no helper and takes no arguments"),
        ("{{name/..}}", "may only stand at the beginning"),
        ("{{f (g}}", "a parenthesis is not closed"),
        ("{{f a=1 b}}", "a named argument must stand behind the others"),
        ("{{f )}}", "')' is not expected here"),
        ("{{f =}}", "'=' is not expected here"),
        ("{{@=}}", "'=' is not expected here"),
        ("{{> partial}}", "tags that begin with `{{>` are not supported"),
        ("{{{{raw}}}}{{{{/raw}}}}", "tags that begin with `{{{{` are not supported"),
        ("{{#each this}}{{/each}}", "`each` over all values is not supported"),
        ("{{lookup this 'name'}}", "the helper `lookup` is not supported"),
    ],
)
def test_mistakes_are_named_with_their_place(template, where):
    with pytest.raises(InvalidContextTemplateError) as caught:
        rendered(template)
    assert where in str(caught.value)
    assert str(caught.value).startswith("The story string cannot be read at character ")


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
        render("{{much}}" * 101, values, macros)


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


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_any_template_is_rendered_or_refused_with_a_sentence(template):
    outcome = ""
    try:
        rendered(template)
    except InvalidContextTemplateError as error:
        outcome = str(error)
    assert outcome == "" or outcome.endswith(".")


texts = st.text(alphabet="ab \n", max_size=8)


@settings(max_examples=200)
@given(texts, texts, texts)
def test_the_untaken_arm_leaves_no_letter(before, yes, no):
    shown = rendered(f"{before}{{{{#if name}}}}{yes}{{{{else}}}}{no.replace('a', 'X').replace('b', 'X')}{{{{/if}}}}")
    assert "X" not in shown
    assert shown.replace("\n", "").replace(" ", "") == (before + yes).replace("\n", "").replace(" ", "")


@given(st.text(alphabet=st.characters(exclude_characters="{\\", exclude_categories=("Cs",))))
def test_text_without_tags_is_itself(text):
    assert rendered(text) == text
