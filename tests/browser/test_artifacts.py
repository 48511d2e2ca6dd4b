"""What pipelines keep of a story, on the chat page: the tab beside it, in the chat, over it, and its history."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tavernkit.artifacts.pipelines.examples import example_source
from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, PHONE, assert_accessible, show
from tests.browser.story import Story, ask_api
from tests.playground.support.server import ServerProcess

ATTACK = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\">"


def test_a_state_is_brought_up_to_date_with_every_reply(story: Story) -> None:
    page = story.page
    open_tab(page)
    expect(page.get_by_text("No state yet.")).to_be_visible()
    follow(page, example("rpg_state"))
    expect(page.get_by_text("The state appears here with the next reply.")).to_be_visible()
    play(story, "One.")
    card = page.locator("#card_rpg_state")
    expect(field(card, "Health")).to_have_text("0")
    expect(field(card, "Place")).to_have_text("some place")
    play(story, "Two.")
    expect(field(card, "Health")).to_have_text("1")
    # What the last reply has changed is marked, and what it has not is not.
    expect(card.locator(".art-marked dt")).to_have_text("Health (changed)")


def counter(template: str) -> dict[str, Any]:
    """A profile that counts, as well as its template can."""
    made = {"tag": "count", "contentType": "json", "visibility": "ui_only", "uiSurface": "panel:count"}
    step = {"id": "count", "hook": "after", "kind": "template", "template": template, "artifacts": [made]}
    triggers = ["user_message", "regenerate", "manual"]
    return {"pipelines": [{"id": "world", "triggers": triggers, "permissions": ["artifact_write"], "steps": [step]}]}


def test_a_failed_step_is_shown_where_people_look_and_can_be_run_again(story: Story) -> None:
    page = story.page
    profile_id = follow(page, counter("no JSON"))
    open_tab(page)
    play(story, "One.")
    card = page.locator("#card_count")
    expect(card).to_contain_text("Not updated in turn 1. world/count failed: ")
    expect(card).to_contain_text("JSON")
    notice = story.messages.last.locator(".step-failed")
    expect(notice).to_contain_text("world/count failed: ")
    page.locator("#panel_tab_runs").click()
    expect(page.locator(".run-row").first).to_contain_text("Done, 1 step failed")
    expect(page.locator(".run-row-error").first).to_contain_text("world/count failed: ")
    notice.get_by_role("link", name="Show run").click()
    expect(page.get_by_text("Done, 1 step failed").first).to_be_visible()
    expect(page.locator("section", has=page.locator("#pipelines_heading"))).to_contain_text("world/count Failed")
    page.go_back()
    mended = {"settings_version": 1, "content": counter("{{ art.count.value | default: 0 | plus: 1 }}")}
    ask_api(page, "PATCH", f"/pipeline_profiles/{profile_id}", mended)
    page.locator("#panel_tab_state").click()
    page.get_by_role("button", name="Run now").click()
    expect(card).to_have_attribute("data-version", "1")
    expect(card.locator(".step-failed")).to_have_count(0)
    expect(notice).to_have_count(0)
    expect(page.get_by_role("button", name="Run now")).to_have_count(0)


def test_a_reply_that_is_told_anew_does_not_tick_twice(story: Story) -> None:
    page = story.page
    follow(page, example("rpg_state"))
    open_tab(page)
    card = page.locator("#card_rpg_state")
    play(story, "One.")
    play(story, "Two.")
    expect(field(card, "Health")).to_have_text("1")
    choose(story.messages.last, "Regenerate")
    expect(story.messages.last.locator(".swipes-count")).to_have_text("2/2Swipe 2 of 2")
    expect(card).to_have_attribute("data-version", "3")
    expect(field(card, "Health")).to_have_text("1")
    # The swipe before has a state of its own.
    story.messages.last.get_by_role("button", name="Previous swipe").click()
    expect(card).to_have_attribute("data-version", "2")
    expect(field(card, "Health")).to_have_text("1")


def test_a_branch_goes_on_with_the_state_that_it_left_with(story: Story) -> None:
    page = story.page
    follow(page, example("rpg_state"))
    play(story, "One.")
    play(story, "Two.")
    here = page.url
    choose(story.messages.nth(2), "Create branch")
    page.wait_for_url(lambda url: "/conversations/" in url and url != here)
    open_tab(page)
    card = page.locator("#card_rpg_state")
    expect(field(card, "Health")).to_have_text("0")
    page.goto(here)
    open_tab(page)
    expect(field(card, "Health")).to_have_text("1")


def test_two_tabs_see_the_same_state_and_what_changed_stays_open(
    story: Story, open_window: OpenWindow, site: ServerProcess
) -> None:
    page = story.page
    follow(page, example("rpg_state"))
    play(story, "One.")
    other = open_window(site)
    other.goto(page.url)
    open_tab(other)
    card = other.locator("#card_rpg_state")
    card.get_by_text("Changes", exact=True).click()
    expect(card).to_contain_text("First version.")
    play(story, "Two.")
    expect(card.locator("#change_rpg_state")).to_have_attribute("open", "")
    expect(card.locator(".art-words")).to_have_text(re.compile(r"Health:\s+changed\s+from\s+0\s+to\s+1"))
    expect(other.locator("#change_rpg_state_summary")).to_be_focused()


def test_an_earlier_version_is_restored_and_who_is_late_is_told(
    story: Story, open_window: OpenWindow, site: ServerProcess
) -> None:
    page = story.page
    follow(page, example("rpg_state"))
    play(story, "One.")
    play(story, "Two.")
    open_tab(page)
    page.locator("#history_rpg_state").click()
    page.wait_for_url("**/artifacts/rpg_state")
    late = open_window(site, expected_complaint="409")
    late.goto(page.url)
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.locator("#version_3")).to_contain_text("Current")
    expect(page.locator("#version_3")).to_contain_text("Restored manually")
    late.get_by_role("button", name="Restore version 1").click()
    expect(late.get_by_role("alert").filter(has_text="There is a newer version now")).to_be_visible()
    page.locator(".page-back a").click()
    expect(field(page.locator("#card_rpg_state"), "Health")).to_have_text("0")
    page.locator("#history_rpg_state").click()
    page.get_by_role("button", name="Reset Rpg state").click()
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator("#version_3")).to_contain_text("Archived by a reset")


def test_voices_comment_in_a_feed_beside_the_chat(story: Story) -> None:
    page = story.page
    follow(page, example("commentators"))
    open_tab(page)
    play(story, "One.")
    moments = page.locator(".art-moment")
    expect(moments).to_have_count(1)
    expect(moments.first).to_contain_text("Odile: some odile")
    play(story, "Two.")
    expect(moments).to_have_count(2)
    expect(moments.first).to_contain_text("Turn 2")


def test_notes_stand_in_the_chat_and_over_it_and_go_with_their_swipe(story: Story) -> None:
    page = story.page
    follow(page, profile(*NOTES))
    play(story, "One.")
    last = story.messages.last
    item, block = last.locator(".art-item"), last.locator(".art-block")
    expect(item).to_contain_text("The wind turns: One.")
    block.locator("summary").click()
    expect(block).to_contain_text("Nobody hears: One.")
    overlay = page.locator("#overlay_omen")
    expect(overlay).to_contain_text("A bell tolls: One.")
    # Who closes it has seen it; the next one comes up again.
    overlay.get_by_role("button", name="Close Omen").press("Enter")
    expect(overlay).to_be_hidden()
    expect(page.locator("#composer_text")).to_be_focused()
    page.reload()
    expect(item).to_be_visible()
    expect(overlay).to_be_hidden()
    play(story, "Two.")
    expect(story.messages.last.locator(".art-item")).to_contain_text("The wind turns: Two.")
    expect(overlay).to_contain_text("A bell tolls: Two.")
    expect(overlay).to_be_visible()
    # The latest stands in the chat, and the one before comes back when its message goes.
    expect(page.locator(".art-item")).to_have_count(1)
    choose(story.messages.last, "Delete")
    expect(page.locator(".art-item")).to_contain_text("The wind turns: One.")
    # What was said is told in other words.
    said = page.locator("#messages > li[data-role=user]").first
    expect(said.locator(".told-as")).to_contain_text("One. (she whispers)")


def test_what_is_kept_fits_is_accessible_and_runs_no_script(story: Story) -> None:
    page = story.page
    follow(page, profile(STATE, *NOTES, VOICES))
    play(story, "One.")
    play(story, f"{ATTACK} {'wide' * 100}")
    overlay, box = page.locator("#overlay_omen"), page.locator("#composer")
    for size in (DESKTOP, PHONE):
        show(page, size)
        # Whether it is folded is decided when the page is opened.
        page.reload()
        expect(overlay).to_be_visible()
        assert overlaps(overlay, box) is False
    assert_accessible(page)
    assert page.title() != "gone"
    show(page, DESKTOP)
    open_tab(page)
    expect(page.locator("#card_state")).to_be_visible()
    page.locator("#change_state_summary").click()
    assert_accessible(page)
    show(page, PHONE)
    assert page.locator("#side_panel").evaluate("panel => panel.scrollWidth") <= PHONE[0]
    page.locator("#history_state").click()
    page.wait_for_url("**/artifacts/state")
    assert_accessible(page)
    assert page.title() != "gone"


def artifact(tag: str, surface: str, visibility: str = "ui_only", **fields: Any) -> dict[str, Any]:
    return {"tag": tag, "visibility": visibility, "uiSurface": surface, **fields}


def writes(id: str, template: str, made: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "kind": "template", "hook": "after", "template": template, "artifacts": [made]}


NOTES: list[dict[str, Any]] = [
    {
        "id": "whisper",
        "kind": "message_transform",
        "hook": "before",
        "template": "{{ rawUserMessage }} (she whispers)",
        "label": "whispered",
        "select": True,
    },
    writes("wind", "The wind turns: {{ rawUserMessage }}", artifact("wind", "chat_history", "prompt_and_ui")),
    writes("aside", "Nobody hears: {{ rawUserMessage }}", artifact("aside", "chat_history")),
    writes("omen", "A bell tolls: {{ rawUserMessage }}", artifact("omen", "overlay:omen")),
]
STATE = writes(
    "state",
    '{"health": 64, "maxHp": 90, "said": {{ rawUserMessage | json }}, "items": ["rope", "lamp"], '
    '"place": {"name": "Pier", "people": [{"name": "Ada", "mood": "calm"}]}, '
    '"turns": {{ art.state.history.size | default: 0 }}}',
    artifact("state", "panel:state", contentType="json"),
)
VOICES = writes("voices", "**Pim:** {{ rawUserMessage }}", artifact("voices", "feed:gallery", contentType="markdown"))


def profile(*steps: dict[str, Any]) -> dict[str, Any]:
    permissions = ["artifact_write", "state_write", "message_transform"]
    return {"pipelines": [{"id": "world", "permissions": permissions, "steps": list(steps)}]}


def example(id: str) -> dict[str, Any]:
    return {"pipelines": example_source(id)["pipelines"]}


def follow(page: Page, content: dict[str, Any]) -> str:
    """Have the story on the page follow a profile, as a program does; the id of the profile."""
    conversation_id = Story(page).conversation_id
    made = ask_api(page, "POST", "/pipeline_profiles", {"name": f"For {conversation_id}", "content": content})
    choice = {"conversation_id": conversation_id, "profile_id": made["id"]}
    ask_api(page, "PUT", "/pipeline_choices", choice)
    return str(made["id"])


def play(story: Story, text: str) -> None:
    """Say something, and wait until everything behind the answer is over."""
    before = story.replies.count()
    story.box.fill(text)
    story.box.press("Enter")
    expect(story.replies).to_have_count(before + 1)
    expect(story.run).to_have_text(re.compile(r"^\s*$"))


def choose(message: Locator, action: str) -> None:
    """Something from the menu of a message."""
    message.get_by_role("button", name="Message actions").click()
    message.locator(".message-menu").get_by_role("button", name=action).click()


def open_tab(page: Page) -> None:
    page.get_by_role("button", name="Side panel", exact=True).click()
    page.locator("#panel_tab_state").click()
    expect(page.locator("#panel_tab_state")).to_have_attribute("aria-current", "page")


def field(card: Locator, name: str) -> Locator:
    return card.locator(".art-field").filter(has=card.page.locator("dt", has_text=re.compile(f"^{name}"))).locator("dd")


def overlaps(one: Locator, other: Locator) -> bool:
    first, second = one.bounding_box(), other.bounding_box()
    assert first
    assert second
    return (
        first["x"] < second["x"] + second["width"]
        and second["x"] < first["x"] + first["width"]
        and first["y"] < second["y"] + second["height"]
        and second["y"] < first["y"] + first["height"]
    )
