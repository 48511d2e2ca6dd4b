"""A real browser on a real server; what the page complains about or fetches elsewhere fails the test."""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal, Protocol

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    expect,
)

from tests.browser.story import Story, begin_story
from tests.playground.support.chromium import open_chromium
from tests.playground.support.server import ScriptedModel, ServerProcess, running

DESKTOP = (1280, 900)
PHONE = (390, 844)
LEFT = "signal is aborted without reason"
"""What the browser says about a request that Turbo leaves because another form takes its place."""
# Two cores run everything here: what takes a moment elsewhere may take some seconds.
expect.set_options(timeout=15_000)


class OpenWindow(Protocol):
    """How a test opens a window: a browser profile of its own, with one page at the home page of the server.

    `expected_complaint` is a pattern of what the browser may say about the trouble that the test makes.
    """

    def __call__(
        self,
        server: ServerProcess,
        *,
        size: tuple[int, int] = DESKTOP,
        theme: Literal["light", "dark"] = "light",
        expected_complaint: str | None = None,
    ) -> Page: ...


# Not for the whole session: as long as Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests; each window is a profile of its own."""
    with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    """A server that the tests of a module share, each in a story of its own."""
    # Nobody kills this one: on a busy machine, a reply must not be given up because its worker was late.
    lasting = ServerProcess(tmp_path_factory.mktemp("site"), model_url=scripted_model.base_url, lease_seconds="30")
    with running(lasting) as server:
        yield server


@pytest.fixture
def open_window(browser: Browser) -> Iterator[OpenWindow]:
    """Opens windows, and closes them after the test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_window(
        server: ServerProcess,
        *,
        size: tuple[int, int] = DESKTOP,
        theme: Literal["light", "dark"] = "light",
        expected_complaint: str | None = None,
    ) -> Page:
        width, height = size
        context = browser.new_context(
            base_url=server.url,
            viewport={"width": width, "height": height},
            color_scheme=theme,
            has_touch=size == PHONE,
        )
        contexts.append(context)
        context.set_default_timeout(15_000)

        # Only heard, not held: whoever holds requests has the browser fetch everything anew on every page.
        def stay_here(request: Request) -> None:
            if not request.url.startswith((f"{server.url}/", "data:", "blob:")):
                problems.append(f"The page asked for {request.url}, which is not on our server.")

        def complain(problem: str) -> None:
            if LEFT in problem or (expected_complaint is not None and re.search(expected_complaint, problem)):
                return
            problems.append(problem)

        def listen(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                complain(f"The console says: {message.text}")

        def catch(error: WebError) -> None:
            complain(f"A script failed: {error.error}")

        context.on("request", stay_here)
        context.on("console", listen)
        context.on("weberror", catch)
        page = context.new_page()
        page.goto("/")
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(autouse=True)
def pictures(tmp_path: Path) -> Path:
    """Where pictures of the windows of a test go; pytest keeps those of the last few runs."""
    return tmp_path


@pytest.fixture
def page(open_window: OpenWindow, site: ServerProcess) -> Page:
    """A window on a desktop, at the home page."""
    return open_window(site)


@pytest.fixture
def story(page: Page) -> Story:
    """A story that has just begun, on a desktop."""
    return begin_story(page)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep a picture of what was on the screen when a test failed."""
    report = yield
    if report.when == "call" and report.failed and isinstance(item, pytest.Function):
        browser, folder = item.funcargs.get("browser"), item.funcargs.get("pictures")
        if isinstance(browser, Browser) and isinstance(folder, Path):
            pages = [page for context in browser.contexts for page in context.pages]
            for number, page in enumerate(pages):
                picture = folder / f"{number}.png"
                page.screenshot(path=picture)
                report.sections.append((page.url, f"{picture}\n{page.locator('body').inner_text()}"))
    return report
