"""Catalogues of other languages: their forms for numbers, and which language a browser asks for."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.languages import LANGUAGES, accepted_language, messages_of_scripts
from tavernkit.playground.base.languages.catalogues import ENGLISH, Catalogue, catalogue, read_catalogue

KEYS = "{count} key"
HEADER = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"""
RUSSIAN = f"""{HEADER}
#: frontend/keys.ts
msgid "{KEYS}"
msgid_plural "{{count}} keys"
msgstr[0] "{{count}} ключ"
msgstr[1] "{{count}} ключа"
msgstr[2] "{{count}} ключей"

#: src/keys.py
msgid "Keys"
msgstr "Ключи"

msgid "Nothing yet"
msgstr ""

#, fuzzy
msgid "Perhaps"
msgstr "Может быть"
"""
CHINESE = f"""{HEADER}
msgid "{KEYS}"
msgid_plural "{{count}} keys"
msgstr[0] "{{count}} 个密钥"
"""


def catalogue_of(text: str, language: str) -> Catalogue:
    return read_catalogue(io.BytesIO(text.encode()), language)


@pytest.mark.parametrize(
    ("form", "counts"),
    [("ключ", (1, 21, 101, 1001)), ("ключа", (2, 3, 4, 22, 104)), ("ключей", (0, 5, 11, 12, 14, 20, 111, 1000))],
)
def test_russian_has_three_forms(form: str, counts: tuple[int, ...]) -> None:
    russian = catalogue_of(RUSSIAN, "ru")
    for count in counts:
        assert russian.form(KEYS, count) == f"{{count}} {form}"
        assert russian.form(KEYS, -count) == f"{{count}} {form}"


@given(st.integers())
def test_chinese_has_one_form(count: int) -> None:
    assert catalogue_of(CHINESE, "zh-Hans").form(KEYS, count) == "{count} 个密钥"


def test_what_is_not_translated_for_certain_is_not_shown() -> None:
    russian = catalogue_of(RUSSIAN, "ru")
    assert russian.form("Keys", None) == "Ключи"
    assert russian.form("Keys", 7) == "Ключи"
    assert [russian.form(sentence, None) for sentence in ("Nothing yet", "Perhaps", "Unknown")] == [None] * 3
    assert russian.scripts == {KEYS}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.one_of(st.none(), st.integers()))
def test_a_catalogue_with_too_few_forms_gives_one_of_them(forms: list[str], count: int | None) -> None:
    russian = Catalogue(forms={KEYS: tuple(forms)}, plural=catalogue("ru").plural)
    assert russian.form(KEYS, count) in forms


def test_all_languages_can_be_read_by_many_threads_at_once() -> None:
    languages = [language for language in LANGUAGES if language != ENGLISH] * 8
    with ThreadPoolExecutor(8) as threads:
        read = list(threads.map(catalogue, languages))
    for language, found in zip(languages, read, strict=True):
        assert found.forms == catalogue(language).forms
        assert found.forms
        assert set(messages_of_scripts(language)) <= found.scripts
    assert messages_of_scripts(ENGLISH) == {}


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("*", "en"),
        ("de", "en"),
        ("ru", "ru"),
        ("RU-ru", "ru"),
        ("zh", "zh-Hans"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("zh-Hans-CN", "zh-Hans"),
        ("de-DE, de;q=0.9, ru;q=0.8, en;q=0.7", "ru"),
        ("en-US,en;q=0.9,ru;q=0.8", "en"),
        ("en;q=0.5, ru; q=0.7", "ru"),
        ("ru;q=0, zh;q=0.1", "zh-Hans"),
        ("ru;q=0.5, zh;q=0.5", "ru"),
        ("ru;q=nan, zh;q=-1, en;q=0.1", "en"),
        ("rue, english", "en"),
    ],
)
def test_the_browser_gets_the_language_that_it_wants_most(header: str, language: str) -> None:
    assert accepted_language(header) == language


_PIECES = st.sampled_from(["ru", "zh", "en", "-", "Hans", ";", "q", "=", "0.5", "1", ",", " ", "nan", "inf", "*", "\t"])


@given(st.one_of(st.text(), st.lists(_PIECES).map("".join)))
def test_any_header_gives_a_language_of_ours(header: str) -> None:
    assert accepted_language(header) in LANGUAGES


@given(st.permutations(["ru", "zh-CN", "en-GB", "de", "*"]))
def test_without_weights_the_first_language_of_ours_is_taken(wishes: list[str]) -> None:
    first = next(wish for wish in wishes if wish not in ("de", "*"))
    assert accepted_language(",".join(wishes)).partition("-")[0] == first.partition("-")[0]
