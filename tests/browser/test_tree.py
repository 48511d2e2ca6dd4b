"""The tree of conversations, and the way from one to another."""

import json

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.support.server import ServerProcess


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
    node.get_by_role("link", name="Rename By the sea").click()
    expect(node.get_by_label("Title")).to_be_focused()
    node.get_by_label("Title").press("Escape")
    expect(node.get_by_label("Title")).to_have_count(0)
    expect(node.get_by_role("link", name="Rename By the sea")).to_be_focused()
    node.get_by_role("link", name="Rename By the sea").click()
    node.get_by_label("Title").fill("In the hills")
    node.get_by_label("Title").press("Enter")
    expect(node.locator(".story-name-link")).to_have_text("In the hills")
    page.reload()
    node.get_by_role("button", name="Delete In the hills").click()
    page.get_by_role("button", name="Cancel").click()
    expect(node).to_be_visible()
    node.get_by_role("button", name="Delete In the hills").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(node).to_have_count(0)
    expect(page.locator(".tree-node")).to_have_count(1)


def test_a_stale_rename_is_refused_and_an_empty_one_restores_the_default_name(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="409")
    page.goto("/")
    story = begin_story(page)
    branch = _branch(page, "")
    page.goto(f"/conversations/{branch}/tree")
    node = page.locator(f"#node_{branch}")
    name = node.locator(".story-name-link")
    expect(name).to_contain_text("From message 1: “")
    node.locator(".story-rename").click()
    expect(node.get_by_label("Title")).to_have_value("")
    ask_api(page, "PATCH", f"/conversations/{branch}", {"settings_version": 0, "title": "From another window"})
    node.get_by_label("Title").fill("Mine")
    node.get_by_role("button", name="Rename").click()
    expect(node.get_by_role("alert")).to_contain_text("changed in the meantime")
    expect(node.get_by_label("Title")).to_have_value("Mine")
    node.get_by_role("button", name="Rename").click()
    expect(name).to_have_text("Mine")
    node.locator(".story-rename").click()
    node.get_by_label("Title").fill("")
    node.get_by_role("button", name="Rename").click()
    expect(name).to_contain_text("From message 1: “")
    page.goto(f"/conversations/{story.conversation_id}/tree")


def test_a_tree_of_300_branches_opens_folded_and_is_filtered(story: Story) -> None:
    page = story.page
    here = _branch(page, "Here")
    page.evaluate(
        """async ([path, message]) => {
          for (let number = 0; number < 300; number++) {
            const body = JSON.stringify({ message_id: message, title: `Branch ${number}` })
            await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body })
          }
        }""",
        [f"/api/v1/conversations/{story.conversation_id}/fork", _last_message(page)],
    )
    page.goto(f"/conversations/{here}/tree")
    expect(page.locator(".tree-node")).to_have_count(31)
    expect(page.locator(".tree-current .story-name-link")).to_have_text("Here")
    assert_accessible(page)
    page.get_by_role("link", name="Show more branches").click()
    expect(page.locator(".tree-node")).to_have_count(61)
    page.get_by_label("Filter 302 conversations").fill("branch 299")
    expect(page.locator(".tree-node")).to_have_count(1)
    expect(page.get_by_text("1 conversation found.")).to_be_visible()
    page.get_by_role("link", name="Show tree").click()
    summary = page.get_by_text("301 branches", exact=True)
    summary.press("Enter")
    expect(page.locator(f"#node_{here}")).to_be_hidden()
    summary.press("Enter")
    expect(page.locator(f"#node_{here}")).to_be_visible()


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
    made = ask_api(
        page,
        "POST",
        f"/conversations/{Story(page).conversation_id}/fork",
        {"message_id": _last_message(page), "title": title},
    )
    return str(made["id"])


def _last_message(page: Page) -> str:
    message = page.locator("#messages > li.message").last.get_attribute("id")
    assert message is not None
    return message.removeprefix("message_")
