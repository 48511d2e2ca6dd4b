"""Sentences that are English strings and can be shown in another language."""

import copy
import json
import pickle
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tavernkit.playground.base.languages import (
    LANGUAGES,
    Sentence,
    gettext,
    listed,
    ngettext,
    sentence_of,
    stored,
    stored_sentence,
    translated,
)
from tavernkit.playground.base.languages.sentences import filled_in, written
from tavernkit.playground.base.refused import not_found, stale
from tavernkit.playground.edge.web.rendering import templates

MISSING = not_found(gettext("account")).sentence
UNTRANSLATED = "No catalogue has this {what}."


def test_a_sentence_is_its_english_text_for_programs() -> None:
    sentence = gettext("{name} has {count} keys.", name="Ada", count=1200)
    assert sentence == "Ada has 1,200 keys."
    assert json.loads(json.dumps(sentence)) == "Ada has 1,200 keys."
    assert translated(sentence, "en") == "Ada has 1,200 keys."


def test_a_sentence_without_a_translation_stays_english_with_its_values() -> None:
    assert translated(gettext(UNTRANSLATED, what="sentence"), "ru") == "No catalogue has this sentence."


def test_a_sentence_is_translated_with_the_sentences_among_its_values() -> None:
    assert MISSING == "This account does not exist, or it belongs to somebody else."
    for language in ("ru", "zh-Hans"):
        shown = translated(MISSING, language)
        assert translated(gettext("account"), language) in shown
        assert "account" not in shown
        assert "{" not in shown


def test_a_value_that_is_no_sentence_is_shown_as_it_is() -> None:
    shown = translated(stale("account", None).sentence, "ru")
    assert "account" in shown
    assert shown != translated(stale("account", None).sentence, "en")


def test_any_other_text_is_left_as_it_is() -> None:
    assert translated("Save", "ru") == "Save"


def test_a_macro_that_a_sentence_is_about_stays() -> None:
    sentence = gettext("{{char}} is the name of {name}, {{name}} is not.", name="Ada")
    assert sentence == "{{char}} is the name of Ada, {{name}} is not."


def test_a_name_with_braces_is_not_read_as_a_place() -> None:
    assert gettext("{name} and {other}.", name="{other}", other="Ada") == "{other} and Ada."


def test_any_name_can_be_the_name_of_a_value() -> None:
    assert gettext("{template} {one}", template="T", one="O") == "T O"
    assert ngettext("{one} {count}", "{one} {many} {count}", 2, one="a", many="b") == "a b 2"


@pytest.mark.parametrize(
    ("count", "english"), [(0, "0 keys"), (1, "1 key"), (2, "2 keys"), (-1, "-1 keys"), (1000, "1,000 keys")]
)
def test_english_has_two_forms(count: int, english: str) -> None:
    assert ngettext("{count} key", "{count} keys", count) == english


def test_numbers_and_moments_are_written_as_the_language_does() -> None:
    moment = datetime(2026, 11, 18, 14, 5, tzinfo=UTC)
    assert [written(1234567, language) for language in LANGUAGES] == [
        "1,234,567",
        "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567",
        "1,234,567",
    ]
    assert [written(0.0625, language) for language in LANGUAGES] == ["0.0625", "0,0625", "0.0625"]
    russian, chinese = written(moment, "ru"), written(moment, "zh-Hans")
    assert "нояб" in russian
    assert "2026年11月18日" in chinese
    assert written(True, "ru") == "True"


@given(
    st.text(), st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.datetimes()))
)
def test_no_template_and_no_value_makes_a_sentence_fail(template: str, values: dict[str, object]) -> None:
    for language in LANGUAGES:
        assert isinstance(filled_in(template, values, language), str)


def test_a_sentence_survives_copying() -> None:
    sentence = ngettext("{count} key of {who}", "{count} keys of {who}", 3, who=gettext("account"))
    for copied in (copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence))):  # noqa: S301 - our own bytes
        assert isinstance(copied, Sentence)
        assert (copied, translated(copied, "ru")) == (sentence, translated(sentence, "ru"))


_VALUES = st.dictionaries(
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "count"),
    st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)),
)
_PLAIN = st.builds(lambda template, values: gettext(template, **values), st.text(), _VALUES)
_SENTENCES = st.one_of(
    st.just(MISSING),
    _PLAIN,
    st.builds(lambda inner: gettext("Stopped: {why}", why=inner), _PLAIN),
    st.builds(lambda count, values: ngettext("{count} key", "{count} keys", count, **values), st.integers(), _VALUES),
)


@given(st.lists(st.one_of(st.text(), st.just(MISSING)), max_size=100))
def test_a_list_of_any_length_is_one_sentence(items: list[str]) -> None:
    sentence = listed(items)
    assert sentence == ", ".join(items)
    assert translated(sentence, "ru").count(translated(MISSING, "ru")) == items.count(MISSING)


def test_an_error_says_the_sentence_that_it_was_raised_with() -> None:
    assert translated(sentence_of(ValueError(MISSING)), "ru") == translated(MISSING, "ru")
    assert sentence_of(ValueError(7)) == "7"
    assert sentence_of(ValueError()) == ""


@given(_SENTENCES)
def test_a_stored_error_is_the_same_sentence_after_json(sentence: Sentence) -> None:
    error = json.loads(json.dumps(stored("failed", sentence)))
    assert (error["code"], error["message"]) == ("failed", sentence)
    again = stored_sentence(error)
    assert again == sentence
    for language in LANGUAGES:
        assert translated(again, language) == translated(sentence, language)


def test_a_stored_error_can_have_any_value() -> None:
    error = stored("failed", gettext("{id} at {time}", id=UUID(int=7), time=datetime(2026, 11, 18, tzinfo=UTC)))
    assert str(UUID(int=7)) in stored_sentence(json.loads(json.dumps(error)))


def test_a_stored_error_of_an_older_version_is_shown_as_it_was_written() -> None:
    assert stored_sentence({"code": "failed", "message": "The model did not answer."}) == "The model did not answer."
    assert stored("failed", "Plain.") == {"code": "failed", "message": "Plain."}


@given(st.text(), st.text())
def test_html_among_the_values_stays_html_and_nothing_else_becomes_it(name: str, other: str) -> None:
    template = templates().from_string(
        '{{ _("<{name}> & {other} {link} {{char}} {0}", name=name, other=other, link=link) }}'
    )
    link = Markup('<a href="/">{name}</a>')
    shown = template.render(name=name, other=other, link=link)
    assert shown == f"&lt;{Markup.escape(name)}&gt; &amp; {Markup.escape(other)} {link} {{{{char}}}} {{0}}"


def test_a_template_shows_sentences_of_services_in_the_language_of_the_reader() -> None:
    shown = templates().from_string("{{ sentence }}").render(sentence=gettext("<b>{name}</b>", name="<i>"))
    assert shown == "&lt;b&gt;&lt;i&gt;&lt;/b&gt;"
