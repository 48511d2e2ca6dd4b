"""The application as one that is kept: what is shown without a server, and what a hidden tab says."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.groups import begin_group
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS, wait_until

NO_SERVER = r"net::ERR_|Failed to fetch|Failed to load resource"
CONTROLLED = "() => navigator.serviceWorker.controller !== null"
SET_VISIBILITY = """state => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true })
    document.dispatchEvent(new Event("visibilitychange"))
}"""
# Chromium without windows always says that notifications are denied, whatever it is told.
PERMISSION = """
let permission = "%s"
Object.defineProperty(Notification, "permission", { get: () => permission })
Notification.requestPermission = async () => (permission = "%s")
"""
RECORD_NOTIFICATIONS = """
window.shown = []
if (window.ServiceWorkerRegistration) ServiceWorkerRegistration.prototype.showNotification = async (title, options) => {
    shown.push({ title, ...options })
}
"""
RECORD_WITHOUT_WORKER = """
window.shown = []
window.Notification = class extends EventTarget {
    static permission = "granted"
    constructor(title, options) { super(); shown.push({ title, ...options }) }
}
"""
NOTIFY = "() => localStorage.setItem('tavernkit:notifications', 'on')"
SHOW_TEXT = "() => localStorage.setItem('tavernkit:notification-text', 'on')"
LONG_HIDDEN_MS = 11_000


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    killed = ServerProcess(
        tmp_path_factory.mktemp("server"), model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS)
    )
    with running(killed) as server:
        yield server


@pytest.fixture
def server(running_server: ServerProcess) -> ServerProcess:
    """A server that these tests share, up again after a test that left it down."""
    running_server.ensure_started()
    return running_server


@pytest.fixture
def kept_story(open_window: OpenWindow, server: ServerProcess) -> Story:
    """A story in a browser whose service worker has everything that it keeps."""
    story = begin_story(open_window(server, service_workers=True, expected_complaint=NO_SERVER))
    story.page.wait_for_function(CONTROLLED)
    return story


def offline(page: Page) -> None:
    """Ask for a page that nobody answers, and see the one that was kept."""
    page.reload()
    expect(page.get_by_role("heading", name="The server cannot be reached")).to_be_visible()


def test_a_draft_is_shown_offline_and_is_in_the_composer_when_the_server_is_back(
    kept_story: Story, server: ServerProcess
) -> None:
    page, text = kept_story.page, "I knock twice.\nThen I wait."
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    kept_story.box.fill(text)
    server.kill()
    kept_story.box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Your text is kept")
    expect(kept_story.box).to_have_value(text)
    offline(page)
    drafts = page.get_by_role("region", name="Unsent drafts")
    expect(drafts.get_by_role("heading", name="Ottoline › Main")).to_be_visible()
    expect(drafts.get_by_text("I knock twice.")).to_be_visible()
    drafts.get_by_role("button", name="Copy").click()
    expect(page.locator("#announcer")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == text
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("The server still does not answer.")).to_be_visible()
    assert_accessible(page)
    server.start()
    # Nobody presses anything.
    expect(kept_story.box).to_have_value(text)


def test_following_a_link_without_a_server_shows_the_offline_page_at_its_address(
    kept_story: Story, server: ServerProcess
) -> None:
    page = kept_story.page
    server.kill()
    page.goto("/characters")
    expect(page.get_by_role("heading", name="The server cannot be reached")).to_be_visible()
    assert page.url == f"{server.url}/characters"
    expect(page.get_by_role("region", name="Unsent drafts")).to_be_hidden()
    server.start()
    expect(page.get_by_role("heading", name="Characters", exact=True)).to_be_visible()


def test_who_signs_out_leaves_no_draft_on_the_offline_page(kept_story: Story, server: ServerProcess) -> None:
    page, address = kept_story.page, kept_story.page.url
    kept_story.box.fill("A secret.")
    page.goto("/sign-in")
    server.kill()
    offline(page)
    expect(page.get_by_role("region", name="Unsent drafts")).to_be_hidden()
    server.start()
    page.goto(address)
    expect(kept_story.box).to_have_value("A secret.")


def test_only_built_files_and_the_offline_page_are_kept(kept_story: Story) -> None:
    page = kept_story.page
    kept_story.send("[[say: Come in.]] I knock.")
    kept_story.expect_one_reply("Come in.")
    for path in ("/", "/characters", "/account", "/api/v1/me"):
        page.goto(path)
    kept = page.evaluate(
        """async () => {
            const all = await Promise.all((await caches.keys()).map((name) => caches.open(name)))
            const requests = (await Promise.all(all.map((cache) => cache.keys()))).flat()
            return requests.map(({ url }) => new URL(url).pathname)
        }"""
    )
    assert "/offline" in kept
    assert [path for path in kept if path != "/offline" and not path.startswith("/static/")] == []


def test_a_new_version_removes_the_caches_of_old_ones(kept_story: Story) -> None:
    page = kept_story.page
    page.evaluate("() => caches.open('tavernkit-old')")
    (before,) = set(page.evaluate("() => caches.keys()")) - {"tavernkit-old"}
    page.evaluate("() => navigator.serviceWorker.register('/service-worker.js?language=ru')")
    page.wait_for_function("() => caches.keys().then((names) => names.length === 1)")
    assert page.evaluate("() => caches.keys()") != [before]


def test_one_of_two_hidden_tabs_notifies_of_a_reply(open_window: OpenWindow, site: ServerProcess, gate: Gate) -> None:
    tabs = hidden_tabs(open_window(site, service_workers=True), gate)
    gate.open()
    for tab in tabs:
        expect(tab.page).to_have_title(re.compile("^● "))
    wait_until(lambda: len(notifications(tabs)) == 1)
    (shown,) = notifications(tabs)
    assert (shown["title"], shown["body"]) == ("Ottoline", "New reply")
    assert shown["data"] == {"path": f"/conversations/{tabs[0].conversation_id}"}
    # Another reply, with its text: a second notification of the first would be here by now.
    tabs[0].page.evaluate(SHOW_TEXT)
    tabs[0].send("[[say: The lamp is lit.]] And now?")
    wait_until(lambda: len(notifications(tabs)) == 2)
    assert {shown["body"] for shown in notifications(tabs)} == {"New reply", "The lamp is lit."}
    for tab in tabs:
        tab.page.evaluate(SET_VISIBILITY, "visible")
        expect(tab.page).to_have_title(re.compile("^[^●]"))


def test_a_reply_that_somebody_sees_is_not_notified(open_window: OpenWindow, site: ServerProcess, gate: Gate) -> None:
    tabs = hidden_tabs(open_window(site, service_workers=True), gate)
    tabs[1].page.evaluate(SET_VISIBILITY, "visible")
    gate.open()
    expect(tabs[0].page).to_have_title(re.compile("^● "))
    tabs[1].page.evaluate(SET_VISIBILITY, "hidden")
    tabs[0].send("[[error: 400]] And now?")
    wait_until(lambda: len(notifications(tabs)) > 0)
    assert [shown["body"] for shown in notifications(tabs)] == ["The reply failed."]


def test_a_tab_that_was_hidden_for_long_notifies_without_a_service_worker(
    open_window: OpenWindow, site: ServerProcess, gate: Gate
) -> None:
    page = open_window(site, new_profile=True)
    page.clock.install()
    page.context.add_init_script(RECORD_WITHOUT_WORKER)
    story = begin_story(page)
    page.evaluate(NOTIFY)
    story.send(f"[[slow: 4]] {gate.behind(2)} Is the lamp lit?")
    story.wait_until_reply_says("word2")
    page.evaluate(SET_VISIBILITY, "hidden")
    page.clock.run_for(LONG_HIDDEN_MS)
    gate.open()
    wait_until(lambda: len(notifications([story])) == 1)


def test_a_round_of_a_group_is_notified_at_its_end(open_window: OpenWindow, site: ServerProcess, gate: Gate) -> None:
    page = open_window(site, new_profile=True)
    page.context.add_init_script(RECORD_WITHOUT_WORKER)
    group = begin_group(page)
    page.evaluate(NOTIFY)
    group.send(f"[[slow: 4]] {gate.behind(2)}")
    expect(group.now).to_contain_text("Ottoline")
    page.evaluate(SET_VISIBILITY, "hidden")
    gate.open()
    expect(group.now).to_contain_text("Tansy")
    gate.open()
    wait_until(lambda: len(notifications([group])) > 0)
    (shown,) = notifications([group])
    assert shown["title"].startswith("Tansy")


def test_a_click_on_a_notification_shows_its_conversation(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, service_workers=True))
    story.page.wait_for_function(CONTROLLED)
    (worker,) = story.page.context.service_workers
    shown = worker.evaluate(
        """async (paths) => {
            const shown = []
            WindowClient.prototype.focus = async function () { shown.push(`focus ${new URL(this.url).pathname}`) }
            self.clients.openWindow = async (path) => { shown.push(`open ${path}`) }
            for (const path of paths) {
                const event = new ExtendableEvent("notificationclick")
                const waiting = []
                event.waitUntil = (work) => waiting.push(work)
                event.notification = { data: { path }, close: () => shown.push("close") }
                self.dispatchEvent(event)
                await Promise.all(waiting)
            }
            return shown
        }""",
        [f"/conversations/{story.conversation_id}", "/conversations/other"],
    )
    assert shown == ["close", f"focus /conversations/{story.conversation_id}", "close", "open /conversations/other"]


def test_notifications_are_switched_on_with_permission_and_explain_a_refusal(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, new_profile=True)
    page.context.add_init_script(PERMISSION % ("granted", "granted"))
    page.goto("/account")
    replies = page.get_by_label("Notify when a reply is done in a hidden tab")
    text = page.get_by_label("Show text in notifications")
    expect(replies).not_to_be_checked()
    expect(text).to_be_disabled()
    replies.check()
    text.check()
    page.reload()
    expect(replies).to_be_checked()
    expect(text).to_be_checked()
    assert_accessible(page)
    replies.uncheck()
    page.reload()
    expect(replies).not_to_be_checked()
    # In another browser, which asks and is told no.
    page = open_window(site, new_profile=True)
    page.context.add_init_script(PERMISSION % ("default", "denied"))
    page.goto("/account")
    refusal = page.get_by_text("The browser blocks notifications of this site.")
    expect(refusal).to_be_hidden()
    page.get_by_label("Notify when a reply is done in a hidden tab").click()
    expect(refusal).to_be_visible()
    expect(page.get_by_label("Notify when a reply is done in a hidden tab")).not_to_be_checked()
    assert_accessible(page)


def hidden_tabs(page: Page, gate: Gate) -> list[Story]:
    """Two hidden tabs of a conversation in which a reply is being written, with notifications on."""
    page.context.add_init_script(PERMISSION % ("granted", "granted") + RECORD_NOTIFICATIONS)
    first = begin_story(page)
    page.wait_for_function(CONTROLLED)
    page.evaluate(NOTIFY)
    second = page.context.new_page()
    second.goto(page.url)
    tabs = [first, Story(second)]
    first.send(f"[[slow: 4]] {gate.behind(2)} Is the lamp lit?")
    for tab in tabs:
        tab.wait_until_reply_says("word2")
        tab.page.evaluate(SET_VISIBILITY, "hidden")
    return tabs


def notifications(tabs: Sequence[Story]) -> list[dict[str, Any]]:
    return [shown for tab in tabs for shown in tab.page.evaluate("() => window.shown")]
