"""The chat page, in the words of somebody who uses it."""

import re

from playwright.sync_api import Locator, Page, expect

__all__ = ["Story", "begin_story"]


class Story:
    """A conversation as it is on the screen."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.get_by_role("textbox")
        self.messages = page.locator("#messages > li")
        self.words = page.locator("#messages > li .story")
        self.replies = page.locator("#messages > li[data-role=assistant] .story")
        self.run = page.locator("#run")
        self.reply = page.locator("#run .story")

    def send(self, text: str) -> None:
        """Write a line, press Enter, and see it among the messages."""
        before = self.messages.count()
        self.box.fill(text)
        self.box.press("Enter")
        # On a slow machine, the reply may be there before anybody has looked.
        expect(self.messages.nth(before)).to_be_attached(timeout=15_000)

    def press(self, name: str) -> None:
        """Press one of the buttons beside the reply."""
        self.button(name).click()

    def stop(self) -> None:
        """Stop the reply with the button beside the text box, which stays in its place while the reply grows."""
        self.page.locator("#composer").get_by_role("button", name="Stop").click()

    def button(self, name: str) -> Locator:
        return self.run.get_by_role("button", name=name)

    def wait_until_reply_says(self, text: str) -> None:
        """Wait until the reply that is being written has come so far."""
        expect(self.reply).to_contain_text(text, timeout=10_000)

    def expect_one_reply(self, text: str) -> None:
        """Wait until a reply with this text is the last message; no other says it, and nobody is writing."""
        expect(self.words.last).to_contain_text(text, timeout=20_000)
        expect(self.run).to_have_text(re.compile(r"^\s*$"))
        expect(self.replies.filter(has_text=text)).to_have_count(1)


def begin_story(page: Page) -> Story:
    """Begin a new story with the first character of the home page."""
    page.goto("/")
    page.get_by_role("button", name="New story").first.click()
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    # What the character says to begin with.
    expect(story.messages).to_have_count(1)
    return story
