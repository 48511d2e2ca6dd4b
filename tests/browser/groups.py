"""A story with several characters, in the words of somebody who uses it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.story import Story

__all__ = ["Group", "begin_group"]


class Group(Story):
    """The chat page of a group. `before` is how many replies there were at first."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.box = page.locator("#composer_text")
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
        self.bar.get_by_role("button", name="Who speaks").click()
        menu = self.page.locator("#turns_menu")
        expect(menu).to_be_visible()
        return menu

    def open_order(self) -> Locator:
        self.menu().get_by_role("link", name="Change who speaks next").click()
        dialog = self.page.get_by_role("dialog", name="Who speaks next")
        expect(dialog).to_be_visible()
        return dialog


def begin_group(page: Page, **rules: Any) -> Group:
    """Begin a new story with the two characters who are there from the beginning.

    They answer in their order, and do not wait long when they are among themselves. `rules` are more settings of the
    space.
    """
    page.goto("/")
    ids = {card["name"]: card["id"] for card in _ask(page, "GET", "/characters")["items"]}
    opened = _ask(page, "POST", "/spaces", {"character_ids": [ids["Ottoline Marsh"], ids["Tansy Harrow"]]})
    rules = {"reply_order": "list", "auto_mode_delay_ms": 200, **rules}
    _ask(
        page,
        "PATCH",
        f"/spaces/{opened['space']['id']}/settings",
        {"settings_version": opened["space"]["settings_version"], "settings": {"space": rules}},
    )
    page.goto(f"/conversations/{opened['conversation']['id']}")
    expect(page.locator("#messages > li")).to_have_count(2)
    return Group(page)


def _ask(page: Page, method: str, path: str, body: Any = None) -> Any:
    """What a program would ask for, in the name of whoever sits at the page."""
    headers = {"Origin": page.url.rstrip("/")}
    answer = page.request.fetch(f"/api/v1{path}", method=method, data=body, headers=headers)
    assert answer.ok, answer.text()
    return answer.json()
