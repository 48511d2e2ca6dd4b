"""The system's Chromium, as tests of pages use it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

__all__ = ["BLOCKED_WORKER", "open_chromium"]

BLOCKED_WORKER = "Service Worker registration blocked by Playwright"
"""What the console says in profiles without service workers: a kept page would be shown in place of a test's own."""


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """A browser that knows this machine alone; the one without windows, if it is there, costs a third less."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        pytest.fail("The tests of pages need Chromium, and it is not here. Run: sh scripts/ensure-chromium")
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to work as root, and the pages are our own.
        browser = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--no-proxy-server",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )
        yield browser
        browser.close()
