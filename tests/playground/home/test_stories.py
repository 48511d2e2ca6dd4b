"""The stories on the first page: grouped by space, folded, pinned, tagged, sorted, filtered and unread."""

import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, insert, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, ReadPosition, Space, StoryTag
from tavernkit.playground.edge.presenting.folded_stories import FOLDED_PER_PAGE
from tavernkit.playground.edge.presenting.home import HomeQuery, home_view
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.reading import mark_read
from tavernkit.playground.story.conversations.service import change_conversation, create_conversation
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.spaces.marks import MAX_PINS, MAX_TAGS, pin_space, tag_space
from tavernkit.playground.story.spaces.service import OpenedSpace, create_space
from tests.playground.accounts.installation import Installation
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def club(installation: Installation, *names: str, kind: str = "discussion") -> list[OpenedSpace]:
    """Spaces of the owner's, made one minute after the other, in place of the first story."""
    made = []
    for name in names:
        installation.play.skipped += timedelta(minutes=1)
        made.append(await create_space(installation.runtime, installation.play.viewer, kind=kind, name=name))
    return made


async def say(installation: Installation, viewer: Viewer, conversation_id: UUID, text: str = "Hello.") -> UUID:
    installation.play.skipped += timedelta(minutes=1)
    sent = await send_message(
        installation.runtime, viewer, conversation_id, message_id=uuid4(), content=text, role="system"
    )
    return sent.id


async def names(installation: Installation, viewer: Viewer | None = None, **asked: object) -> list[str]:
    """The stories of the first page, pinned ones first."""
    query = HomeQuery(**asked)  # type: ignore[arg-type]
    view = await home_view(installation.runtime, viewer or installation.play.viewer, query)
    return [card.space_name for card in (*view.pinned, *view.stories)]


async def test_a_space_is_one_card_with_its_newest_conversation_and_the_rest_folded(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    [made] = await club(installation, "Tower", kind="playground")
    message_id = await say(installation, viewer, made.conversation.id, "The door opens.")
    installation.play.skipped += timedelta(minutes=1)
    branch = await fork(runtime, viewer, made.conversation.id, message_id)
    view = await home_view(runtime, viewer)
    [card] = [card for card in view.stories if card.space_name == "Tower"]
    assert (card.fold, card.kind) == ("1 branch", "Branch")
    assert card.title == "From message 1: “The door opens.”"
    browser = installation.browser()
    html = (await browser.get(f"/spaces/{made.space.id}/stories")).text
    assert re.findall(r'class="story-name-link" href="/conversations/([^"]+)"', html) == [
        str(made.conversation.id),
        str(branch.id),
    ]
    installation.play.skipped += timedelta(minutes=1)
    other = await create_conversation(runtime, viewer, made.space.id, title="Second")
    html = (await browser.get("/")).text
    assert "2 conversations, 1 branch" in html
    assert "Second" in html
    html = (await browser.get(f"/spaces/{made.space.id}/stories")).text
    # With several, the branches of each are folded again.
    assert f"/conversations/{other.id}" in html
    assert str(branch.id) not in html
    html = (await browser.get(f"/conversations/{made.conversation.id}/branches")).text
    assert f'id="branches_{made.conversation.id}"' in html
    assert f"/conversations/{branch.id}" in html


async def test_the_first_page_costs_the_same_with_many_spaces_and_branches(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    with counted_statements(runtime.database) as few:
        await home_view(runtime, viewer)
    [made, *others] = await club(installation, *(f"Story {number}" for number in range(10)))
    for one in others[:3]:
        await pin_space(runtime, viewer, one.space.id, pinned=True)
        await tag_space(runtime, viewer, one.space.id, ["noir"])
    async with runtime.database.write() as session:
        row = await session.get_one(Conversation, made.conversation.id)
        fixed = {column.key: getattr(row, column.key) for column in Conversation.__table__.c}
        fixed |= {"kind": "branch", "parent_conversation_id": row.id, "root_conversation_id": row.id}
        await session.execute(insert(Conversation), [{**fixed, "id": uuid4(), "title": "Other"} for _ in range(300)])
    with counted_statements(runtime.database) as many:
        await home_view(runtime, viewer)
    assert len(many) == len(few) <= 16
    browser, address, seen = installation.browser(), f"/spaces/{made.space.id}/stories", 0
    while address:
        html = (await browser.get(address)).text
        seen += html.count("story-name-link")
        assert html.count("story-name-link") <= FOLDED_PER_PAGE + 1
        found = re.search(r'href="(/[^"]+\?after=[^"]+)"', html)
        address = found[1] if found else ""
    assert seen == 301


async def test_stories_are_sorted_by_activity_name_or_age_in_pages(installation: Installation) -> None:
    viewer = installation.play.viewer
    [first, *_rest] = await club(installation, "beta", "Alpha", "Gamma")
    await say(installation, viewer, first.conversation.id)
    assert (await names(installation))[:3] == ["beta", "Gamma", "Alpha"]
    assert (await names(installation, sort="created"))[:3] == ["Gamma", "Alpha", "beta"]
    assert (await names(installation, sort="name"))[:3] == ["Alpha", "beta", "Gamma"]
    await club(installation, *(f"Story {number:02}" for number in range(20)))
    browser, address, listed = installation.browser(), "/?sort=name", list[str]()
    while address:
        html = (await browser.get(address)).text
        listed += re.findall(r'story-card-title"><a [^>]+>([^<]+)<', html)
        found = re.search(r'href="(/\?[^"]*after=[^"]+)"', html)
        address = found[1].replace("&amp;", "&") if found else ""
    assert listed == sorted(listed, key=str.lower)
    assert len(listed) == len(set(listed)) == 24
    assert (await browser.get("/?sort=name&after=nonsense")).status_code == 422
    assert (await browser.get("/?sort=colour")).status_code == 422


async def test_pins_and_tags_are_everybodys_own(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    hugo, pia = await installation.add("Hugo"), await installation.add("Pia")
    old, new = await club(installation, "Old", "New")
    await add_member(runtime, viewer, old.space.id, user_id=hugo.user_id)
    browser = await installation.signed_in(viewer)
    address = f"/spaces/{old.space.id}"
    pinned = await browser.post(f"{address}/pin", data={"pinned": "true", "back": "sort=name"})
    assert pinned.headers["location"] == "/?sort=name"
    await browser.post(f"{address}/tags", data={"tags": " Noir, noir,, Für Ärzte "})
    assert (await names(installation))[0] == "Old"
    assert await names(installation, pinned=True) == ["Old"]
    assert await names(installation, tag="NOIR") == ["Old"]
    assert await names(installation, tag="für ärzte") == ["Old"]
    assert await names(installation, tag="other") == []
    [card] = (await home_view(runtime, viewer)).pinned
    assert card.tags == ("Noir", "Für Ärzte")
    assert [tag.label for tag in (await home_view(runtime, viewer)).tags] == ["Für Ärzte", "Noir"]
    theirs = await home_view(runtime, hugo)
    assert (theirs.pinned, theirs.tags, [card.space_name for card in theirs.stories]) == ((), (), ["Old"])
    for refused in (pin_space(runtime, pia, old.space.id, pinned=True), tag_space(runtime, pia, old.space.id, ["x"])):
        assert (await refusal_of(refused)).code == "not_found"
    await browser.post(f"{address}/pin", data={"pinned": "false"})
    await browser.post(f"{address}/tags", data={"tags": ""})
    assert await names(installation, pinned=True) == []
    async with runtime.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(StoryTag)) == 0
    crowd = await refusal_of(tag_space(runtime, viewer, new.space.id, [str(number) for number in range(MAX_TAGS + 1)]))
    assert crowd.code == "too_long"


async def test_so_many_stories_are_pinned_and_no_more(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    made = await club(installation, *(f"Story {number}" for number in range(MAX_PINS + 1)))
    for one in made[1:]:
        await pin_space(runtime, viewer, one.space.id, pinned=True)
    refused = await refusal_of(pin_space(runtime, viewer, made[0].space.id, pinned=True))
    assert refused.sentence == "You can pin at most 50 stories. Unpin one first."
    assert len((await home_view(runtime, viewer)).pinned) == MAX_PINS


async def test_stories_are_filtered_by_words_and_characters(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    [tower, _sea] = await club(installation, "Tower 100%", "Sea")
    await change_conversation(runtime, viewer, tower.conversation.id, settings_version=0, title="A quiet night")
    assert await names(installation, search="0%") == ["Tower 100%"]
    assert await names(installation, search="QUIET") == ["Tower 100%"]
    assert await names(installation, search="loud") == []
    [cast] = (await home_view(runtime, viewer)).cast
    assert await names(installation, character_id=UUID(cast.value)) == ["Ottoline"]
    assert "No stories match." in (await installation.browser().get("/?search=loud")).text
    await change_conversation(runtime, viewer, tower.conversation.id, settings_version=1, archived=True)
    assert await names(installation, search="quiet") == []


async def test_a_message_of_somebody_else_is_unread_until_it_was_seen(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    hugo = await installation.add("Hugo")
    [made] = await club(installation, "Club")
    await add_member(runtime, viewer, made.space.id, user_id=hugo.user_id)
    assert await names(installation, hugo, unread=True) == []
    talk = await create_conversation(runtime, viewer, made.space.id, title="Talk")
    await say(installation, viewer, talk.id)
    assert await names(installation, hugo, unread=True) == ["Club"]
    # One's own messages are not new to oneself.
    assert await names(installation, unread=True) == []
    browser = await installation.signed_in(hugo)
    assert "unread-dot" in (await browser.get("/")).text
    path = f"/api/v1/conversations/{talk.id}/read_position"
    assert (await browser.put(path, json={"seq": 99})).json() == {"seq": 1}
    assert await names(installation, hugo, unread=True) == []
    with counted_statements(runtime.database) as statements:
        assert await mark_read(runtime, hugo, talk.id, 1) == 1
        assert await mark_read(runtime, hugo, talk.id, 0) == 1
    assert not [one for one in statements if not one.startswith("SELECT")]
    message_id = await say(installation, viewer, talk.id)
    await say(installation, hugo, talk.id)
    assert await names(installation, hugo, unread=True) == ["Club"]
    await browser.post(f"/messages/{message_id}/hide")
    moderator = await installation.signed_in(viewer)
    await moderator.post(f"/messages/{message_id}/hide")
    assert await names(installation, hugo, unread=True) == []


async def test_only_those_in_a_space_have_a_position_there(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    pia = await installation.add("Pia")
    [made] = await club(installation, "Club")
    await say(installation, viewer, made.conversation.id)
    assert (await refusal_of(mark_read(runtime, pia, made.conversation.id, 1))).code == "not_found"
    await change_conversation(runtime, viewer, made.conversation.id, settings_version=0, visibility="public")
    await mark_read(runtime, pia, made.conversation.id, 1)
    async with runtime.database.read() as session:
        of_pia = select(func.count()).select_from(ReadPosition).where(ReadPosition.user_id == pia.user_id)
        assert await session.scalar(of_pia) == 0


async def test_branches_of_a_root_that_is_not_seen_stand_alone(installation: Installation) -> None:
    runtime, viewer = installation.runtime, installation.play.viewer
    hugo = await installation.add("Hugo")
    [made] = await club(installation, "Club")
    await add_member(runtime, viewer, made.space.id, user_id=hugo.user_id)
    message_id = await say(installation, viewer, made.conversation.id)
    thread = await fork(runtime, viewer, made.conversation.id, message_id, kind="thread", title="Thread")
    await change_conversation(runtime, viewer, made.conversation.id, settings_version=0, visibility="private")
    [card] = (await home_view(runtime, hugo)).stories
    assert (card.title, card.fold) == ("Thread", "")
    html = (await (await installation.signed_in(hugo)).get(f"/spaces/{made.space.id}/stories")).text
    assert f"/conversations/{thread.id}" in html
    assert str(made.conversation.id) not in html
    async with runtime.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(Space)) == 2


async def test_the_api_sorts_filters_pins_and_tags(installation: Installation) -> None:
    viewer = installation.play.viewer
    old, _new = await club(installation, "Old", "New")
    client = await installation.signed_in(viewer)
    assert (await client.put(f"/api/v1/spaces/{old.space.id}/pin")).status_code == 204
    tags = await client.put(f"/api/v1/spaces/{old.space.id}/tags", json={"tags": ["Noir", "noir"]})
    assert tags.json() == {"tags": ["Noir"]}
    for asked in ("pinned=true", "tag=noir", "search=old", "sort=created&limit=2"):
        items = (await client.get(f"/api/v1/spaces?{asked}")).json()["items"]
        assert ("Old", True, ["Noir"]) in [(item["name"], item["pinned"], item["tags"]) for item in items]
    assert (await client.get("/api/v1/spaces?unread=true")).json()["items"] == []
    assert (await client.delete(f"/api/v1/spaces/{old.space.id}/pin")).status_code == 204
    first = (await client.get("/api/v1/spaces?sort=name&limit=1")).json()
    after = first["next"]
    second = (await client.get("/api/v1/spaces", params={"sort": "name", "limit": 1, "after": after})).json()
    assert [page["items"][0]["name"] for page in (first, second)] == ["New", "Old"]
