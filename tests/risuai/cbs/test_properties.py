"""What holds for every text, however broken it is."""

import re

from hypothesis import example, given
from hypothesis import strategies as st
from tests.risuai.cbs.character_by_character import expand_plainly
from tests.risuai.cbs.scenes import scene

from tavernkit.risuai.cbs import CBS, CBSEnvironment, Functions, expand

BRACES = st.sampled_from(["{", "}", "#", "{{", "}}", "{#", "#}", "{{/}}", "{{:else}}", "//", "\n", " ", "a", "::", "1"])
TAGS = st.sampled_from(
    [
        "{{user}}",
        "{{head}}",
        "{{end}}",
        "{{hash}}",
        "{{open}}",
        "{{close}}",
        "{{else}}",
        "{{char",
        "<user>",
        "{{lower::",
        "{{#when::1}}",
        "{{#when::0}}",
        "{{#when::var::flag}}",
        "{{#when::keep::0}}",
        "{{#if 1}}",
        "{{#if 0}}",
        "{{#if_pure 1}}",
        "{{#pure}}",
        "{{#escape}}",
        "{{#code}}",
        "{{#each a§{§} x}}",
        "{{#each ",
        ' ["#","{{"] x}}',
        "{{slot::x}}",
        "{{#func f}}",
        "{{/if}}",
        "{{/each}}",
        "{#if 1\n",
        "{{#nothing}}",
        "{{// a comment}}",
        "\\n",
    ]
)
SOUP = st.lists(st.one_of(BRACES, TAGS), max_size=40).map("".join)


ANSWERS = {
    "user": "Tess",
    "head": "#when::1",
    "end": "/",
    "hash": "#",
    "open": "{{",
    "close": "}}",
    "else": "{{:else}}",
}


def answering_engine() -> CBS:
    functions = Functions()
    for name, answer in ANSWERS.items():
        functions.register(name, lambda _, answer=answer: answer)
    return CBS(functions)


@given(SOUP)
def test_every_text_has_an_expansion(text: str) -> None:
    assert isinstance(expand(text, scene({"flag": "1"})), str)


@given(st.text())
def test_any_text_at_all_has_an_expansion(text: str) -> None:
    assert isinstance(expand(text, scene()), str)


@given(st.text().filter(lambda text: not re.search(r"\{[{#]|<(user|char|bot)>", text, re.IGNORECASE)))
def test_text_without_opening_braces_and_markers_is_given_back(text: str) -> None:
    assert expand(text, scene()) == text


@given(SOUP)
def test_a_text_that_was_seen_before_expands_as_one_that_was_not(text: str) -> None:
    engine = CBS()
    unseen = engine.expand(text, CBSEnvironment(scene({"flag": "1"})))
    seen = engine.expand(text, CBSEnvironment(scene({"flag": "1"})))
    assert seen == unseen == CBS().expand(text, CBSEnvironment(scene({"flag": "1"})))


@given(SOUP)
@example("{{{{head}}}}a{{{{end}}}}")
@example('{{#each ["{"] x}}{{slot::x}}{{/each}}{user}}')
@example("{{#if 0}}a{{:else}}b{{/if}}")
@example("{{lower::" * 600 + "}}" * 600)
@example("{{#when::1}}" * 600 + "}}{{/}}" * 600)
@example("{{" * 509 + "{{user}}{{#when::1}}{{user}}{{/}}" + "}}" * 509)
def test_reading_ahead_changes_nothing(text: str) -> None:
    plainly = expand_plainly(text, scene({"flag": "1"}), ANSWERS)
    assert answering_engine().expand(text, CBSEnvironment(scene({"flag": "1"}))) == plainly
