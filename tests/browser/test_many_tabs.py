"""More tabs than a browser opens connections to one server: they share one stream of events."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ServerProcess

# Eight tabs: a browser opens six connections.
TABS_OF_EACH = 4
NO_WORKER = "delete window.SharedWorker"
SET_VISIBILITY = """state => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true })
    document.dispatchEvent(new Event("visibilitychange"))
}"""
LONG_HIDDEN_MS = 11_000


@pytest.mark.parametrize("has_worker", [True, False], ids=["shared-worker", "leading-tab"])
def test_eight_tabs_of_two_conversations_send_and_show_every_reply(
    open_window: OpenWindow, site: ServerProcess, has_worker: bool
) -> None:
    page = open_window(site, new_profile=True)
    if not has_worker:
        page.context.add_init_script(NO_WORKER)
    addresses = [begin_story(page).page.url, begin_story(page).page.url]
    page.close()
    tabs = [[tab(page, address) for _ in range(TABS_OF_EACH)] for address in addresses]
    for views in tabs:
        for number, view in enumerate(views):
            view.send(f"Hello from tab {number}.")
            expect(view.messages).to_have_count(3 + 2 * number)
            expect(view.run).to_have_text("")
    for views in tabs:
        for view in views:
            expect(view.messages).to_have_count(1 + 2 * TABS_OF_EACH)
        assert len({tuple(view.words.all_inner_texts()) for view in views}) == 1


def test_another_tab_leads_when_the_leading_one_is_closed(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, new_profile=True)
    page.context.add_init_script(NO_WORKER)
    leading = begin_story(page)
    leading.send("Is the lamp lit?")
    others = [tab(page, page.url), tab(page, page.url)]
    for view in others:
        expect(view.messages).to_have_count(3)
    page.close()
    others[0].send("And now?")
    for view in others:
        expect(view.messages).to_have_count(5)


def test_a_hidden_tab_leaves_the_stream_and_catches_up_when_it_is_shown(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, new_profile=True)
    page.clock.install()
    hidden = begin_story(page)
    visible = tab(page, page.url)
    page.evaluate(SET_VISIBILITY, "hidden")
    page.clock.fast_forward(LONG_HIDDEN_MS)
    visible.send("Is the lamp lit?")
    expect(visible.messages).to_have_count(3)
    expect(hidden.messages).to_have_count(1)
    page.evaluate(SET_VISIBILITY, "visible")
    expect(hidden.messages).to_have_count(3)
    assert hidden.words.all_inner_texts() == visible.words.all_inner_texts()


def tab(page: Page, address: str) -> Story:
    """Another tab of the same browser."""
    opened = page.context.new_page()
    opened.goto(address)
    return Story(opened)
