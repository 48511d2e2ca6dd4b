"""Who may watch: what is for one person reaches nobody else, and who may read no more is told no more."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.base.accounts.sessions import sign_out
from tavernkit.playground.base.accounts.signing_up import create_administrator, reset_password
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, User
from tavernkit.playground.base.realtime.bus import conversation_topic, space_topic, user_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.live.streaming import access_check, readable_conversation
from tavernkit.playground.edge.web.authentication import Proof
from tavernkit.playground.story.conversations.service import change_conversation
from tavernkit.playground.story.members.service import add_member, remove_member
from tavernkit.playground.story.spaces.service import create_space
from tests.playground.accounts.house import PASSWORD, House, open_house
from tests.playground.realtime.listening import Page
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import outcome_of

pytestmark = pytest.mark.anyio

SOON, HOUR = 0.02, 3_600


async def suggest(play: Story, user_id: UUID, conversation_id: UUID, text: str) -> None:
    async with play.runtime.database.write() as session:
        announce(session, user_topic(user_id), copilot={"text": text}, conversation=str(conversation_id))


async def test_a_suggestion_reaches_the_pages_of_the_person_it_is_for(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        tabs, other = [Page(play), Page(play)], Page(play, user_id=uuid4())
        for page in (*tabs, other):
            await page.take(1)
        await suggest(play, play.user_id, play.conversation_id, "Ask her about the lamp.")
        for page in tabs:
            (event,) = await page.take(1)
            item = {"copilot": {"text": "Ask her about the lamp."}, "conversation": str(play.conversation_id)}
            assert (event["event"], json.loads(event["data"]), "id" in event) == ("copilot", item, False)
        await play.say()
        assert [event["event"] for event in await other.take(2)] == ["streams", "streams"]


async def test_a_suggestion_stays_in_its_conversation_and_other_news_of_a_person_are_no_events(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        page = Page(play)
        await page.take(1)
        await suggest(play, play.user_id, uuid4(), "Elsewhere.")
        await play.runtime.bus.publish(user_topic(play.user_id), {"job": str(uuid4())})
        await suggest(play, play.user_id, play.conversation_id, "Here.")
        (event,) = await page.take(1)
        assert json.loads(event["data"])["copilot"] == {"text": "Here."}


async def test_a_long_suggestion_arrives_whole(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        page = Page(play)
        await page.take(1)
        await suggest(play, play.user_id, play.conversation_id, "A long story. " * 5_000)
        (event,) = await page.take(1)
        assert json.loads(event["data"])["copilot"] == {"text": "A long story. " * 5_000}


async def watched(house: House, viewer: Viewer, proof: Proof, *, keep_alive: float = HOUR) -> Page:
    """A page of somebody's, which looks whether they may still read when it hears that this has changed."""
    play = house.play
    allowed = access_check(play.runtime, viewer, proof, play.user_id, play.conversation_id)
    async with play.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, play.conversation_id)).space_id
    page = Page(play, user_id=viewer.user_id, may_read=allowed, around=[space_topic(space_id)], keep_alive=keep_alive)
    await page.take(1)
    return page


async def session_of(house: House, viewer: Viewer) -> Proof:
    return Proof(session=await house.token(viewer))


async def test_a_stream_ends_with_the_session_that_opened_it_and_no_other_does(
    database_url: str, tmp_path: Path
) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        ended, other = await session_of(house, owner), await session_of(house, owner)
        page, elsewhere = await watched(house, owner, ended), await watched(house, owner, other)
        assert (await house.browser(ended.session).post("/sign-out")).status_code == 303
        assert await page.rest() == []
        await house.play.say()
        assert len(await elsewhere.take(2)) == 2


async def end_the_session(house: House, owner: Viewer, _: str) -> None:
    other = await house.signed_in(owner)
    listed = (await other.get("/api/v1/sessions")).json()["items"]
    for item in listed:
        if not item["is_current"]:
            assert (await other.delete(f"/api/v1/sessions/{item['id']}")).status_code == 204


async def sign_out_everywhere(house: House, owner: Viewer, _: str) -> None:
    assert (await (await house.signed_in(owner)).delete("/api/v1/sessions")).json() == {"revoked": 1}


async def sign_in_again(house: House, _: Viewer, token: str) -> None:
    body = {"login": "olga", "password": PASSWORD}
    assert (await house.browser(token).post("/api/v1/sessions", json=body)).status_code == 201


async def change_the_password(house: House, owner: Viewer, _: str) -> None:
    body = {"current_password": PASSWORD, "new_password": "another good one"}
    assert (await (await house.signed_in(owner)).post("/api/v1/me/password", json=body)).status_code == 204


async def reset_the_password(house: House, owner: Viewer, _: str) -> None:
    await reset_password(house.runtime, owner.user_id, "another good one")


async def close_the_account(house: House, owner: Viewer, _: str) -> None:
    admin = await house.signed_in(await house.add("Ada", "administrator"))
    closed = await admin.patch(f"/api/v1/users/{owner.user_id}", json={"status": "inactive"})
    assert closed.status_code == 200


async def delete_the_space(house: House, owner: Viewer, _: str) -> None:
    async with house.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, house.play.conversation_id)).space_id
    browser = await house.signed_in(owner)
    assert (await browser.delete(f"/api/v1/spaces/{space_id}")).is_success


async def delete_the_conversation(house: House, owner: Viewer, _: str) -> None:
    async with house.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, house.play.conversation_id)).space_id
    browser = await house.signed_in(owner)
    assert (await browser.post(f"/api/v1/spaces/{space_id}/conversations", json={})).status_code == 201
    assert (await browser.delete(f"/api/v1/conversations/{house.play.conversation_id}")).is_success


@pytest.mark.parametrize(
    "end",
    [
        end_the_session,
        sign_out_everywhere,
        sign_in_again,
        change_the_password,
        reset_the_password,
        close_the_account,
        delete_the_space,
        delete_the_conversation,
    ],
)
async def test_a_stream_ends_at_once_with_what_allowed_it(
    database_url: str, tmp_path: Path, end: Callable[[House, Viewer, str], Awaitable[None]]
) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        token = await house.token(owner)
        page = await watched(house, owner, Proof(session=token))
        await end(house, owner, token)
        await page.rest()


async def test_a_stream_that_a_key_opened_ends_when_the_key_is_revoked(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        browser = await house.signed_in(owner)
        made = (await browser.post("/api/v1/api_keys", json={"name": "reader"})).json()
        page = await watched(house, owner, Proof(api_key=made["key"]))
        assert (await browser.delete(f"/api/v1/api_keys/{made['id']}")).status_code == 204
        assert await page.rest() == []


async def test_a_stream_of_somebody_who_is_no_administrator_any_more_ends(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner, ada = await house.owner_with_password(), await house.add("Ada", "administrator")
        page = await watched(house, ada, await session_of(house, ada))
        await change_user(house.runtime, owner, ada.user_id, role="member")
        assert await page.rest() == []


async def test_the_first_password_ends_the_streams_of_who_has_not_signed_in(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        page = await watched(house, house.play.viewer, Proof())
        await create_administrator(house.runtime, name="Olga", email=None, password=PASSWORD)
        assert await page.rest() == []


async def test_a_stream_ends_for_who_is_taken_out_of_the_space(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner, guest = await house.owner_with_password(), await house.add("Greta")
        opened = await create_space(house.runtime, owner, kind="discussion")
        house.play.conversation_id = opened.conversation.id
        assert await missing(house, guest)
        member = await add_member(house.runtime, owner, opened.space.id, user_id=guest.user_id)
        assert not await missing(house, guest)
        page = await watched(house, guest, await session_of(house, guest))
        await remove_member(house.runtime, owner, member.id)
        await page.rest()
        assert await missing(house, guest)


async def test_a_stream_ends_when_the_conversation_is_closed_to_others(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner, passer_by = await house.owner_with_password(), await house.add("Pavel")
        conversation_id = house.play.conversation_id
        change = await change_conversation(
            house.runtime, owner, conversation_id, settings_version=0, visibility="public"
        )
        page = await watched(house, passer_by, await session_of(house, passer_by))
        await change_conversation(
            house.runtime, owner, conversation_id, settings_version=change.settings_version, visibility="private"
        )
        await page.rest()


async def test_a_stream_ends_after_a_while_where_nothing_was_announced(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        page = await watched(house, owner, await session_of(house, owner), keep_alive=SOON)
        async with house.runtime.database.write() as session:
            (await session.get_one(User, owner.user_id)).status = "inactive"
        await page.rest()


async def test_a_session_that_ends_while_its_stream_is_opened_gets_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        token = await house.token(owner)
        allowed = access_check(house.runtime, owner, Proof(session=token), owner.user_id, house.play.conversation_id)
        page = Page(house.play, may_read=allowed, keep_alive=HOUR)
        await sign_out(house.runtime, token)
        assert await page.rest() == []


async def test_who_is_not_welcome_any_more_is_not_told_what_happens_then(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        welcome = True

        async def is_welcome() -> bool:
            return welcome

        # Without a pause, it asks at each piece.
        page = Page(play, may_read=is_welcome, keep_alive=0)
        await page.take(1)
        topic = conversation_topic(play.conversation_id)
        await play.runtime.bus.publish(topic, {"run": "1", "offset": 0, "text": "a"})
        (event,) = await page.take(1)
        assert json.loads(event["data"])["offset"] == 0
        welcome = False
        await play.runtime.bus.publish(topic, {"run": "1", "offset": 1, "text": "b"})
        assert await page.rest() == []


async def missing(house: House, viewer: Viewer) -> bool:
    return isinstance(
        await outcome_of(readable_conversation(house.runtime, viewer, house.play.conversation_id)), Refused
    )
