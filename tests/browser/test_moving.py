"""Moving in and out: a folder is dropped, scanned, imported, read and exported again."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, NARROWEST, assert_accessible, cut_off, lengthen_labels, show
from tests.browser.story import Story
from tests.migration.folders_generator import write_user_folder
from tests.playground.migration.edge_support import CHAT, FILES
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(scope="module")
def server(scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of its own: what is imported is used in all stories."""
    folder = tmp_path_factory.mktemp("moving")
    with running(ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        yield server


@pytest.fixture
def page(open_window: OpenWindow, server: ServerProcess) -> Page:
    return open_window(server)


def drop(page: Page, *places: Path, address: str = "/import") -> None:
    """Drop folders or files of the disk onto the page, as a person does from the window beside it."""
    page.goto(address)
    expect(page.get_by_text("or drop a folder")).to_be_visible()
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(place) for place in places], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    devtools.detach()


def written(place: Path) -> Path:
    """A small folder of SillyTavern."""
    for path, data in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    return place


def wait_for_scan(page: Page) -> None:
    page.wait_for_url(re.compile(r"/import/[\w-]+$"))
    expect(page.get_by_text("Nothing is imported yet. Check what was found").first).to_be_visible()


def import_all(page: Page) -> None:
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("The import is complete.").first).to_be_visible()


def row(page: Page, path: str) -> Locator:
    return page.get_by_role("list", name="Files").get_by_role("listitem").filter(has_text=path)


def test_a_dropped_folder_is_scanned_chosen_imported_and_read(page: Page, tmp_path: Path) -> None:
    drop(page, written(tmp_path / "default-user"))
    wait_for_scan(page)
    expect(page.get_by_role("heading", level=1, name="default-user")).to_be_visible()
    characters = page.get_by_role("row").filter(has_text="Characters")
    expect(characters).to_contain_text("2")
    page.get_by_text("secrets are skipped").click()
    expect(page.get_by_role("listitem").filter(has_text="secrets.json").first).to_be_visible()
    page.get_by_label("Search").fill("Sea")
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_count(1)
    # Only then is the search over: Turbo gives up a form that is sent before.
    expect(page).to_have_url(re.compile("search=Sea"))
    with page.expect_response(re.compile(r"/items/\d+$")):
        page.get_by_label("Choice for worlds/Sea.json").select_option("Skip")
    expect(page.get_by_label("Choice for worlds/Sea.json")).to_have_value("skip")
    others = page.get_by_role("checkbox", name="Other files")
    others.uncheck()
    page.get_by_role("link", name="2 files: Characters", exact=True).click()
    expect(row(page, "characters/Anna.png")).to_be_visible()
    expect(row(page, "worlds/Sea.json")).to_have_count(0)
    expect(others).not_to_be_checked()

    import_all(page)
    expect(page.get_by_role("link", name=re.compile("Skipped"))).to_contain_text("2")
    page.get_by_role("link", name=re.compile("Refused")).click()
    expect(row(page, "secrets.json")).to_contain_text("so it was not read")
    expect(row(page, "characters/Anna.png")).to_have_count(0)
    page.get_by_role("combobox", name="Result").select_option("All")
    row(page, CHAT).get_by_role("link").click()
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    expect(story.words.last).to_contain_text("Very.")
    story.send("[[say: It is not late at all.]]")
    story.expect_one_reply("It is not late at all.")


def test_what_was_imported_leads_to_its_line_in_the_report(page: Page, tmp_path: Path) -> None:
    drop(page, written(tmp_path / "another user"))
    wait_for_scan(page)
    import_all(page)
    row(page, "characters/Anna.png").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1, name="Anna")).to_be_visible()
    page.get_by_role("link", name="Import report").first.click()
    expect(row(page, "characters/Anna.png")).to_be_visible()
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_count(1)


def test_a_folder_with_everything_that_goes_wrong_is_imported(page: Page, tmp_path: Path) -> None:
    write_user_folder(tmp_path / "old user", Random(7))
    drop(page, tmp_path / "old user")
    proceed = page.get_by_role("button", name="Continue without them")
    expect(proceed.or_(page.get_by_text("Nothing is imported yet.")).first).to_be_visible()
    if proceed.is_visible():
        expect(page.get_by_text("The browser cannot read it.").first).to_be_visible()
        proceed.click()
    wait_for_scan(page)
    assert_accessible(page)
    show(page, NARROWEST)
    lengthen_labels(page)
    assert cut_off(page) == []
    page.reload()
    import_all(page)
    assert_accessible(page)
    show(page, NARROWEST)
    lengthen_labels(page)
    assert cut_off(page) == []


def test_a_file_that_is_no_backup_is_refused_with_a_sentence(page: Page, tmp_path: Path) -> None:
    holiday = tmp_path / "holiday.json"
    holiday.write_text('{"sun": true}')
    drop(page, holiday)
    page.wait_for_url(re.compile(r"/import/[\w-]+$"))
    failed = page.locator(".moving-failed")
    expect(failed).to_be_visible()
    assert failed.inner_text().endswith(".")
    page.get_by_role("button", name="Discard holiday.json").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    page.wait_for_url("**/import")
    expect(page.get_by_role("listitem").filter(has_text="holiday.json")).to_contain_text("Discarded")


def test_a_file_that_does_not_arrive_is_named_and_sent_again(
    open_window: OpenWindow, server: ServerProcess, tmp_path: Path
) -> None:
    page = open_window(server, expected_complaint="net::ERR_FAILED")
    is_broken = True

    def lose_sea(route: Route) -> None:
        if is_broken:
            route.abort()
        else:
            route.continue_()

    page.route(re.compile("path=worlds%2FSea.json"), lose_sea)
    drop(page, written(tmp_path / "default-user"))
    expect(page.get_by_text("worlds/Sea.json: It cannot be read, or the server does not answer.")).to_be_visible()
    assert_accessible(page)
    is_broken = False
    page.get_by_role("button", name="Try again").click()
    wait_for_scan(page)
    expect(row(page, "worlds/Sea.json")).to_be_visible()


def test_an_upload_goes_on_while_another_page_is_open(page: Page, tmp_path: Path) -> None:
    held: list[Route] = []
    page.route(re.compile("path=settings.json"), lambda route: held.append(route))
    drop(page, written(tmp_path / "patient user"))
    expect(page.get_by_text("Keep this tab open until all files are sent.")).to_be_visible()
    assert_accessible(page)
    show(page, DESKTOP)
    page.get_by_role("link", name="Account").first.click()
    page.wait_for_url("**/account")
    page.go_back()
    expect(page.get_by_text("Keep this tab open until all files are sent.")).to_be_visible()
    held[0].continue_()
    wait_for_scan(page)


def test_an_upload_whose_tab_was_closed_goes_on(page: Page, tmp_path: Path) -> None:
    folder = written(tmp_path / "interrupted user")
    held: list[Route] = []
    page.route(re.compile("path=worlds%2FSea.json"), lambda route: held.append(route))
    drop(page, folder)
    expect(page.get_by_text(f"{len(FILES) - 1} of {len(FILES)} files")).to_be_visible()
    page.goto("about:blank")
    page.unroute_all()
    page.goto("/import")
    left = page.get_by_role("listitem").filter(has_text="interrupted user")
    expect(left).to_contain_text(f"{len(FILES) - 1} files")
    assert_accessible(page)
    left.get_by_role("link", name="Continue uploading").press("Enter")
    page.wait_for_url(re.compile(r"/import/[\w-]+$"))
    assert_accessible(page)
    show(page, DESKTOP)
    drop(page, written(tmp_path / "another"), address=page.url)
    expect(page.get_by_text("This is “another”. Choose “interrupted user” to continue")).to_be_visible()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    drop(page, folder, address=page.url)
    wait_for_scan(page)
    assert len(sent) == 1
    assert "path=worlds%2FSea.json" in sent[0]
    expect(row(page, "worlds/Sea.json")).to_be_visible()


def test_an_import_is_paused_reloaded_and_resumed(
    open_window: OpenWindow, scripted_model: ScriptedModel, tmp_path: Path
) -> None:
    """A worker of its own, which is away while the import waits to be paused."""
    model = scripted_model.base_url
    with running(ServerProcess(tmp_path, model_url=model, worker="none")) as server:
        worker = ServerProcess(tmp_path, model_url=model, role="worker", name="worker")
        page = open_window(server)
        with running(worker):
            drop(page, written(tmp_path / "default-user"))
            wait_for_scan(page)
        page.get_by_role("button", name="Import", exact=True).press("Enter")
        expect(page.get_by_text(f"0 of {len(FILES)} files")).to_be_visible()
        assert_accessible(page)
        page.get_by_role("button", name="Pause").press("Enter")
        expect(page.get_by_text("The import is paused.").first).to_be_visible()
        page.reload()
        expect(page.get_by_text("The import is paused.").first).to_be_visible()
        assert_accessible(page)
        page.get_by_role("button", name="Resume").press("Enter")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        with running(worker):
            expect(page.get_by_text("The import is complete.").first).to_be_visible()
            expect(page.get_by_role("link", name=re.compile("Exact"))).to_be_visible()


def test_a_folder_and_a_file_can_be_chosen_and_earlier_imports_are_listed(page: Page, tmp_path: Path) -> None:
    page.goto("/import")
    page.get_by_label("Choose folder").set_input_files(written(tmp_path / "chosen user"))
    wait_for_scan(page)
    archive = tmp_path / "chosen.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path, data in FILES.items():
            file.writestr(path, data)
    page.goto("/import")
    page.get_by_label("Choose file").set_input_files(archive)
    wait_for_scan(page)
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("link", name="chosen user")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="chosen.zip")).to_contain_text("Ready to import")
    assert_accessible(page)


@pytest.mark.parametrize("what", ["everything", "kinds", "items"])
def test_everything_some_kinds_or_some_items_are_exported(page: Page, tmp_path: Path, what: str) -> None:
    drop(page, written(tmp_path / "user"))
    wait_for_scan(page)
    import_all(page)
    page.goto("/export")
    assert_accessible(page)
    if what == "kinds":
        page.get_by_label("Only some kinds").check()
        page.get_by_role("checkbox", name="Lorebooks", exact=True).check()
        assert_accessible(page)
    elif what == "items":
        page.get_by_label("Only some items").check()
        page.get_by_role("combobox", name="Kind").select_option("Lorebooks")
        page.get_by_label("Search").fill("sea")
        page.get_by_role("checkbox", name="Sea 1 entry").first.check()
        page.get_by_label("Search").fill("nothing of this name")
        expect(page.get_by_text("No items match.")).to_be_visible()
        expect(page.get_by_role("checkbox", name="Sea Lorebooks · 1 entry")).to_be_checked()
        assert_accessible(page)
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_text("The export is complete.").first).to_be_visible()
    assert_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("Download \\(")).click()
    download.value.save_as(tmp_path / "export.zip")
    names = zipfile.ZipFile(tmp_path / "export.zip").namelist()
    assert any(name.startswith("worlds/") for name in names)
    assert any(name.startswith("characters/") for name in names) == (what == "everything")
