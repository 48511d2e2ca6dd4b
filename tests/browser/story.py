"""The chat page, in the words of somebody who uses it."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tavernkit.values import Json

__all__ = ["Story", "ask_api", "begin_story", "origin"]


class Story:
    """A conversation as it is on the screen."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.locator("#composer_text")
        self.messages = page.locator("#messages > li")
        self.words = page.locator("#messages > li .story")
        self.replies = page.locator("#messages > li[data-role=assistant] .story")
        self.run = page.locator("#run")
        self.reply = page.locator("#run .story")

    @property
    def conversation_id(self) -> str:
        found = re.search(r"/conversations/([0-9a-f-]+)", self.page.url)
        assert found, self.page.url
        return found[1]

    def send(self, text: str) -> None:
        """Write a line, press Enter, and see it among the messages."""
        before = self.messages.count()
        self.box.fill(text)
        self.box.press("Enter")
        # The reply may be there before anybody has looked.
        expect(self.messages.nth(before)).to_be_attached()

    def change_space(self, **rules: Json) -> None:
        """Change how the space of the story takes turns."""
        space_id = ask_api(self.page, "GET", f"/conversations/{self.conversation_id}")["space_id"]
        version = ask_api(self.page, "GET", f"/spaces/{space_id}")["settings_version"]
        change = {"settings_version": version, "settings": {"space": rules}}
        ask_api(self.page, "PATCH", f"/spaces/{space_id}/settings", change)

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
        expect(self.reply).to_contain_text(text)

    def expect_one_reply(self, text: str) -> None:
        """Wait until a reply with this text is the last message; no other says it, and nobody is writing."""
        expect(self.words.last).to_contain_text(text)
        expect(self.run).to_have_text(re.compile(r"^\s*$"))
        expect(self.replies.filter(has_text=text)).to_have_count(1)


def begin_story(page: Page) -> Story:
    """Begin a new story with Ottoline, as the button of the home page does it, and open it."""
    ottoline = ask_api(page, "GET", "/characters?search=ottoline")["items"][0]["id"]
    begun = page.request.post(
        "/spaces", form={"character_id": ottoline}, headers={"Origin": origin(page)}, max_redirects=0
    )
    page.goto(begun.headers["location"])
    story = Story(page)
    # What the character says to begin with.
    expect(story.messages).to_have_count(1)
    return story


def ask_api(page: Page, method: str, path: str, body: Any = None) -> Any:
    """What a program would ask for, in the name of whoever sits at the page."""
    answer = page.request.fetch(f"/api/v1{path}", method=method, data=body, headers={"Origin": origin(page)})
    assert answer.ok, answer.text()
    return answer.json() if answer.body() else None


def origin(page: Page) -> str:
    """The server of a page: windows are on it from the beginning."""
    return "/".join(page.url.split("/")[:3])
