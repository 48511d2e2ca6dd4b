"""The first page, a new story, the palette and the help."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import wait_until


def test_an_empty_installation_is_a_small_world(
    open_window: OpenWindow, scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("first")
    with running(ServerProcess(folder, model_url=scripted_model.base_url)) as server:
        page = open_window(server)
        page.goto("/")
        page.get_by_role("link", name="The end of line nine").click()
        story = Story(page)
        expect(story.words).to_have_count(2)
        expect(story.words.first).to_contain_text("We're shut")
        expect(story.words.last).to_contain_text("Soup")
        page.goto("about:blank")


def test_a_story_with_two_characters_and_a_name(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="422")
    page.goto("/")
    page.get_by_role("link", name="New story").click()
    page.get_by_role("button", name="Create story").click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("Choose at least one character.")
    page.get_by_label("Ottoline").check()
    page.get_by_label("Tansy").check()
    page.get_by_label("No persona").check()
    page.get_by_label("Story name").fill("Two lamps")
    page.get_by_role("button", name="Create story").click()
    page.wait_for_url("**/conversations/*")
    expect(Story(page).words).to_have_count(2)
    page.goto("/")
    expect(page.get_by_role("link", name="Two lamps")).to_be_visible()


def test_a_story_is_folded_pinned_tagged_and_filtered(story: Story) -> None:
    page, root = story.page, story.conversation_id
    space = ask_api(page, "GET", f"/conversations/{root}")["space_id"]
    message = page.locator("#messages > li.message").last.get_attribute("id")
    assert message is not None
    fork = {"message_id": message.removeprefix("message_")}
    branch = ask_api(page, "POST", f"/conversations/{root}/fork", fork)["id"]
    page.goto("/")
    card = page.locator(f"#story_{space}")
    expect(card.locator(".folded-story")).to_have_count(0)
    card.get_by_text("1 branch", exact=True).press("Enter")
    row = card.locator(".folded-story .folded-story")
    expect(row.locator(".story-name-link")).to_contain_text("From message 1: “")
    row.locator(".story-rename").click()
    row.get_by_label("Title").fill("The back door")
    row.get_by_label("Title").press("Enter")
    expect(row.get_by_role("link", name="The back door", exact=True)).to_have_attribute(
        "href", f"/conversations/{branch}"
    )
    card.get_by_role("button", name="Pin ").click()
    expect(card.get_by_role("button", name="Pin ")).to_have_attribute("aria-pressed", "true")
    card.get_by_role("button", name="Edit tags of").click()
    tag = f"tag {space[:8]}"
    card.get_by_label("Your tags").fill(f"{tag}, late")
    card.get_by_role("button", name="Save tags").click()
    page.get_by_role("navigation", name="Filters").get_by_role("link", name=tag).click()
    expect(page.locator(".story-card")).to_have_count(1)
    page.wait_for_url("**/?tag=*")
    assert_accessible(page)
    page.get_by_label("Filter stories").fill("nothing like it")
    expect(page.get_by_text("No stories match.")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    card.get_by_role("button", name="Pin ").click()
    expect(card.get_by_role("button", name="Pin ")).to_have_attribute("aria-pressed", "false")


def test_a_reply_that_comes_while_nobody_looks_is_unread_until_somebody_does(story: Story, gate: Gate) -> None:
    page, address = story.page, story.page.url
    space = ask_api(page, "GET", f"/conversations/{story.conversation_id}")["space_id"]
    position = f"**/conversations/{story.conversation_id}/read_position"
    ask_api(page, "PUT", f"/conversations/{story.conversation_id}/read_position", {"seq": 1})
    story.send(f"[[slow: 20]] {gate.behind(3)} Go on.")
    story.wait_until_reply_says("word3")
    page.goto("/")
    dot = page.locator(f"#story_{space} .unread-dot")
    expect(dot).to_have_count(0)
    gate.open()
    eventually_shown(page, dot)
    page.goto("/?unread=true")
    expect(page.locator(f"#story_{space}")).to_be_visible()
    with page.expect_response(position):
        page.goto(address)
    page.goto("/")
    expect(page.locator(f"#story_{space}")).to_be_visible()
    expect(dot).to_have_count(0)


def eventually_shown(page: Page, what: Locator) -> None:
    """Load the page again until it shows something."""

    def is_shown() -> bool:
        page.reload()
        return what.count() > 0

    wait_until(is_shown)


def test_an_archived_story_is_found_again_and_restored(story: Story) -> None:
    page = story.page
    address = page.url
    page.locator("a.crumbs-space").click()
    page.wait_for_url("**/spaces/*")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("This space is archived")).to_be_visible()
    page.goto("/")
    conversation = f"a[href='{address[address.index('/conversations') :]}']"
    expect(page.locator(conversation)).to_have_count(0)
    page.get_by_role("link", name="Archived stories").click()
    card = page.locator(".story-card").filter(has=page.locator(conversation))
    card.get_by_role("link").click()
    expect(page.get_by_text("This story is archived. Restore it to continue.")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    page.go_back()
    card.get_by_role("button", name="Restore").click()
    expect(card).to_have_count(0)
    page.goto(address)
    story.send("[[say: Back again.]]")
    story.expect_one_reply("Back again.")


def test_the_chat_of_an_archived_story_restores_it(story: Story) -> None:
    page = story.page
    address = page.url
    page.locator("a.crumbs-space").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("This space is archived")).to_be_visible()
    page.goto(address)
    page.get_by_role("button", name="Restore").click()
    expect(story.box).to_be_visible()


def test_the_palette_leads_anywhere_with_keys_alone(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(palette.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.type("mdls")
    expect(palette.get_by_role("option").first).to_contain_text("Models")
    page.keyboard.press("Enter")
    page.wait_for_url("**/models")
    page.keyboard.press("Control+k")
    page.keyboard.type("marsh")
    expect(palette.get_by_role("option").filter(has_text="Character").first).to_contain_text("Ottoline Marsh")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("o")
    # The list is drawn for what was typed before an arrow chooses from it.
    expect(palette.get_by_role("option").first).to_contain_text("Story")
    expect(palette.get_by_role("option").nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("zzzz")
    expect(palette.get_by_text("No results.")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_the_palette_takes_no_letter_and_stops_no_reply(story: Story, gate: Gate) -> None:
    story.send(f"[[slow: 20]] {gate.behind(3)} Go on.")
    story.wait_until_reply_says("word3")
    story.box.press_sequentially("a k ? of mine")
    expect(story.box).to_have_value("a k ? of mine")
    story.page.keyboard.press("Control+k")
    palette = story.page.get_by_role("dialog", name="Go to")
    expect(palette).to_be_visible()
    story.page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(story.box).to_be_focused()
    expect(story.box).to_have_value("a k ? of mine")
    gate.open()
    story.expect_one_reply("word19 word20")


def test_a_question_mark_tells_the_keys_unless_somebody_writes_it(page: Page) -> None:
    page.goto("/")
    help = page.get_by_role("dialog", name="Keyboard shortcuts")
    page.keyboard.press("?")
    expect(help).to_contain_text("Start a new line")
    page.keyboard.press("Escape")
    expect(help).to_be_hidden()
    story = begin_story(page)
    story.box.press("?")
    expect(story.box).to_have_value("?")
    expect(help).to_be_hidden()


def test_nothing_opens_while_a_character_is_composed(page: Page) -> None:
    page.goto("/")
    composing = "new KeyboardEvent('keydown', {key: %r, ctrlKey: %s, isComposing: true, bubbles: true})"
    for key, control in (("k", "true"), ("?", "false")):
        page.evaluate(f"() => document.body.dispatchEvent({composing % (key, control)})")
    expect(page.locator("dialog[open]")).to_have_count(0)
