"""The documentation in a browser."""

from playwright.sync_api import Page, expect

from tests.browser.looks import assert_accessible


def test_learn_more_opens_the_section_in_another_tab_and_links_lead_on(page: Page) -> None:
    page.goto("/lorebooks")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Learn more").click()
    guide = opened.value
    guide.wait_for_url("**/docs/guide#lorebooks")
    expect(guide.get_by_role("heading", name="Lorebooks", exact=True)).to_be_in_viewport()
    assert_accessible(guide)
    guide.get_by_role("navigation", name="Documentation").get_by_role("link", name="World Info").click()
    guide.wait_for_url("**/docs/world-info")
    expect(guide.get_by_role("heading", level=1, name="World Info")).to_be_visible()
    assert_accessible(guide)
