"""The interface in each of its languages: what it says, and whether that has room on the smallest phone."""

import json
import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from scripts.screenshots import LOCALES, pages_of, tell_story
from sqlalchemy import create_engine, make_url, select

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.languages import (
    LANGUAGES,
    gettext,
    messages_of_scripts,
    stored_sentence,
    translated,
)
from tests.browser.conftest import OpenWindow, Profile
from tests.browser.looks import MEASURED, NARROWEST, cut_off, lengthen_labels
from tests.browser.story import begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

LETTERS = {"en": r"[a-z]{3}", "ru": r"[а-яё]{3}", "zh-Hans": r"[\u4e00-\u9fff]{2}"}
"""What is found in every sentence of a language."""
SPOKEN = LANGUAGES if "TAVERNKIT_EDGE_FULL" in os.environ else ("ru",)
"""One that is not what the source says is enough; `make soak` has them all."""


@pytest.fixture(scope="module")
def server(scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose owner changes the language."""
    folder = tmp_path_factory.mktemp("languages")
    with running(ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        yield server


@pytest.fixture(scope="module")
def pages(browser: Browser, server: ServerProcess) -> dict[str, str]:
    """Every page that a reader can find, with something on it."""
    profile = Profile(browser, server)
    found = pages_of(profile.page, tell_story(server))
    profile.close()
    return found


@pytest.mark.parametrize("language", MEASURED)
def test_every_page_has_room_for_its_words_on_the_smallest_phone(
    browser: Browser, server: ServerProcess, pages: dict[str, str], language: str
) -> None:
    profile = Profile(browser, server, LOCALES[language])
    found: list[str] = []
    for name, path in pages.items():
        page = profile.open(NARROWEST, "light", "404")
        page.goto(path)
        assert page.locator("html").get_attribute("lang") == language
        found += [f"{name}: {problem}" for problem in cut_off(page)]
        if language == "en":
            lengthen_labels(page)
            found += [f"{name}, with longer labels: {problem}" for problem in cut_off(page)]
    problems = [*found, *profile.close()]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("language", SPOKEN)
def test_after_the_language_is_changed_a_chat_and_its_errors_are_in_it(
    open_window: OpenWindow, server: ServerProcess, language: str
) -> None:
    page = open_window(server, new_profile=True)
    choose_language(page, language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_label(translated(gettext("Language of the interface"), language))).to_have_value(language)
    story = begin_story(page)
    story.send("[[say: Good evening.]]")
    story.expect_one_reply("Good evening.")
    expect(page.locator("#composer").get_by_role("button", name=translated(gettext("Send"), language))).to_be_visible()
    # What the scripts say is in the same catalogue.
    known = json.loads(page.locator("#messages_of_scripts").text_content() or "")
    assert known == {sentence: list(forms) for sentence, forms in messages_of_scripts(language).items()}
    expect(page.locator("#announcer")).to_have_text(re.compile(LETTERS[language]))
    story.send("[[error: 500]]")
    expect(story.button(translated(gettext("Retry"), language))).to_be_visible()
    sentence = last_error(server)
    assert re.search(LETTERS[language], translated(sentence, language))
    expect(story.run).to_contain_text(translated(sentence, language))
    choose_language(page, "")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.goto("about:blank")


def choose_language(page: Page, language: str) -> None:
    page.goto("/account")
    form = page.locator("form[action='/account/language']")
    form.locator("select").select_option(language)
    form.get_by_role("button").click()
    expect(page.locator("html")).to_have_attribute("lang", language or "en")


def last_error(server: ServerProcess) -> str:
    """Why the last reply failed, as it is stored."""
    engine = create_engine(make_url(server.database_url).set(drivername="sqlite"))
    query = select(Run.error).where(Run.error.is_not(None)).order_by(Run.created_at.desc())
    with engine.connect() as connection:
        error = connection.scalars(query).first()
    engine.dispose()
    assert error is not None
    return stored_sentence(error)
