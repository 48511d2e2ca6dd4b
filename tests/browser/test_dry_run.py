"""A dry run in a browser: what is in the editor, tried on a story before it is saved."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.pipelines.contents import content
from tests.playground.support.server import ServerProcess


def thinking(answer: str) -> dict[str, Any]:
    """A profile that thinks before the reply and takes a note behind it."""
    return {
        "pipelines": [
            {
                "id": "mind",
                "permissions": ["artifact_write"],
                "steps": [
                    {
                        "id": "think",
                        "name": "A thought",
                        "kind": "llm",
                        "hook": "before",
                        "prompt": f"[[say: {answer}]] What does {{{{ char }}}} want?",
                        "artifacts": [
                            {
                                "tag": "thought",
                                "access": "run_only",
                                "visibility": "prompt_only",
                                "retention": {"mode": "ephemeral"},
                                "promptInclusion": {"mode": "append_after_last_user"},
                            }
                        ],
                    },
                    {
                        "id": "note",
                        "name": "A note",
                        "kind": "template",
                        "hook": "after",
                        "template": "Said: {{ reply }}",
                        "artifacts": [{"tag": "note", "visibility": "ui_only", "uiSurface": "panel:note"}],
                    },
                ],
            }
        ]
    }


def open_editor(page: Page) -> Locator:
    """The editor of a profile that was made elsewhere; the place of its dry run."""
    made = ask_api(page, "POST", "/pipeline_profiles", {"name": f"Mind {uuid4()}", "content": content("mood")})
    page.goto(f"/pipelines/{made['id']}")
    frame = page.locator("#dry_run")
    frame.scroll_into_view_if_needed()
    expect(frame.get_by_role("button", name="Run")).to_be_visible()
    return frame


@pytest.fixture
def answered_story(story: Story) -> Story:
    story.send("[[say: The lamp is lit.]] Is anybody there?")
    story.expect_one_reply("The lamp is lit.")
    return story


def test_what_is_written_is_tried_on_a_story_and_changes_nothing(answered_story: Story) -> None:
    story = answered_story
    page, chat = story.page, story.page.url
    frame = open_editor(page)
    page.get_by_label("Pipelines (JSON)").fill(json.dumps(thinking("She wants company.")))
    frame.get_by_role("combobox", name="Story").select_option(chat.rsplit("/", 1)[-1])
    frame.get_by_role("button", name="Run").click()
    steps = frame.locator(".dry-run-steps > li")
    expect(steps).to_have_count(2)
    expect(steps.first).to_contain_text("Done")
    expect(steps.first).to_contain_text("1 call")
    expect(page.locator("#announcer")).to_contain_text("nothing was written")
    steps.first.locator("summary").click()
    expect(steps.first.get_by_label("Input of A thought")).to_contain_text("What does")
    expect(steps.first.get_by_label("Output of A thought")).to_have_text("She wants company.")
    steps.last.locator("summary").click()
    expect(steps.last.get_by_label("art.note")).to_have_text("Said: The lamp is lit.")
    block = frame.locator(".dry-run-block")
    expect(block).to_have_count(1)
    expect(block.locator("ins.line-added")).to_contain_text("She wants company.")
    # What was typed is still there, and still not saved.
    expect(page.get_by_label("Pipelines (JSON)")).to_have_value(re.compile("She wants company"))
    page.goto(chat)
    expect(story.messages).to_have_count(3)
    assert ask_api(page, "GET", f"/conversations/{story.conversation_id}/artifacts")["items"] == []


def test_what_cannot_be_tried_is_told_in_a_sentence_beside_the_form(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="422")
    begin_story(page)
    frame = open_editor(page)
    box = page.get_by_label("Pipelines (JSON)")
    box.fill('{"pipelines": [')
    with page.expect_response(lambda answer: "/dry_run" in answer.url and answer.request.method == "POST"):
        frame.get_by_role("button", name="Run").click()
    expect(frame.get_by_role("alert")).to_contain_text("line 1")
    expect(box).to_have_value('{"pipelines": [')
    box.fill(json.dumps(content("mood")))
    frame.get_by_role("button", name="Run").click()
    expect(frame.locator(".dry-run-steps > li")).to_have_count(1)
    expect(frame.get_by_role("alert")).to_have_count(0)


def test_a_dry_run_can_be_stopped(answered_story: Story) -> None:
    page = answered_story.page
    frame = open_editor(page)
    hanging = json.dumps(thinking("x")).replace("[[say: x]]", "[[hang]]")
    page.get_by_label("Pipelines (JSON)").fill(hanging)
    frame.get_by_role("button", name="Run").click()
    expect(frame.locator(".dry-run-progress > li").first).to_contain_text("Running")
    frame.get_by_role("button", name="Stop").click()
    expect(frame.locator("#dry_run_state")).to_contain_text("Stopped. Nothing was written.")


def test_a_dry_run_fits_and_is_accessible(answered_story: Story) -> None:
    page = answered_story.page
    frame = open_editor(page)
    page.get_by_label("Pipelines (JSON)").fill(json.dumps(thinking("She wants company. " * 30)))
    frame.get_by_role("button", name="Run").click()
    expect(frame.locator(".dry-run-steps > li")).to_have_count(2)
    for summary in frame.locator(".dry-run-steps summary").all():
        summary.click()
    assert_accessible(page)
