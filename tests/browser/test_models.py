"""Adding a model and using it."""

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS


def add(page: Page, name: str, address: str) -> None:
    """Add a server that speaks as Ollama does."""
    page.goto("/models")
    page.get_by_role("link", name="Ollama").click()
    expect(page.get_by_label("Address")).to_have_value("http://127.0.0.1:11434/v1")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Address").fill(address)
    page.get_by_role("button", name="Add model").click()
    page.wait_for_url("**/models/*-*")


def test_a_model_is_added_tested_made_the_default_and_answers(
    open_window: OpenWindow, scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("models")
    with running(ServerProcess(folder, model_url="", lease_seconds=str(HANG_SECONDS))) as server:
        page = open_window(server)
        add(page, "Mine", scripted_model.base_url)
        # The models are asked for at once.
        expect(page.locator("#model_form").get_by_role("status")).to_contain_text("models")
        first = page.locator("#model_names option").first.get_attribute("value")
        assert first
        page.get_by_label("Model", exact=True).fill(first)
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#model_form").get_by_role("status")).to_contain_text("Mine works.")
        expect(page.get_by_label("Model", exact=True)).to_have_value(first)
        page.get_by_role("button", name="Make default").click()
        page.wait_for_url("**/models")
        expect(page.get_by_role("listitem").filter(has_text="Mine")).to_contain_text("Default")
        story = begin_story(page)
        story.send("[[say: A better partner.]]")
        story.expect_one_reply("A better partner.")
        page.goto("about:blank")


def test_what_is_typed_while_models_are_listed_stays_and_is_saved(page: Page, scripted_model: ScriptedModel) -> None:
    name = f"Typed {uuid4()}"
    # Nobody answers.
    page.route("**/models/*/list", lambda _: None)
    with page.expect_request("**/models/*/list"):
        add(page, name, scripted_model.base_url)
    with page.expect_event("requestfailed"):
        page.get_by_label("Model", exact=True).fill("scripted")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/models")
    page.get_by_role("link", name=f"Edit {name}").click()
    expect(page.get_by_label("Model", exact=True)).to_have_value("scripted")
    page.get_by_text("Delete", exact=True).click()
    page.get_by_role("button", name=f"Delete {name}").click()
    page.wait_for_url("**/models")


def test_a_server_that_is_not_there_is_said_beside_the_form_and_nothing_typed_is_lost(page: Page) -> None:
    name = f"Nowhere {uuid4()}"
    add(page, name, "http://127.0.0.1:9/v1")
    expect(page.locator("#model_form").get_by_role("alert")).to_be_visible()
    page.get_by_label("Model", exact=True).fill("something")
    page.get_by_role("button", name="Save and test").click()
    expect(page.locator("#model_form").get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Model", exact=True)).to_have_value("something")
    page.get_by_text("Delete", exact=True).click()
    page.get_by_role("button", name=f"Delete {name}").click()
    page.wait_for_url("**/models")
    expect(page.get_by_text(name)).to_have_count(0)


def test_a_key_is_stored_and_never_shown(page: Page) -> None:
    page.goto("/models/new?server=openrouter")
    page.get_by_label("Name").fill(f"Keyed {uuid4()}")
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.get_by_label("API key", exact=True).fill("sk-secret-of-mine")
    page.get_by_label("Model", exact=True).fill("something")
    page.get_by_role("button", name="Add model").click()
    page.wait_for_url("**/models/*-*")
    expect(page.get_by_label("API key", exact=True)).to_have_value("")
    expect(page.get_by_label("API key", exact=True)).to_have_attribute("placeholder", "Stored; leave empty to keep it")
    assert "sk-secret-of-mine" not in page.content()


def test_pages_of_models_and_the_palette_fit_and_are_accessible(page: Page) -> None:
    for address in ("/models", "/models/new?server=gemini", "/spaces/new"):
        page.goto(address)
        assert_accessible(page)
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert_accessible(page)
