"""Pages, forms and events in the language of who reads them; programs get English."""

import asyncio
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from tavernkit.playground.base.accounts.profile import set_language
from tavernkit.playground.base.languages import LANGUAGES, gettext, translated, use_language
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import not_found
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.models_api.models_client import models_client
from tests.playground.realtime.listening import Page
from tests.playground.spaces.panel import STREAMS
from tests.playground.stories import open_story
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio

NOBODY = UUID(int=7)
FIELD = gettext("Language of the interface")
RUSSIAN = {"Accept-Language": "ru-RU,ru;q=0.9,en;q=0.8"}


@pytest.fixture
async def installation(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Installation]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation


def language_of(page: httpx2.Response) -> str:
    """The language that a page declares, after a look at whether it is written in it."""
    declared = re.search(r'<html lang="([^"]+)"', page.text)
    assert declared is not None
    shown = [language for language in LANGUAGES if translated(FIELD, language) in page.text]
    assert shown == [declared[1]]
    return declared[1]


@pytest.mark.parametrize(
    ("header", "language"), [("en-GB,en", "en"), ("ru-RU,ru;q=0.9,en;q=0.8", "ru"), ("zh-CN,zh;q=0.9", "zh-Hans")]
)
async def test_without_a_choice_a_page_is_in_the_language_of_the_browser(
    installation: Installation, header: str, language: str
) -> None:
    page = await installation.browser().get("/account", headers={"Accept-Language": header})
    assert language_of(page) == language


async def test_the_choice_of_an_account_wins_over_the_browser(installation: Installation) -> None:
    browser = installation.browser()
    browser.headers.update(RUSSIAN)
    changed = await browser.post("/account/language", data={"language": "zh-Hans"})
    assert (changed.status_code, changed.headers["location"]) == (303, "/account")
    page = await browser.get("/account")
    assert language_of(page) == "zh-Hans"
    assert '<option value="zh-Hans" lang="zh-Hans" selected>' in page.text
    await browser.post("/account/language", data={"language": ""})
    assert language_of(await browser.get("/account")) == "ru"


async def test_each_of_two_people_reads_in_their_own_language(installation: Installation) -> None:
    olga, hugo = await installation.owner_with_password(), await installation.add("Hugo")
    await set_language(installation.runtime, olga, "ru")
    await set_language(installation.runtime, hugo, "zh-Hans")
    first, second = await installation.signed_in(olga), await installation.signed_in(hugo)
    pages = await asyncio.gather(*(person.get("/account") for person in (first, second) for _ in range(3)))
    assert [language_of(page) for page in pages] == ["ru"] * 3 + ["zh-Hans"] * 3


async def test_the_page_for_signing_in_is_in_the_language_of_the_browser(installation: Installation) -> None:
    await set_language(installation.runtime, await installation.owner_with_password(), "zh-Hans")
    for language in ("en", "ru"):
        page = await installation.browser().get("/sign-in", headers={"Accept-Language": language})
        assert f'<html lang="{language}">' in page.text
        assert f">{translated(gettext('Sign in'), language)}</h1>" in page.text


async def test_a_language_that_there_is_not_is_refused_in_the_language_of_the_reader(
    installation: Installation,
) -> None:
    browser = installation.browser()
    page = await browser.post("/account/language", data={"language": "tlh"}, headers=RUSSIAN)
    assert page.status_code == 422
    sentence = gettext("The interface does not have this language. Choose another one.")
    assert translated(sentence, "ru") != sentence
    assert translated(sentence, "ru") in page.text
    assert (await installation.user(installation.play.user_id)).language is None


async def test_a_refused_form_says_why_in_the_language_of_the_reader(installation: Installation) -> None:
    browser = installation.browser()
    address, sentence = f"/presets/{NOBODY}/duplicate", not_found(gettext("preset")).sentence
    for language in LANGUAGES:
        headers = {"Accept-Language": language}
        with_scripts = await browser.post(address, headers={**STREAMS, **headers})
        without = await browser.post(address, headers=headers)
        for answer in (with_scripts, without):
            assert answer.status_code == 404
            assert translated(sentence, language) in unescape(answer.text)
    assert translated(sentence, "ru") != translated(sentence, "zh-Hans") != sentence


async def test_programs_get_english_whatever_the_person_and_the_browser_want(installation: Installation) -> None:
    await set_language(installation.runtime, installation.play.viewer, "zh-Hans")
    answer = await installation.browser().get(f"/api/v1/presets/{NOBODY}", headers=RUSSIAN)
    error = answer.json()["error"]
    assert (error["code"], error["sentence"]) == ("not_found", not_found("preset").sentence)
    missing = await installation.browser().get("/api/v1/nothing", headers=RUSSIAN)
    assert missing.json()["error"]["sentence"].isascii()


async def test_programs_that_ask_characters_get_english(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(), works=False) as client:
        answer = await client.client.get("/v1/models/nobody", headers=RUSSIAN)
    assert answer.status_code == 404
    assert answer.json()["error"]["message"].isascii()


async def test_languages_cost_no_statement(installation: Installation) -> None:
    browser = installation.browser()
    counts = []
    for language in ("", "ru", "zh-Hans"):
        await set_language(installation.runtime, installation.play.viewer, language)
        with counted_statements(installation.runtime.database) as sent:
            await browser.get("/account", headers=RUSSIAN)
        counts.append(len(sent))
    assert len(set(counts)) == 1


async def test_two_who_read_one_story_at_once_get_its_events_in_their_languages(
    sqlite_url: str, tmp_path: Path
) -> None:
    retry = gettext("Retry")
    gate = asyncio.Event()
    model = ScriptedModel((gate, ModelError("It is out of order.", code="http_error")))
    async with open_story(sqlite_url, tmp_path, model) as play:
        listening = {language: asyncio.Event() for language in LANGUAGES}

        async def read(language: str) -> str:
            use_language(language)
            page = Page(play)
            await page.take(1)
            listening[language].set()
            events = await page.until(lambda event: 'data-status="failed"' in event["data"])
            await page.leave()
            return events[-1]["data"]

        readers = [asyncio.create_task(read(language)) for language in LANGUAGES]
        await asyncio.gather(*(event.wait() for event in listening.values()))
        await play.say("Good evening.")
        async with play.working():
            gate.set()
            read_by = dict(zip(LANGUAGES, await asyncio.gather(*readers), strict=True))
    words = {language: translated(retry, language) for language in LANGUAGES}
    assert len(set(words.values())) == len(LANGUAGES)
    for language, html in read_by.items():
        assert [other for other in LANGUAGES if f">{words[other]}</button>" in html] == [language]
