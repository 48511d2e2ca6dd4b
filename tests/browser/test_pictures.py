"""Pictures in messages: chosen, dropped and pasted, kept in the draft, seen by others at once, enlarged and changed."""

import base64
import io

from PIL import Image
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, PHONE, Size, Theme, fits, show
from tests.browser.story import ask_api, begin_story
from tests.playground.characters.builders import picture
from tests.playground.support.server import ServerProcess

TRANSFER = """({ type, data, event, target }) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))
  const transfer = new DataTransfer()
  transfer.items.add(new File([bytes], "picture.png", { type }))
  const fields = { bubbles: true, cancelable: true }
  const made = event === "paste"
    ? new ClipboardEvent("paste", { ...fields, clipboardData: transfer })
    : new DragEvent(event, { ...fields, dataTransfer: transfer })
  document.querySelector(target).dispatchEvent(made)
}"""


def file(colour: str) -> FilePayload:
    return {"name": f"{colour}.png", "mimeType": "image/png", "buffer": picture(colour, size=(400, 300))}


def bring(page: Page, event: str, target: str, colour: str) -> None:
    """What the browser does when a picture is dropped or pasted."""
    data = base64.b64encode(picture(colour, size=(300, 400))).decode()
    page.evaluate(TRANSFER, {"type": "image/png", "data": data, "event": event, "target": target})


def test_pictures_are_attached_kept_sent_enlarged_and_changed(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site)
    story = begin_story(page)
    other = open_window(site)
    other.goto(page.url)
    drafts = page.locator(".composer-pictures > li:not([aria-busy])")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add pictures").click()
    chooser.value.set_files([file("teal"), file("maroon")])
    expect(drafts).to_have_count(2)
    bring(page, "drop", "#messages", "olive")
    expect(drafts).to_have_count(3)
    story.box.fill("[[say: I see.]] Look.")
    bring(page, "paste", "#composer_text", "navy")
    expect(drafts).to_have_count(4)
    page.reload()
    expect(drafts).to_have_count(4)
    expect(story.box).to_have_value("[[say: I see.]] Look.")
    drafts.nth(1).get_by_role("button", name="Remove picture").click()
    expect(drafts).to_have_count(3)
    assert violations(page) == []
    story.box.press("Enter")
    expect(drafts).to_have_count(0)
    expect(story.replies.last).to_have_text("I see.")
    for view in (page, other):
        sent = view.locator("#messages > li[data-role=user] .message-attachment img")
        expect(sent).to_have_count(3)
        for number in range(3):
            expect(sent.nth(number)).to_have_js_property("complete", True)
            assert sent.nth(number).evaluate("image => image.naturalWidth") in (300, 400)
    page.locator(".message-attachment").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Picture")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Picture")).to_be_hidden()
    own = page.locator("#messages > li[data-role=user]")
    own.hover()
    own.get_by_role("link", name="Edit").click()
    page.get_by_role("textbox", name="Description of the picture").first.fill("A teal door")
    own.get_by_role("button", name="Remove picture").nth(1).click()
    assert violations(page) == []
    page.locator(".message-edit textarea").fill("")
    page.get_by_role("button", name="Save").click()
    for view in (page, other):
        expect(view.locator(".message-attachment")).to_have_count(2)
        expect(view.get_by_role("img", name="A teal door")).to_be_visible()
    assert violations(page) == []


def test_a_picture_alone_is_sent_from_a_phone_and_what_is_none_is_refused(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    # The browser itself complains about the status of what is refused.
    page = open_window(site, size=PHONE, expected_complaint="422")
    story = begin_story(page)
    wrong: FilePayload = {"name": "notes.png", "mimeType": "image/png", "buffer": b"no picture"}
    page.locator("#composer input[type=file]").set_input_files([wrong])
    expect(page.locator("#problem")).to_contain_text("The picture cannot be read")
    page.locator("#composer input[type=file]").set_input_files([file("teal")])
    expect(page.locator(".composer-pictures > li:not([aria-busy])")).to_have_count(1)
    before = story.messages.count()
    page.get_by_role("button", name="Send").click()
    expect(story.messages.nth(before).locator(".message-attachment img")).to_be_visible()
    assert fits(page)


def test_a_background_is_seen_behind_the_chat_and_leaves_its_text_readable(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site)
    story = begin_story(page)
    chat = page.url
    space_id = ask_api(page, "GET", f"/conversations/{story.conversation_id}")["space_id"]
    page.goto(f"/spaces/{space_id}")
    page.get_by_label("Picture").set_input_files([file("blue")])
    page.get_by_role("button", name="Upload background").click()
    expect(page.get_by_role("img", name="Current background")).to_have_js_property("complete", True)
    page.goto(chat)
    expect(page.locator(".chat-background")).to_have_js_property("complete", True)
    looks: tuple[tuple[Size, Theme], ...] = ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"))
    for size, theme in looks:
        show(page, size, theme)
        with Image.open(io.BytesIO(page.screenshot())) as taken:
            beside = (size[0] - 4, size[1] // 2)
            red, _green, blue = taken.convert("RGB").crop((*beside, beside[0] + 1, beside[1] + 1)).tobytes()
        assert blue > red + 5
        assert violations(page) == []
