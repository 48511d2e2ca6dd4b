"""The pages of administrators: each does its work, and says why it does not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import NARROWEST, assert_accessible, cut_off, lengthen_labels, show
from tests.browser.story import begin_story
from tests.playground.accounts.installation import PASSWORD
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

TABS = ("Health", "Users", "Invitations", "Storage", "Jobs", "Backups", "Usage", "Limits")
NETWORK = "0.0.0.0"  # noqa: S104 - what it means is the point


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("administration")


@pytest.fixture(scope="module")
def server(scripted_model: ScriptedModel, folder: Path) -> Iterator[ServerProcess]:
    """A server of its own: backups and limits are everybody's."""
    with running(ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        yield server


@pytest.fixture
def page(open_window: OpenWindow, server: ServerProcess) -> Page:
    return open_window(server)


def test_the_first_account_on_a_network_invites_others_and_looks_after_them(
    open_window: OpenWindow, tmp_path: Path
) -> None:
    with running(ServerProcess(tmp_path, model_url="", worker="none", host=NETWORK)) as server:
        page = open_window(server, expected_complaint="409|422")
        page.goto("/characters")
        page.wait_for_url("**/setup")
        page.get_by_label("Setup code").fill("wrong")
        page.get_by_label("Display name").fill("Olga")
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        expect(page.get_by_role("alert").first).to_contain_text("This setup code is wrong.")
        page.get_by_label("Setup code").fill(server.log.read_text().partition("setup code: ")[2].split()[0])
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        expect(page.get_by_role("button", name="New story").first).to_be_visible()

        page.goto("/account")
        page.get_by_role("link", name="Administration").click()
        page.get_by_role("navigation", name="Administration").get_by_role("link", name="Invitations").click()
        page.get_by_label("Note").fill("for Hugo")
        page.get_by_role("button", name="Create invitation").click()
        assert_accessible(page)
        link = page.get_by_role("status").locator("code").first.inner_text()
        hugo = open_window(server)
        hugo.goto(link)
        hugo.get_by_label("Display name").fill("Hugo")
        hugo.get_by_label("Password, at least").fill(PASSWORD)
        hugo.get_by_role("button", name="Create account").click()
        expect(hugo.get_by_role("heading", level=1, name="Stories")).to_be_visible()

        page.goto("/admin/users")
        page.get_by_role("searchbox", name="Search by name").fill("hug")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.get_by_role("list", name="Users").get_by_role("listitem")).to_have_count(1)
        page.get_by_role("link", name="Hugo").click()
        page.get_by_role("button", name="Create password reset link").click()
        reset = page.get_by_role("status").locator("code").first.inner_text()
        assert_accessible(page)
        page.get_by_role("button", name="Deactivate Hugo").click()
        page.get_by_role("dialog").get_by_role("button", name="Deactivate").click()
        expect(page.get_by_role("button", name="Reactivate")).to_be_visible()
        hugo.goto("/")
        hugo.wait_for_url("**/sign-in?**")
        page.get_by_role("button", name="Reactivate").click()
        expect(page.get_by_role("button", name="Deactivate Hugo")).to_be_visible()
        hugo.goto(reset)
        hugo.get_by_label("New password").fill("nine grey herons")
        hugo.get_by_role("button", name="Set password").click()
        expect(hugo.get_by_role("heading", level=1, name="Stories")).to_be_visible()

        page.goto("/admin/users")
        page.get_by_role("link", name="Olga").click()
        page.get_by_role("combobox", name="Role").select_option("Member")
        page.get_by_role("button", name="Save role").click()
        expect(page.get_by_text("This is the last administrator.")).to_be_visible()
        page.goto("about:blank")
        hugo.goto("about:blank")


def test_every_tab_can_be_used_on_a_phone_and_without_seeing_it(page: Page) -> None:
    for tab in TABS:
        page.goto("/admin" if tab == "Health" else f"/admin/{tab.lower()}")
        expect(page.get_by_role("heading", level=1, name=tab)).to_be_visible()
        assert_accessible(page)
        show(page, NARROWEST)
        lengthen_labels(page)
        assert cut_off(page) == []


def test_a_backup_that_fails_says_why_and_is_tried_again_then_checked_and_chosen(
    page: Page, server: ServerProcess, folder: Path
) -> None:
    in_the_way = folder / "data" / "backups"
    in_the_way.write_text("")
    page.goto("/admin/backups")
    page.get_by_role("button", name="Back up now").click()
    expect(page.locator(".problem").filter(has_text="The last backup failed:")).to_contain_text("cannot be made")
    page.goto("/admin/jobs?status=failed")
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem")).to_contain_text("cannot be made")
    in_the_way.unlink()
    # A page that is open meanwhile shows the new backup without being loaded again.
    other = page.context.new_page()
    other.goto(f"{server.url}/admin/jobs?status=failed")
    page.goto("/admin/backups")
    expect(page.locator(".problem").filter(has_text="The last backup failed:")).to_be_visible()
    other.get_by_role("button", name="Try again: Backup").click()
    backup = page.get_by_role("list", name="Backups").get_by_role("listitem")
    expect(backup).to_have_count(1)
    other.goto("about:blank")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("^Download manual")).click()
    assert download.value.suggested_filename.startswith("manual-")
    page.get_by_role("link", name=re.compile("^Check and restore")).click()
    expect(page.get_by_role("status").first).to_contain_text("every row was read")
    assert_accessible(page)
    page.get_by_role("button", name="Restore at next start").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore at next start").click()
    page.wait_for_url("**/admin/backups")
    expect(page.get_by_text("is restored when TavernKit starts next")).to_be_visible()
    assert_accessible(page)
    page.goto("about:blank")
    server.restart()
    page.goto("/admin/backups")
    expect(page.get_by_text("What was there before is in")).to_be_visible()
    expect(backup).to_have_count(2)


def test_a_file_that_is_no_backup_is_refused(open_window: OpenWindow, server: ServerProcess) -> None:
    page = open_window(server, expected_complaint="422")
    page.goto("/admin/backups")
    page.get_by_label("Backup file").set_input_files(
        {"name": "holiday.zip", "mimeType": "application/zip", "buffer": b"PK"}
    )
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_text("This is not a backup of TavernKit")).to_be_visible()


def test_usage_is_priced_and_a_limit_stops_the_next_reply(page: Page) -> None:
    story = begin_story(page)
    story.send("[[say: One reply.]]")
    story.expect_one_reply("One reply.")
    address = page.url
    page.goto("/admin/usage?by=model")
    line = page.get_by_role("row").filter(has_text="scripted")
    expect(line).to_contain_text("unknown")
    page.get_by_label("Model", exact=True).fill("scripted")
    page.get_by_label("Prompt", exact=True).fill("2.5")
    page.get_by_label("Reply", exact=True).fill("10")
    page.get_by_role("button", name="Save price").click()
    expect(page.get_by_role("list", name="Prices")).to_contain_text("$2.5")
    page.goto("/admin/usage?by=model")
    expect(line).to_contain_text("$0.0")
    assert_accessible(page)
    page.goto("/admin/limits")
    page.get_by_label("Tokens per day").fill("1")
    page.get_by_role("button", name="Save limits").click()
    page.goto(address)
    story.send("[[say: Never sent.]]")
    expect(story.run.locator(".run-sentence")).to_contain_text("of 1 tokens today. Wait until 00:00 UTC")
    page.goto("/admin/limits")
    page.get_by_label("Tokens per day").fill("")
    page.get_by_role("button", name="Save limits").click()
    expect(page.get_by_label("Tokens per day")).to_have_value("")
