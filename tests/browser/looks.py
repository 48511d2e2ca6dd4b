"""How a window looks: its size, its theme, and whether it is touched."""

from __future__ import annotations

from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, Page

from tests.browser.axe import violations

__all__ = ["DESKTOP", "NARROWEST", "PHONE", "Size", "Theme", "assert_accessible", "drawn", "fits", "show"]

Size: TypeAlias = tuple[int, int]
Theme: TypeAlias = Literal["light", "dark"]

DESKTOP: Size = (1280, 900)
PHONE: Size = (390, 844)
NARROWEST: Size = (360, 640)

# A page is touched for as long as the session that says so.
_TOUCHING: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()


def show(page: Page, size: Size, theme: Theme = "light") -> None:
    """Show a page in another window: phones are narrow, and touched."""
    width, height = size
    is_phone = size in (PHONE, NARROWEST)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    if is_phone and page not in _TOUCHING:
        _TOUCHING[page] = page.context.new_cdp_session(page)
    if page in _TOUCHING:
        _TOUCHING[page].send("Emulation.setTouchEmulationEnabled", {"enabled": is_phone})
    drawn(page)


def drawn(page: Page) -> None:
    """Wait until the page has been drawn with everything that it was given so far."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))"
    )


def fits(page: Page) -> bool:
    """Whether nothing is wider than the window."""
    return bool(page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"))


def assert_accessible(page: Page) -> None:
    """Everything fits and axe finds nothing, on a phone in the light and on a desktop in the dark."""
    looks: tuple[tuple[Size, Theme], ...] = ((PHONE, "light"), (DESKTOP, "dark"))
    for size, theme in looks:
        show(page, size, theme)
        assert fits(page), (page.url, size)
        assert violations(page) == [], (page.url, size, theme)
    show(page, NARROWEST)
    assert fits(page), (page.url, NARROWEST)
