"""A story with several characters, in the words of somebody who uses it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.story import Story, ask_api

__all__ = ["Group", "begin_group"]


class Group(Story):
    """The chat page of a group. `before` is how many replies there were at first."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.bar = page.locator("#group_bar")
        self.now = page.locator("#group_bar .turns-now")
        self.queue = page.locator("#group_bar .queue > li")
        self.before = self.replies.count()

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.bar.get_by_role("button", name=name)

    def press(self, name: str) -> None:
        self.button(name).click()

    def menu(self) -> Locator:
        """Open what can be done about who speaks."""
        self.bar.get_by_role("button", name="Speakers").click()
        menu = self.page.locator("#turns_menu")
        expect(menu).to_be_visible()
        return menu

    def open_order(self) -> Locator:
        self.menu().get_by_role("link", name="Edit reply order").click()
        dialog = self.page.get_by_role("dialog", name="Reply order")
        expect(dialog).to_be_visible()
        return dialog


def begin_group(page: Page, **rules: Any) -> Group:
    """Begin a new story with the two characters who are there from the beginning.

    They answer in their order, and do not wait long when they are among themselves. `rules` are more settings of the
    space.
    """
    ids = [ask_api(page, "GET", f"/characters?search={name}")["items"][0]["id"] for name in ("ottoline", "tansy")]
    opened = ask_api(page, "POST", "/spaces", {"character_ids": ids})
    rules = {"reply_order": "list", "auto_mode_delay_ms": 200, **rules}
    ask_api(
        page,
        "PATCH",
        f"/spaces/{opened['space']['id']}/settings",
        {"settings_version": opened["space"]["settings_version"], "settings": {"space": rules}},
    )
    page.goto(f"/conversations/{opened['conversation']['id']}")
    expect(page.locator("#messages > li")).to_have_count(2)
    return Group(page)
