"""Several people in one story: an invitation, a round, who is there, and what each may still do."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, PHONE, assert_accessible, show
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

PASSWORD = "three brown owls"
NAMES = ("Ottoline", "Tansy", "Corvin")


@pytest.fixture(scope="module")
def server(scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of its own, with accounts."""
    folder = tmp_path_factory.mktemp("discussion")
    with running(ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        yield server


@pytest.fixture(scope="module")
def invitations(server: ServerProcess) -> list[str]:
    """Codes with which people make an account; made by the first test."""
    return []


def olga(page: Page, invitations: list[str]) -> None:
    """Sign in as the administrator; the first time, set the password, and invite people to the site."""
    if not invitations:
        ask_api(page, "PATCH", "/me", {"name": "Olga"})
        ask_api(page, "POST", "/me/password", {"new_password": PASSWORD})
        invitations.append(ask_api(page, "POST", "/invitations", {"max_uses": 20})["code"])
    else:
        ask_api(page, "POST", "/sessions", {"login": "Olga", "password": PASSWORD})


def make_account(page: Page, link: str, code: str, name: str) -> None:
    """Open an invitation without an account, sign up from the page that asks to sign in, and come back to it."""
    page.goto(link)
    page.get_by_role("link", name="Create account").click()
    page.get_by_label("Invitation code").fill(code)
    page.get_by_label("Display name").fill(name)
    page.get_by_label("Password, at least").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="Join Club")).to_be_visible()


def join(page: Page) -> None:
    page.get_by_role("button", name="Join").click()
    page.wait_for_url("**/spaces/*")


def open_members(page: Page) -> Locator:
    panel = page.locator("#side_panel_frame")
    button = page.get_by_role("button", name="Side panel", exact=True)
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    expect(panel.get_by_role("heading", name="Members", exact=True)).to_be_visible()
    return panel


def begin_discussion(page: Page) -> str:
    """A discussion with three characters, begun on the page; its invitation link."""
    if not ask_api(page, "GET", "/characters?search=corvin")["items"]:
        ask_api(page, "POST", "/characters/new", {"name": "Corvin", "first_mes": "Caw."})
    page.goto("/spaces/new")
    for name in NAMES:
        page.get_by_role("checkbox", name=re.compile(name)).check()
    page.get_by_role("radio", name=re.compile("Several people")).check()
    page.get_by_role("radio", name=re.compile("No persona")).check()
    page.get_by_label("Story name").fill("Club")
    assert_accessible(page)
    show(page, DESKTOP, "light")
    page.get_by_role("button", name="Create story").click()
    page.wait_for_url("**/conversations/*")
    Story(page).change_space(reply_order="list")
    panel = open_members(page)
    panel.get_by_label("People", exact=True).fill("5")
    panel.get_by_role("button", name="Create invitation link").click()
    return panel.get_by_label("Copy this link now").input_value()


def more_about(panel: Locator, name: str) -> Locator:
    """The row of a member, with everything that can be chosen there."""
    row = panel.locator("li.member", has=panel.page.get_by_role("heading", name=name, exact=True))
    if not row.locator("details").evaluate("details => details.open"):
        row.locator("summary").click()
    return row


def test_two_people_and_three_characters_play_a_round_and_each_sees_what_they_may_do(
    open_window: OpenWindow, server: ServerProcess, invitations: list[str]
) -> None:
    page = open_window(server)
    olga(page, invitations)
    link = begin_discussion(page)
    hers = Story(page)
    expect(hers.messages).to_have_count(3)

    # Mia has no account yet: the link leads her through making one, and back to the invitation.
    guest = open_window(server, expected_complaint="403|404")
    make_account(guest, link, invitations[0], "Mia")
    assert_accessible(guest)
    show(guest, DESKTOP, "light")
    join(guest)
    guest.get_by_role("link", name="Main", exact=True).click()
    mias = Story(guest)
    expect(mias.messages).to_have_count(3)
    expect(guest.locator(".people-here")).to_have_text("Here now: Olga")
    expect(page.locator(".people-here")).to_have_text("Here now: Mia")

    # A round: both write, all three characters answer, and both see it.
    mias.box.press_sequentially("Good evening.")
    expect(page.locator(".people-typing")).to_have_text("Mia is typing…")
    mias.box.press("Enter")
    for story in (hers, mias):
        expect(story.messages).to_have_count(7)
        expect(story.messages.nth(3)).to_contain_text("Mia")
        expect(story.run).to_have_text(re.compile(r"^\s*$"))
    hers.send("And a good night.")
    for story in (hers, mias):
        expect(story.messages).to_have_count(11)
        expect(story.messages.nth(7)).to_contain_text("Olga")
        expect(story.run).to_have_text(re.compile(r"^\s*$"))
    # Her own words are hers to change, and not Olga's.
    expect(mias.messages.nth(3).locator("[data-act=edit]")).to_have_count(1)
    expect(mias.messages.nth(7).locator("[data-act=edit]")).to_have_count(0)

    # Muted: her page loses the composer at once, and says why; what she has typed comes back with it.
    mias.box.fill("Half a thought")
    panel = open_members(page)
    panel.get_by_role("button", name="Mute Mia").click()
    expect(guest.get_by_text("You are muted here.")).to_be_visible()
    expect(mias.box).to_have_count(0)
    panel.get_by_role("button", name="Unmute Mia").click()
    expect(mias.box).to_have_value("Half a thought")

    # An observer reads on, and is told so; what others write still arrives.
    more_about(panel, "Mia").get_by_label("Role").select_option("observer")
    expect(guest.get_by_text("You are an observer here")).to_be_visible()
    expect(mias.box).to_have_count(0)
    hers.send("Nobody answers this. [[say: Quiet.]]")
    expect(mias.messages.nth(11)).to_contain_text("Nobody answers this.")
    expect(mias.messages).to_have_count(15)

    # She leaves: she is led away and finds nothing there any more; what she said stays, under her name.
    hers_panel = open_members(guest)
    more_about(hers_panel, "Mia").get_by_role("button", name="Leave").click()
    guest.wait_for_url(f"{server.url}/")
    expect(page.locator(".people-here")).to_be_hidden()
    expect(panel.get_by_role("heading", name="Former members")).to_be_visible()
    expect(hers.messages.nth(3)).to_contain_text("Mia")
    gone = guest.goto(page.url)
    assert gone
    assert gone.status == 404


def test_a_person_who_is_removed_is_told_that_the_conversation_is_closed(
    open_window: OpenWindow, server: ServerProcess, invitations: list[str]
) -> None:
    page = open_window(server)
    olga(page, invitations)
    link = begin_discussion(page)
    guest = open_window(server, expected_complaint="404|Failed to load")
    make_account(guest, link, invitations[0], "Ben")
    join(guest)
    guest.goto(page.url)
    expect(guest.locator(".people-here")).to_have_text("Here now: Olga")
    panel = open_members(page)
    more_about(panel, "Ben").get_by_role("button", name="Remove Ben").click()
    expect(guest.get_by_text("You can no longer read this conversation.")).to_be_visible()
    # The link does not let him back in.
    guest.goto(link)
    guest.get_by_role("button", name="Join").click()
    expect(guest.get_by_text("You were removed from this space.")).to_be_visible()


def test_a_moderator_mutes_a_member_and_strangers_find_what_is_public(
    open_window: OpenWindow, server: ServerProcess, invitations: list[str]
) -> None:
    page = open_window(server)
    olga(page, invitations)
    link = begin_discussion(page)
    guest, moderator = open_window(server), open_window(server, expected_complaint="404")
    for window, name in ((guest, "Ivo"), (moderator, "Ann")):
        make_account(window, link, invitations[0], name)
        join(window)
        window.goto(page.url)
    panel = open_members(page)
    more_about(panel, "Ann").get_by_label("Role").select_option("moderator")
    theirs = open_members(moderator)
    theirs.get_by_role("button", name="Mute Ivo").click()
    expect(guest.get_by_text("You are muted here.")).to_be_visible()
    expect(theirs.get_by_role("button", name=re.compile("^Mute (Olga|Ann)"))).to_have_count(0)
    assert_accessible(moderator)
    theirs.get_by_role("button", name="Unmute Ivo").click()
    expect(Story(guest).box).to_be_visible()

    # Somebody who is not in the space finds nothing, until its owner lets everybody read.
    stranger = open_window(server, size=PHONE, expected_complaint="404")
    make_account(stranger, link, invitations[0], "Zoe")
    stranger.goto("/")
    stranger.get_by_role("link", name="Public conversations").click()
    expect(stranger.get_by_text("No conversations are public.")).to_be_visible()
    panel.locator("#visibility").select_option("public")
    expect(panel.get_by_text("can find and read it")).to_be_visible()
    stranger.reload()
    expect(stranger.get_by_text("Club by Olga")).to_be_visible()
    assert_accessible(stranger)
    show(stranger, PHONE, "light")
    stranger.get_by_role("link", name="Main").click()
    expect(Story(stranger).messages).to_have_count(3)
    expect(Story(stranger).box).to_have_count(0)


def test_the_panel_of_a_discussion_is_usable_on_a_phone_and_hands_the_space_over(
    open_window: OpenWindow, server: ServerProcess, invitations: list[str]
) -> None:
    page = open_window(server, expected_complaint="409")
    olga(page, invitations)
    link = begin_discussion(page)
    guest = open_window(server, size=PHONE, expected_complaint="404")
    make_account(guest, link, invitations[0], "Eve")
    join(guest)
    guest.goto(page.url)
    expect(Story(guest).box).to_be_visible()
    mine = open_members(guest)
    more_about(mine, "Eve").get_by_label("Your name here").fill("Countess")
    mine.get_by_label("Your name here").press("Tab")
    expect(mine.get_by_role("heading", name="Countess", exact=True)).to_be_visible()
    assert_accessible(guest)
    panel = open_members(page)
    expect(panel.get_by_role("heading", name="Countess", exact=True)).to_be_visible()
    panel.locator("#visibility").select_option("private")
    expect(panel.get_by_text("Only the owner of the space can read this conversation.")).to_be_visible()
    more_about(panel, "Countess").get_by_role("button", name="Hand over Countess").click()
    page.get_by_role("dialog").get_by_role("button", name="Hand over").click()
    expect(panel.get_by_text("1 private conversation")).to_be_visible()
    panel.locator("#visibility").select_option("shared")
    expect(panel.get_by_text("Everybody in this space can read this conversation.")).to_be_visible()
    more_about(panel, "Countess").get_by_role("button", name="Hand over Countess").click()
    page.get_by_role("dialog").get_by_role("button", name="Hand over").click()
    expect(mine.get_by_role("heading", name="Invite people")).to_be_visible()
    expect(panel.get_by_role("button", name="Hand over Countess")).to_have_count(0)
    show(page, DESKTOP, "light")
    assert_accessible(page)


def test_a_variable_and_a_swipe_are_changed_by_hand_and_a_stale_change_is_kept(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="409")
    story = begin_story(page)
    address = f"/conversations/{story.conversation_id}"
    ask_api(page, "PUT", f"{address}/variables/mood", {"value": "calm"})
    page.goto(f"{address}/panel/state")
    ask_api(page, "PUT", f"{address}/variables/mood", {"value": "grim"})
    page.get_by_role("textbox", name="mood").fill("glad")
    page.get_by_role("button", name="Save mood").click()
    expect(page.get_by_text("Current value: grim")).to_be_visible()
    expect(page.get_by_role("textbox", name="mood")).to_have_value("glad")
    page.get_by_role("button", name="Save mood").click()
    expect(page.get_by_text("Current value: grim")).to_have_count(0)
    assert ask_api(page, "GET", f"{address}/variables")["variables"] == {"mood": "glad"}
    page.get_by_text("Add variable").first.click()
    page.get_by_label("Name").fill("gold")
    page.get_by_label("Value", exact=True).fill("12")
    page.get_by_label("JSON value").check()
    page.get_by_role("button", name="Add variable").click()
    expect(page.get_by_role("textbox", name="gold (JSON)")).to_have_value("12")
    assert_accessible(page)
    page.get_by_role("button", name="Delete gold").click()
    expect(page.get_by_role("textbox", name="gold (JSON)")).to_have_count(0)

    page.goto(address)
    first = story.messages.first
    first.get_by_role("button", name="Message actions").click()
    first.get_by_role("link", name="Manage swipes").click()
    page.get_by_label("Text", exact=True).fill("Another beginning.")
    page.get_by_role("button", name="Add swipe").click()
    expect(page.get_by_text("Another beginning.").first).to_be_visible()
    page.get_by_text(re.compile(r"^Edit swipe \d+$")).last.click()
    page.get_by_label(re.compile("Text of swipe")).last.fill("A better beginning.")
    page.get_by_role("button", name="Save").last.click()
    expect(page.locator(".swipe-item").last).to_contain_text("A better beginning.")
    assert_accessible(page)
    page.get_by_role("button", name=re.compile("^Show swipe")).last.click()
    page.goto(address)
    expect(story.words.first).to_have_text("A better beginning.")
    page.goto(f"/messages/{(first.get_attribute('id') or '').removeprefix('message_')}/swipes")
    page.locator(".swipe-item").last.get_by_role("button", name=re.compile("^Delete")).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("A better beginning.")).to_have_count(0)


def test_a_lorebook_is_shared_on_its_page(page: Page) -> None:
    book = ask_api(page, "POST", "/lorebooks", {"name": "Coast"})["id"]
    page.goto(f"/lorebooks/{book}")
    frame = page.locator("turbo-frame#shares")
    frame.scroll_into_view_if_needed()
    expect(frame.get_by_text("Only you can see and use this.")).to_be_visible()
    frame.get_by_label("Share with").select_option("")
    frame.get_by_role("button", name="Share").click()
    expect(frame.get_by_role("button", name="Stop sharing with Everybody with an account")).to_be_visible()
    assert_accessible(page)
    frame.get_by_role("button", name="Stop sharing").click()
    expect(frame.get_by_text("Only you can see and use this.")).to_be_visible()
