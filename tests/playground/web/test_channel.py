"""The connection of a page: it comes back by itself, and knows what it has missed."""

from playwright.sync_api import Page, expect

from tests.playground.web.sample_site import SampleSite, message_stream

LOST = "Connection lost"


def test_a_new_connection_asks_for_what_came_after_the_last_event(page: Page, site: SampleSite) -> None:
    page.goto("/conversations/story")
    site.wait_for_listener()
    site.streams(8, message_stream(4, "four"))
    expect(page.locator("#messages > li")).to_have_count(4)
    site.drop_connections()
    site.wait_for_connections(2)
    assert site.connections == ["story:7", "story:8"]
    site.streams(9, message_stream(5, "five"))
    expect(page.locator("#messages > li")).to_have_count(5)
    expect(page.get_by_text(LOST)).to_be_hidden()


def test_a_refused_connection_is_said_quietly_and_tried_again(
    page: Page, site: SampleSite, complaints: list[str]
) -> None:
    page.goto("/conversations/story")
    site.wait_for_listener()
    site.streams(8, message_stream(4, "four"))
    expect(page.locator("#messages > li")).to_have_count(4)
    site.accepting_events = False
    site.drop_connections()
    expect(page.get_by_text(LOST)).to_be_visible()
    site.accepting_events = True
    expect(page.get_by_text(LOST)).to_be_hidden()
    assert site.connections[-1] == "story:8"
    complaints.clear()
