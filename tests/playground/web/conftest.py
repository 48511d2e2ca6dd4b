"""The sample pages in a real browser; what the page complains about fails the test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.playground.support.chromium import BLOCKED_WORKER, open_chromium
from tests.playground.web.sample_site import SampleSite


# Not for the whole session: as long as Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def running_site() -> Iterator[SampleSite]:
    with SampleSite() as site:
        yield site


@pytest.fixture
def site(running_site: SampleSite) -> SampleSite:
    """The sample pages, behind which nothing has happened yet."""
    running_site.reset()
    return running_site


@pytest.fixture
def complaints() -> list[str]:
    """What the browser said; a test that makes trouble on purpose empties it."""
    return []


@pytest.fixture
def page(browser: Browser, site: SampleSite, complaints: list[str]) -> Iterator[Page]:
    """A window on a phone."""
    context = browser.new_context(
        base_url=site.url, viewport={"width": 390, "height": 844}, locale="en-GB", service_workers="block"
    )
    context.set_default_timeout(10_000)
    context.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type in ("error", "warning") and message.text != BLOCKED_WORKER
            else None
        ),
    )
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert complaints == []
