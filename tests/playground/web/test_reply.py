"""A reply while it is written: pieces that come early, late, twice or not at all."""

from playwright.sync_api import Page, expect

from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.streams import stream
from tests.playground.web import samples
from tests.playground.web.sample_site import SampleSite, message_stream, no_run_stream, run_stream


def listen(page: Page, site: SampleSite, conversation: str = "story") -> None:
    page.goto(f"/conversations/{conversation}")
    site.wait_for_listener()


def begin_reply(page: Page, site: SampleSite) -> None:
    listen(page, site)
    site.streams(8, run_stream())
    expect(page.locator("#run")).to_have_attribute("data-status", "running")


def test_pieces_become_paragraphs_emphasis_and_speech(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    story = page.locator("#run .story")
    expect(page.locator("#run")).to_contain_text("is writing")
    site.piece(0, '"We *were*')
    site.piece(10, ' shut."\n\nShe **s')
    expect(story.locator("p").first.locator("q.said")).to_have_text('"We were shut."')
    expect(story.locator("p").first.locator("em")).to_have_text("were")
    expect(story.locator("p").last.locator("strong")).to_have_text("s")
    expect(page.locator(".run-waiting")).to_be_hidden()


def test_what_is_missing_is_fetched(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    site.text = "One two "
    site.piece(8, "three")
    expect(page.locator("#run .story")).to_have_text("One two three")


def test_what_the_server_has_not_written_down_yet_is_fetched_again(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    site.text = "One "
    site.piece(8, "three")
    expect(page.locator("#run .story")).to_have_text("One ")
    site.text = "One two th"
    expect(page.locator("#run .story")).to_have_text("One two three")


def test_offsets_count_as_the_browser_counts(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    site.piece(0, "🌧️ ")
    site.piece(4, "rain")
    expect(page.locator("#run .story")).to_have_text("🌧️ rain")


def test_pieces_that_come_twice_are_said_once(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    for offset, text in [(0, "One "), (0, "One "), (2, "e two"), (0, "One"), (7, " three")]:
        site.piece(offset, text)
    expect(page.locator("#run .story")).to_have_text("One two three")


def test_nothing_is_forgotten_when_the_server_draws_the_reply_anew(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    site.piece(0, "One two ")
    expect(page.locator("#run .story")).to_have_text("One two ")
    site.streams(9, run_stream("One "))
    site.piece(8, "three")
    expect(page.locator("#run .story")).to_have_text("One two three")


def test_the_text_of_a_model_is_never_markup(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    hostile = '<img src=x onerror="alert(1)"> *<b>bold</b>* [x](javascript:alert(1))'
    site.piece(0, hostile)
    expect(page.locator("#run .story")).to_have_text("bold [x](javascript:alert(1))")
    assert page.locator("#run .story :is(img, b, a)").count() == 0


def test_a_reply_that_had_begun_goes_on_after_a_reload(page: Page, site: SampleSite) -> None:
    site.text = samples.HALF + "o"
    listen(page, site, "writing")
    # Nothing is said at the moment, and yet the page knows of the last letter.
    expect(page.locator("#run .story")).to_contain_text("Then we'd better do")
    site.piece(len(site.text), " this.")
    expect(page.locator("#run .story")).to_contain_text("Then we'd better do this.")


def test_a_message_that_comes_twice_and_late_is_shown_once_in_its_place(page: Page, site: SampleSite) -> None:
    listen(page, site)
    site.streams(8, message_stream(5, "five"))
    site.streams(9, message_stream(4, "four", own=True))
    site.streams(10, message_stream(5, "five again"))
    expect(page.locator("#messages > li .story").last).to_have_text("five again")
    numbers = page.locator("#messages > li").evaluate_all("all => all.map(one => one.dataset.seq)")
    assert numbers == ["1", "2", "3", "4", "5"]


def test_the_beginning_and_the_end_are_announced(page: Page, site: SampleSite) -> None:
    begin_reply(page, site)
    announcer = page.locator("#announcer")
    expect(announcer).to_have_text("Ottoline Marsh is writing.")
    site.piece(0, "Words.")
    expect(page.locator("#run .story")).to_have_text("Words.")
    expect(announcer).to_have_text("Ottoline Marsh is writing.")
    site.streams(9, message_stream(4, "Words.") + no_run_stream())
    expect(announcer).to_have_text("Ottoline Marsh has replied.")
    expect(page.locator("#run")).to_be_empty()


def test_an_answer_that_is_older_than_the_last_event_changes_nothing(page: Page, site: SampleSite) -> None:
    listen(page, site)
    ended = stream("replace", "run", render("_run.html", run=samples.run("canceled", "Half"), version=9))
    older = run_stream("Ha", version=8)
    site.streams(9, run_stream("Half", version=8) + ended + older + message_stream(4, "Behind all of them."))
    expect(page.locator("#messages > li")).to_have_count(4)
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    site.streams(10, run_stream("New", version=10))
    expect(page.locator("#run .story")).to_have_text("New")


def test_a_reply_that_has_ended_unnoticed_does_not_stay(page: Page, site: SampleSite) -> None:
    listen(page, site)
    site.status = "succeeded"
    site.streams(8, run_stream("Words"))
    expect(page.locator("#run .story")).to_have_text("Words")
    expect(page.locator("#run")).to_be_empty()
    expect(page.locator("#messages > li")).to_have_count(3)


def test_escape_stops_the_reply_and_both_buttons_do(page: Page, site: SampleSite) -> None:
    listen(page, site, "writing")
    site.answer = (200, run_stream())
    with page.expect_response("**/stop"):
        page.keyboard.press("Escape")
    with page.expect_response("**/stop"):
        page.locator("#run").get_by_role("button", name="Stop").click()
    with page.expect_response("**/stop"):
        page.locator("#composer").get_by_role("button", name="Stop").click()
    assert [path for path, _ in site.posts] == ["/runs/r1/stop"] * 3


def test_nobody_writes_and_escape_does_nothing(page: Page, site: SampleSite) -> None:
    listen(page, site)
    page.keyboard.press("Escape")
    expect(page.locator("#composer").get_by_role("button", name="Stop")).to_be_hidden()
    assert site.posts == []
