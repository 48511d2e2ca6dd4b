"""The sample pages in a real browser; what the page complains about fails the test."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.playground.web.sample_site import SampleSite


# Not for the whole session: as long as Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "These tests need Chromium, and it is not here. Run: sh scripts/ensure-chromium"
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to work as root, and the pages are our own.
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def site() -> Iterator[SampleSite]:
    with SampleSite() as site:
        yield site


@pytest.fixture
def complaints() -> list[str]:
    """What the browser said; a test that makes trouble on purpose empties it."""
    return []


@pytest.fixture
def page(browser: Browser, site: SampleSite, complaints: list[str]) -> Iterator[Page]:
    """A window on a phone."""
    context = browser.new_context(base_url=site.url, viewport={"width": 390, "height": 844}, locale="en-GB")
    context.set_default_timeout(10_000)
    context.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert complaints == []
