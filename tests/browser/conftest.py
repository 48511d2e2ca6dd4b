"""A real browser on a real server; what the page complains about or fetches elsewhere fails the test."""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, WebError, expect

from tests.browser.looks import DESKTOP, Size, Theme, show
from tests.browser.story import Story, begin_story, origin
from tests.playground.support.chromium import BLOCKED_WORKER, open_chromium
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

LEFT = "signal is aborted without reason"
"""What the browser says about a request that Turbo leaves because another form takes its place."""
UNSENT = re.compile("ERR_CONNECTION_REFUSED.*/read_position")
"""What it says when a server stops before the page has reported what was read, as at the end of a test."""
EMPTY = "/health"
"""An address of the server that has nothing of the application's pages in it."""
expect.set_options(timeout=HANG_SECONDS * 1000)


class OpenWindow(Protocol):
    """How a test opens a window: a browser profile of its own, with one page that shows nothing of the server yet.

    `expected_complaint` is a pattern of what the browser may say about the trouble that the test makes. A test that
    changes the profile itself (its scripts, its clock, its permissions) takes a `new_profile`, which is gone with it.
    Only one with `service_workers` has those, and is a new profile too.
    """

    def __call__(
        self,
        server: ServerProcess,
        *,
        size: Size = DESKTOP,
        theme: Theme = "light",
        expected_complaint: str | None = None,
        new_profile: bool = False,
        service_workers: bool = False,
    ) -> Page: ...


class Profile:
    """A browser profile on one server, with a page that stays open.

    Tests use it one after the other: what the browser has fetched and compiled is still there, what pages have stored
    is not.
    """

    def __init__(
        self, browser: Browser, server: ServerProcess, locale: str = "en-US", *, service_workers: bool = False
    ) -> None:
        self._server = server
        self._expected_complaint: str | None = None
        self.problems: list[str] = []
        self.context = browser.new_context(
            base_url=server.url,
            locale=locale,
            reduced_motion="reduce",
            service_workers="allow" if service_workers else "block",
        )
        self.context.set_default_timeout(HANG_SECONDS * 1000)
        # Only heard, not held: whoever holds requests has the browser fetch everything anew on every page.
        self.context.on("request", self._stay_here)
        self.context.on("console", self._listen)
        self.context.on("weberror", self._catch)
        self.page = self.context.new_page()
        self.page.goto(EMPTY)

    def open(self, size: Size, theme: Theme, expected_complaint: str | None) -> Page:
        show(self.page, size, theme)
        self._expected_complaint = expected_complaint
        return self.page

    def clear(self) -> list[str]:
        """Leave all pages and forget what they have stored; what went wrong on them."""
        for page in self.context.pages:
            if page != self.page:
                page.close()
        self.page.unroute_all()
        self.page.goto(EMPTY)
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        self.context.clear_cookies()
        problems, self.problems = self.problems, []
        return problems

    def close(self) -> list[str]:
        self.context.close()
        return self.problems

    def _stay_here(self, request: Request) -> None:
        if not request.url.startswith((f"{self._server.url}/", "data:", "blob:")):
            self.problems.append(f"The page asked for {request.url}, which is not on our server.")

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._complain(f"The console says: {message.text} ({message.location['url']})")

    def _catch(self, error: WebError) -> None:
        self._complain(f"A script failed: {error.error}")

    def _complain(self, problem: str) -> None:
        expected = self._expected_complaint
        if (
            LEFT not in problem
            and BLOCKED_WORKER not in problem
            and not UNSENT.search(problem)
            and (expected is None or not re.search(expected, problem))
        ):
            self.problems.append(problem)


class Gate:
    """Holds replies of the scripted model until the test lets them go on."""

    def __init__(self, model: ScriptedModel) -> None:
        self._name = uuid4().hex
        self._address = f"{model.url}/_gates/{self._name}"

    def behind(self, *words: int) -> str:
        """What has a reply wait behind so many words; with several numbers, each time."""
        return f"[[hold: {self._name} {' '.join(str(number) for number in words)}]]"

    def open(self, times: int = 1) -> None:
        """Let a reply go on, as soon as it has come so far."""
        httpx2.post(self._address, params={"times": times}, trust_env=False).raise_for_status()


# Not for the whole session: as long as Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests; each window is a profile of its own."""
    with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedModel]:
    """A model that takes no time between two words: a reply that must stand still is held by a gate."""
    with running(ScriptedModel(tmp_path_factory.mktemp("scripted-model"), delay=0)) as model:
        yield model


@pytest.fixture
def gate(scripted_model: ScriptedModel) -> Iterator[Gate]:
    """Holds replies of this test; what it still holds at the end goes on, so that no worker waits for it."""
    gate = Gate(scripted_model)
    yield gate
    gate.open(times=1000)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    """A server that all tests share, each in a story of its own."""
    # Nobody kills this one: on a busy machine, a reply must not be given up because its worker was late.
    lasting = ServerProcess(
        tmp_path_factory.mktemp("site"),
        model_url=scripted_model.base_url,
        lease_seconds=str(HANG_SECONDS),
        heartbeat_seconds="2",
    )
    with running(lasting) as server:
        yield server


@pytest.fixture(scope="package")
def profiles(browser: Browser, site: ServerProcess) -> Iterator[list[Profile]]:
    """Those on the server that all tests share which nobody uses."""
    unused: list[Profile] = []
    yield unused
    for profile in unused:
        profile.close()


@pytest.fixture
def open_window(browser: Browser, site: ServerProcess, profiles: list[Profile]) -> Iterator[OpenWindow]:
    """Opens windows, and leaves them after the test."""
    used: list[Profile] = []
    new: list[Profile] = []

    def open_window(
        server: ServerProcess,
        *,
        size: Size = DESKTOP,
        theme: Theme = "light",
        expected_complaint: str | None = None,
        new_profile: bool = False,
        service_workers: bool = False,
    ) -> Page:
        if new_profile or service_workers or server is not site:
            profile = Profile(browser, server, service_workers=service_workers)
            new.append(profile)
        else:
            profile = profiles.pop() if profiles else Profile(browser, server)
            used.append(profile)
        return profile.open(size, theme, expected_complaint)

    yield open_window
    problems = [problem for profile in new for problem in profile.close()]
    for profile in used:
        problems += profile.clear()
        profiles.append(profile)
    assert problems == []


@pytest.fixture(autouse=True)
def pictures(tmp_path: Path) -> Path:
    """Where pictures of the windows of a test go; pytest keeps those of the last few runs."""
    return tmp_path


@pytest.fixture
def page(open_window: OpenWindow, site: ServerProcess) -> Page:
    """A window on a desktop that shows nothing yet."""
    return open_window(site)


@pytest.fixture
def own_preferences(page: Page) -> Iterator[None]:
    """For a test that changes how pages look or which keys they have: others on the same server have the defaults."""
    yield
    headers = {"Origin": origin(page)}
    for address in ("/appearance/reset", "/keys/reset"):
        assert page.request.post(address, headers=headers).ok


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
            pages = [page for context in browser.contexts for page in context.pages if not page.url.endswith(EMPTY)]
            for number, page in enumerate(pages):
                picture = folder / f"{number}.png"
                page.screenshot(path=picture)
                report.sections.append((page.url, f"{picture}\n{page.locator('body').inner_text()}"))
    return report
