"""The inspector of a prompt: where each sentence comes from, why others are missing, and what a switch would change."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import violations
from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, PHONE, assert_accessible, fits, show
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS


@pytest.fixture
def small_context_server(
    tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[ServerProcess]:
    """A server whose model has a small context."""
    with running(
        ServerProcess(
            tmp_path_factory.mktemp("small"),
            model_url=scripted_model.base_url,
            context_tokens="2048",
            response_tokens="256",
            lease_seconds=str(HANG_SECONDS),
        )
    ) as server:
        yield server


def test_a_sentence_leads_to_the_entry_that_it_comes_from_and_a_near_miss_is_named(story: Story) -> None:
    page = story.page
    book = ask_api(page, "POST", "/lorebooks", {"name": "Coast"})["id"]
    harbour = {"key": ["harbour"], "comment": "Harbour", "content": "The harbour smells of tar."}
    ask_api(page, "POST", f"/lorebooks/{book}/entries", {"data": harbour})
    ask_api(page, "POST", "/lorebook_links", {"lorebook_id": book, "conversation_id": story.conversation_id})
    story.send("[[say: She opens the ledger.]] Where is the ledger?")
    story.expect_one_reply("She opens the ledger.")
    story.send("[[say: Somebody is.]] Is anybody there?")
    story.expect_one_reply("Somebody is.")
    story.send("[[say: At ten past eleven.]] Who comes to the harbour?")
    story.expect_one_reply("At ten past eleven.")
    _inspect(story, 5)
    assert_accessible(page)
    show(page, DESKTOP)
    sentence = page.get_by_role("button", name="The harbour smells of tar.")
    sentence.hover()
    expect(page.get_by_role("tooltip")).to_have_text("Lore entry Harbour")
    sentence.click()
    card = page.get_by_role("dialog", name="Source")
    expect(card).to_contain_text("harbour")
    expect(card).to_contain_text("Coast")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    reasons = page.locator(".pane-reasons")
    missed = reasons.locator("li", has_text="The ledger")
    expect(missed).to_contain_text(re.compile(r"Would activate with scan depth \d+: “ledger” was found in Message \d"))
    sentence.click()
    card.get_by_role("link", name="Open Lore entry Harbour").click()
    page.wait_for_url("**/lorebooks/*/entries/*")
    expect(page.get_by_role("textbox", name="Content")).to_have_value("The harbour smells of tar.")


def test_switching_a_block_off_changes_tokens_reuse_and_evictions(
    open_window: OpenWindow, small_context_server: ServerProcess
) -> None:
    page = open_window(small_context_server)
    story = begin_story(page)
    for number in range(3):
        story.send(f"[[say: Reply {number}.]] " + "The road went on. " * (100 + 15 * number))
        story.expect_one_reply(f"Reply {number}.")
    page.get_by_role("link", name="Prompt preview").click()
    page.get_by_role("link", name="Open as a page").click()
    page.wait_for_url("**/preview?speaker=*")
    trimmed = page.locator("section", has=page.locator("#evicted_heading")).get_by_role("listitem")
    before = trimmed.count()
    assert before > 0
    switch = page.get_by_role("switch", name="Message 6 in the prompt")
    expect(switch).to_be_checked()
    switch.click()
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    figures = page.locator("#trial_figures")
    expect(figures).to_contain_text(re.compile(r"Tokens\s*[\d,]+ [+−]\d+"))
    expect(figures).to_contain_text(re.compile(r"Reuse\s*\d+ % −\d+"))
    expect(figures).to_contain_text(re.compile(r"Trimmed\s*\d+ −\d+"))
    assert trimmed.count() < before
    page.reload()
    expect(switch).not_to_be_checked()
    assert_accessible(page)
    show(page, DESKTOP)
    page.get_by_role("link", name="Switch all on").click()
    expect(switch).to_be_checked()
    page.goto("about:blank")


def test_two_swipes_are_compared_and_the_timeline_leads_to_each(story: Story) -> None:
    page = story.page
    story.send("[[say: A first word.]] Who is there?")
    story.expect_one_reply("A first word.")
    own = ask_api(page, "GET", f"/conversations/{story.conversation_id}/messages")["items"][-2]
    ask_api(page, "PATCH", f"/messages/{own['id']}", {"content": "[[say: A second word.]] Who?", "revision": 1})
    story.box.press("Control+Enter")
    story.expect_one_reply("A second word.")
    _inspect(story, 2)
    page.get_by_role("link", name="Changes").click()
    chosen = page.get_by_label("Compare with")
    expect(chosen.locator("option:checked")).to_have_text("Message 3, swipe 1, Ottoline")
    expect(page.locator(".prompt-removed", has_text="Message 2")).to_contain_text("A first word.")
    expect(page.locator(".prompt-added", has_text="Message 2")).to_contain_text("A second word.")
    assert_accessible(page)
    show(page, DESKTOP)
    page.get_by_role("link", name="Timeline").click()
    turns = page.locator(".turn")
    expect(turns).to_have_count(2)
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("row", name=re.compile("Message 3, swipe 1"))).to_be_visible()
    assert_accessible(page)
    show(page, DESKTOP)
    here = page.url
    turns.first.click()
    page.wait_for_url(lambda url: url.split("?")[0] != here.split("?")[0])
    page.get_by_role("link", name="Reply and usage").click()
    expect(page.get_by_role("group", name="Raw reply")).to_have_text("A first word.")
    page.get_by_role("link", name="Exact request").click()
    expect(page.get_by_role("group", name="Raw request")).to_contain_text('"messages"')
    assert_accessible(page)


def test_the_inspector_works_on_a_phone_and_without_a_mouse(story: Story) -> None:
    page = story.page
    story.send("[[say: Mr Abel.]] Who drives the tram?")
    story.expect_one_reply("Mr Abel.")
    show(page, PHONE)
    _inspect(story, 1)
    blocks, text, reasons = (page.locator(f".pane-{name}") for name in ("blocks", "text", "reasons"))
    expect(text).to_be_visible()
    expect(blocks).to_be_hidden()
    page.get_by_role("button", name="Reasons").click()
    expect(reasons).to_be_visible()
    expect(text).to_be_hidden()
    page.get_by_role("button", name="Blocks").click()
    blocks.get_by_role("link", name="Lore after character").click()
    expect(text).to_be_visible()
    stretches = text.locator(".traced-message", has_text="Main prompt").locator("[data-source]")
    stretches.first.focus()
    page.keyboard.press("ArrowRight")
    expect(stretches.nth(1)).to_be_focused()
    expect(page.get_by_role("tooltip")).to_have_text("Macro {{char}}")
    page.keyboard.press("Enter")
    card = page.get_by_role("dialog", name="Source")
    expect(card).to_contain_text("Preset: Main prompt")
    assert fits(page)
    page.keyboard.press("Escape")
    expect(stretches.nth(1)).to_be_focused()
    page.get_by_role("button", name="Lore", exact=True).click()
    expect(_headings(text)).to_have_text(["Lore after character"])
    page.get_by_role("button", name="Lore", exact=True).click()
    expect(_headings(text).first).to_have_text("Main prompt")
    assert fits(page)


def _inspect(story: Story, place: int) -> None:
    """Open the inspector from the menu of a message."""
    message = story.messages.nth(place)
    message.get_by_role("button", name="Message actions").click()
    message.get_by_role("link", name="Inspect prompt").click()
    story.page.wait_for_url("**/runs/*")


def _headings(pane: Locator) -> Locator:
    return pane.locator(".traced-message:not([hidden]) .traced-title")
