"""The composer: no word is ever lost, and none is sent twice."""

import re

from playwright.sync_api import Locator, Page, Route, expect

from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.streams import stream
from tests.playground.web import samples
from tests.playground.web.sample_site import SampleSite, error_stream, message_stream

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def box(page: Page) -> Locator:
    return page.get_by_role("textbox")


LIMIT = "() => document.documentElement.setAttribute('data-request-seconds', '2')"


def open_story(page: Page, site: SampleSite) -> None:
    page.goto("/conversations/story")
    site.wait_for_listener()


def test_enter_sends_and_the_box_is_empty_once_the_server_has_it(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    site.answer = (200, message_stream(4, "Hello.", own=True))
    box(page).fill("Hello.")
    box(page).press("Enter")
    expect(page.locator("#messages > li")).to_have_count(4)
    expect(box(page)).to_have_value("")
    [(path, form)] = site.posts
    assert path == "/conversations/story/messages"
    assert form["content"] == "Hello."
    assert UUID.fullmatch(form["id"])


def test_shift_and_enter_begins_a_line(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    box(page).fill("one")
    box(page).press("Shift+Enter")
    box(page).press_sequentially("two")
    expect(box(page)).to_have_value("one\ntwo")
    assert site.posts == []


def test_enter_belongs_to_the_input_method_while_it_composes(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    box(page).fill("かな")
    box(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    box(page).dispatch_event("keydown", {"key": "Enter", "keyCode": 229, "bubbles": True})
    expect(box(page)).to_have_value("かな")
    assert site.posts == []


def test_nothing_is_not_sent(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    box(page).fill("  \n ")
    box(page).press("Enter")
    page.get_by_role("button", name="Send").click()
    assert site.posts == []


def test_a_draft_survives_a_reload_in_its_own_conversation(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    box(page).fill("Half a thou")
    page.goto("/conversations/failed")
    expect(box(page)).to_have_value("")
    page.goto("/conversations/story")
    expect(box(page)).to_have_value("Half a thou")


def test_what_the_server_refuses_stays_with_its_reason(page: Page, site: SampleSite, complaints: list[str]) -> None:
    open_story(page, site)
    site.answer = (422, error_stream("That was too long."))
    box(page).fill("Words")
    box(page).press("Enter")
    expect(page.locator("#problem")).to_have_text("That was too long.")
    expect(box(page)).to_have_value("Words")
    site.answer = (200, message_stream(4, "Words", own=True))
    box(page).press("Enter")
    expect(box(page)).to_have_value("")
    expect(page.locator("#problem")).to_be_empty()
    complaints.clear()


def test_trying_again_uses_the_same_id_and_other_words_another(
    page: Page, site: SampleSite, complaints: list[str]
) -> None:
    open_story(page, site)
    site.answer = (503, error_stream("Not now."))
    for text in ("one", "one", "one two"):
        box(page).fill(text)
        box(page).press("Enter")
        expect(page.locator("#problem")).to_have_text("Not now.")
        page.wait_for_function("() => !document.querySelector('.composer-send').disabled")
    page.reload()
    box(page).press("Enter")
    page.wait_for_function("() => document.getElementById('problem').textContent !== ''")
    ids = [form["id"] for _, form in site.posts]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    complaints.clear()


def test_a_server_that_does_not_answer_loses_nothing(page: Page, site: SampleSite, complaints: list[str]) -> None:
    open_story(page, site)
    page.route("**/messages", lambda route: route.abort())
    box(page).fill("Words")
    box(page).press("Enter")
    expect(page.locator("#problem")).to_contain_text("did not answer")
    expect(box(page)).to_have_value("Words")
    # The browser itself notes what it could not load; our scripts add nothing to it.
    assert all("net::ERR_" in complaint for complaint in complaints)
    complaints.clear()


def test_a_server_that_never_answers_a_form_is_reported_in_a_sentence(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    page.evaluate(LIMIT)
    page.route("**/messages", lambda _: None)
    box(page).fill("Words")
    box(page).press("Enter")
    expect(page.locator("#problem")).to_have_text(
        "The server did not answer within 2 seconds. Your text is kept. Try again."
    )
    expect(box(page)).to_have_value("Words")


def test_a_server_that_never_answers_a_link_is_reported_in_a_sentence(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    page.evaluate(LIMIT)
    page.route(f"{site.url}/", lambda _: None)
    page.locator("a[href='/']").first.click()
    expect(page.locator("#problem")).to_have_text("The server did not answer within 2 seconds. Try again.")
    assert page.url.endswith("/conversations/story")


def test_a_message_whose_answer_was_lost_is_recognised_when_it_comes_by_event(
    page: Page, site: SampleSite, complaints: list[str]
) -> None:
    open_story(page, site)
    sent: list[str] = []

    def lose(route: Route) -> None:
        found = UUID.search(route.request.post_data or "")
        assert found
        sent.append(found[0])
        route.abort()

    page.route("**/messages", lose)
    box(page).fill("Words")
    box(page).press("Enter")
    expect(page.locator("#problem")).to_contain_text("did not answer")
    message = samples.message(4, "Words", own=True).with_(id=sent[0])
    site.streams(8, stream("append", "messages", render("_message.html", message=message)))
    expect(box(page)).to_have_value("")
    expect(page.locator("#problem")).to_be_empty()
    complaints.clear()


def test_a_second_press_while_the_first_is_on_its_way_sends_nothing(page: Page, site: SampleSite) -> None:
    open_story(page, site)
    site.answer = (200, message_stream(4, "Words", own=True))
    held: list[Route] = []
    page.route("**/messages", lambda route: held.append(route))
    box(page).fill("Words")
    with page.expect_request("**/messages"):
        page.evaluate("() => document.getElementById('composer').requestSubmit()")
    page.evaluate("() => document.getElementById('composer').requestSubmit()")
    (first,) = held
    first.continue_()
    expect(box(page)).to_have_value("")
    assert len(site.posts) == 1


def test_a_browser_without_random_uuids_makes_them_itself(page: Page, site: SampleSite) -> None:
    page.add_init_script("delete Crypto.prototype.randomUUID")
    open_story(page, site)
    site.answer = (200, message_stream(4, "Words", own=True))
    box(page).fill("Words")
    box(page).press("Enter")
    expect(box(page)).to_have_value("")
    assert UUID.fullmatch(site.posts[0][1]["id"])
