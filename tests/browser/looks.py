"""How a window looks: its size, its theme, and whether it is touched."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, Page
from scripts.screenshots import LOCALES

from tests.browser.axe import violations

__all__ = [
    "DESKTOP",
    "MEASURED",
    "NARROWEST",
    "PHONE",
    "Size",
    "Theme",
    "assert_accessible",
    "cut_off",
    "drawn",
    "fits",
    "lengthen_labels",
    "show",
]

Size: TypeAlias = tuple[int, int]
Theme: TypeAlias = Literal["light", "dark"]

MEASURED = LOCALES if "TAVERNKIT_EDGE_FULL" in os.environ else ("en",)
"""Whether the words of other languages have room is left to `make soak`."""
DESKTOP: Size = (1280, 900)
PHONE: Size = (390, 844)
NARROWEST: Size = (360, 640)

# What people press. Their words may wrap, but must stay in their boxes.
_CONTROLS = "button, .btn, summary, nav a, [role=tab]"
_CUT_OFF = """(controls) => {
  const found = []
  const named = (element) => {
    const words = element.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)
    return `${element.tagName.toLowerCase()}#${element.id}.${[...element.classList].join(".")} “${words}”`
  }
  const scrolls = (element) =>
    element && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement))
  const root = document.scrollingElement
  if (root.scrollWidth > innerWidth) found.push(`The page is ${root.scrollWidth} px wide.`)
  for (const element of document.body.querySelectorAll("*")) {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    const box = element.getBoundingClientRect()
    // What only screen readers read.
    if (box.width <= 1 || box.height <= 1 || element.closest(".sr-only, svg")) continue
    if (box.right > innerWidth + 1 && !scrolls(element)) found.push(`Beside the window: ${named(element)}`)
    const style = getComputedStyle(element)
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
    const control = element.closest(controls)
    // What people have written may end with an ellipsis.
    if (style.textOverflow === "ellipsis") continue
    if (texts.length > 0 && /hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1)
      found.push(`Cut off: ${named(element)}`)
    if (!control || element.closest(".story")) continue
    const around = control.getBoundingClientRect()
    for (const text of texts) {
      const range = document.createRange()
      range.selectNodeContents(text)
      for (const { left, right, top, bottom } of range.getClientRects())
        if (left < around.left - 1 || right > around.right + 1 || top < around.top - 1 || bottom > around.bottom + 1)
          found.push(`Out of its box: ${named(control)}`)
    }
  }
  return [...new Set(found)]
}"""
_LENGTHEN = """(labels) => {
  for (const element of document.body.querySelectorAll(labels)) {
    if (element.closest(".story, svg")) continue
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const text = walker.currentNode
      if (text.lengthened) continue
      text.data = text.data.replace(/\\p{L}{2,}/gu, (word) => word + "o".repeat(Math.ceil(word.length * 0.4)))
      text.lengthened = true
    }
  }
}"""

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


def cut_off(page: Page) -> list[str]:
    """What is wider than the window, and words that are cut off or stand outside of their buttons."""
    found: list[str] = page.evaluate(_CUT_OFF, _CONTROLS)
    return found


def lengthen_labels(page: Page) -> None:
    """Make every word of labels and buttons 40 % longer, as other languages do."""
    page.evaluate(_LENGTHEN, f"{_CONTROLS}, a, label, legend, th, dt, h1, h2, h3")


def assert_accessible(page: Page) -> None:
    """Everything fits and axe finds nothing, on a phone in the light and on a desktop in the dark."""
    looks: tuple[tuple[Size, Theme], ...] = ((PHONE, "light"), (DESKTOP, "dark"))
    for size, theme in looks:
        show(page, size, theme)
        assert fits(page), (page.url, size)
        found = violations(page)
        assert found == [], (page.url, size, theme, found)
    show(page, NARROWEST)
    assert fits(page), (page.url, NARROWEST)
