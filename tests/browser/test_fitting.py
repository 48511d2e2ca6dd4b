"""Prompts that do not fit into the context size, as the pages show them."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.conftest import OpenWindow
from tests.browser.story import begin_story
from tests.browser.test_library import file, import_file
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

LARGE = {
    "openai_max_context": 128_000,
    "openai_max_tokens": 300,
    "prompts": [
        {"identifier": "main", "name": "Main prompt", "role": "system", "content": "Write the next reply."},
        {"identifier": "chatHistory", "name": "Chat history", "marker": True},
        *(
            {"identifier": f"rules{number}", "name": f"Rules {number}", "content": "Never forget it. " * 100 * number}
            for number in range(1, 5)
        ),
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": name, "enabled": True}
                for name in ("main", "rules1", "rules2", "rules3", "rules4", "chatHistory")
            ],
        }
    ],
}


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


def test_a_preset_that_leaves_no_room_for_the_message_is_refused_with_what_is_too_large(
    open_window: OpenWindow, small_context_server: ServerProcess
) -> None:
    page = open_window(small_context_server)
    import_file(page, "/presets", file("Large.json", LARGE))
    page.get_by_role("button", name="Set as default").click()
    page.wait_for_url("**/presets")
    story = begin_story(page)
    story.send("[[say: Nobody asked me.]]")
    expect(story.run).to_have_attribute("data-status", "failed")
    sentence = story.run.locator(".run-sentence")
    expect(sentence).to_contain_text("the context size of 2,048")
    expect(sentence).to_contain_text(re.compile(r"Rules 4 \([\d,]+ tokens\), Rules 3 \([\d,]+ tokens\)"))
    expect(sentence).to_contain_text("Choose a shorter preset, or raise the context size of the provider.")
    expect(story.run.get_by_role("link", name="Presets")).to_have_attribute("href", "/presets")
    provider = story.run.get_by_role("link", name="Edit model")
    address = provider.get_attribute("href")
    assert violations(page) == []
    provider.click()
    page.wait_for_url("**/models/*")
    page.go_back()
    page.goto(f"{page.url}?panel=runs")
    page.locator(".run-row-name a").first.click()
    page.wait_for_url("**/runs/*")
    expect(page.get_by_text("the context size of 2,048")).to_be_visible()
    expect(page.get_by_role("link", name="Edit model")).to_have_attribute("href", address or "")
    expect(page.get_by_role("heading", name="Trimmed")).to_be_visible()
    expect(page.get_by_role("heading", name="Raw request")).to_have_count(0)
    page.goto("about:blank")


def test_a_reply_says_how_many_messages_did_not_fit(
    open_window: OpenWindow, small_context_server: ServerProcess
) -> None:
    page = open_window(small_context_server)
    story = begin_story(page)
    for number in range(3):
        story.send(f"[[say: Reply {number}.]] " + "The road went on. " * 150)
        story.expect_one_reply(f"Reply {number}.")
    chip = story.messages.last.get_by_role("link", name=re.compile(r"Trimmed: \d+ messages?"))
    expect(chip).to_be_visible()
    # The greeting goes first; the answer to the first message had everything.
    expect(story.messages.nth(2).get_by_role("link", name=re.compile("Trimmed: .*message"))).to_have_count(0)
    assert violations(page) == []
    chip.click()
    page.wait_for_url("**/runs/*")
    expect(page.get_by_role("heading", name="Trimmed")).to_be_visible()
    page.goto("about:blank")
