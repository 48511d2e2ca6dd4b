"""Reading: the page stays with the newest words, or exactly where the reader is."""

from playwright.sync_api import Page, expect

from tests.playground.web.sample_site import SampleSite, message_stream, run_stream

AT_THE_END = "() => Math.abs(document.scrollingElement.scrollHeight - innerHeight - scrollY) < 2"


def open_long(page: Page, site: SampleSite) -> None:
    page.goto("/conversations/long")
    site.wait_for_listener()
    page.wait_for_function(AT_THE_END)


def scroll_up(page: Page, by: int) -> None:
    page.mouse.move(200, 300)
    page.evaluate("() => { window.scrolled = new Promise((done) => addEventListener('scrollend', done)) }")
    page.mouse.wheel(0, -by)
    page.evaluate("() => window.scrolled.then(() => true)")


def wait_for_frames(page: Page) -> None:
    """Wait until the page has been drawn twice: what its scripts do in answer to a change is done by then."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")


def test_the_newest_words_are_followed(page: Page, site: SampleSite) -> None:
    open_long(page, site)
    site.streams(8, message_stream(61, "A new one.\n\n" * 20) + run_stream("And more.\n\n" * 20))
    expect(page.locator("#messages > li")).to_have_count(21)
    page.wait_for_function(AT_THE_END)
    site.piece(len("And more.\n\n" * 20), "Still more.\n\n" * 20)
    expect(page.locator("#run .story p")).to_have_count(40)
    page.wait_for_function(AT_THE_END)


def test_a_reader_elsewhere_is_told_and_not_moved(page: Page, site: SampleSite) -> None:
    open_long(page, site)
    scroll_up(page, 900)
    before = page.evaluate("scrollY")
    below = page.get_by_role("button", name="Jump to latest")
    expect(below).to_be_hidden()
    site.streams(8, message_stream(61, "A new one.\n\n" * 20))
    expect(below).to_be_visible()
    assert page.evaluate("scrollY") == before
    below.click()
    page.wait_for_function(AT_THE_END)
    expect(below).to_be_hidden()


def test_older_messages_come_without_a_jump_down_to_the_first(page: Page, site: SampleSite) -> None:
    open_long(page, site)
    for first in (21, 1):
        top = page.locator("[data-seq]").first
        number = top.get_attribute("data-seq")
        shown = page.locator(f"[data-seq='{number}']")
        page.evaluate("scrollTo(0, 0)")
        before = shown.evaluate("one => one.getBoundingClientRect().top")
        expect(page.locator("[data-seq]").first).to_have_attribute("data-seq", str(first))
        wait_for_frames(page)
        assert abs(shown.evaluate("one => one.getBoundingClientRect().top") - before) < 40
    numbers = page.locator("[data-seq]").evaluate_all("all => all.map(one => Number(one.dataset.seq))")
    assert numbers == list(range(1, 61))
    expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()
    assert page.get_by_text("Load older messages").count() == 0


def test_a_new_page_begins_at_its_end_when_it_comes_by_a_link(page: Page, site: SampleSite) -> None:
    page.goto("/")
    page.evaluate("document.querySelector('.story-card a').href = '/conversations/long'")
    page.locator(".story-card a").first.click()
    expect(page.locator("#messages > li")).to_have_count(20)
    page.wait_for_function(AT_THE_END)
    expect(page.locator("html")).not_to_have_attribute("aria-busy", "true")
    wait_for_frames(page)
    assert page.evaluate(AT_THE_END)
