"""The tree of conversations, and the way from one to another."""

import json

from playwright.sync_api import Page, expect

from tests.browser.looks import assert_accessible
from tests.browser.story import Story, ask_api


def test_from_the_tree_to_a_branch_and_back_by_the_bar(story: Story) -> None:
    page = story.page
    root = page.url
    branch = _branch(page, "By the sea")
    page.get_by_role("link", name="Conversation tree").click()
    expect(page.get_by_role("heading", name="Conversation tree")).to_be_visible()
    expect(page.locator(".tree-current")).to_contain_text("Main")
    page.get_by_role("link", name="By the sea", exact=True).click()
    page.wait_for_url(f"**/conversations/{branch}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("By the sea")
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Main").click()
    page.wait_for_url(root)


def test_a_chat_is_exported_from_the_tree(story: Story) -> None:
    page = story.page
    page.get_by_role("link", name="Conversation tree").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export chat: Main").click()
        page.get_by_role("link", name="Export Main: SillyTavern (JSONL)").click()
    header, *messages = downloading.value.path().read_text().splitlines()
    assert "chat_metadata" in json.loads(header)
    assert messages
    assert all("mes" in json.loads(line) for line in messages)


def test_a_branch_is_renamed_and_deleted_after_a_question(story: Story) -> None:
    page = story.page
    branch = _branch(page, "By the sea")
    page.goto(f"/conversations/{branch}/tree")
    node = page.locator(f"#node_{branch}")
    node.get_by_text("Rename", exact=True).first.click()
    node.get_by_label("Title").fill("In the hills")
    node.get_by_label("Title").press("Enter")
    expect(node.get_by_role("heading")).to_have_text("In the hills")
    node.get_by_role("button", name="Delete In the hills").click()
    page.get_by_role("button", name="Cancel").click()
    expect(node).to_be_visible()
    node.get_by_role("button", name="Delete In the hills").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(node).to_have_count(0)
    expect(page.locator(".tree-node")).to_have_count(1)


def test_another_conversation_begins_in_the_same_space(story: Story) -> None:
    page = story.page
    first = page.url
    page.get_by_role("button", name="Create conversation").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversation 2")
    assert page.url != first
    page.locator("a.crumbs-space").click()
    page.wait_for_url("**/spaces/*")
    expect(page.locator(".space-story")).to_have_count(2)


def test_tree_and_space_fit_and_are_accessible(story: Story) -> None:
    page = story.page
    branch = story.conversation_id
    for number in range(4):
        page.goto(f"/conversations/{branch}")
        branch = _branch(page, f"Branch {number} with a title that is rather long for a phone")
    page.goto(f"/conversations/{branch}/tree")
    expect(page.locator(".tree-node")).to_have_count(5)
    assert_accessible(page)
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link").first.click()
    page.wait_for_url("**/spaces/*")
    assert_accessible(page)


def _branch(page: Page, title: str) -> str:
    """Branch from the last message, as a program would; gives the new conversation."""
    message = page.locator("#messages > li.message").last.get_attribute("id")
    assert message is not None
    made = ask_api(
        page,
        "POST",
        f"/conversations/{Story(page).conversation_id}/fork",
        {"message_id": message.removeprefix("message_"), "title": title},
    )
    return str(made["id"])
