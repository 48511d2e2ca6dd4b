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
from tests.playground.accounts.installation import PASSWORD, Installation, open_installation
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


async def watched(installation: Installation, viewer: Viewer, proof: Proof, *, keep_alive: float = HOUR) -> Page:
    """A page of somebody's, which looks whether they may still read when it hears that this has changed."""
    play = installation.play
    allowed = access_check(play.runtime, viewer, proof, play.user_id, play.conversation_id)
    async with play.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, play.conversation_id)).space_id
    page = Page(play, user_id=viewer.user_id, may_read=allowed, around=[space_topic(space_id)], keep_alive=keep_alive)
    await page.take(1)
    return page


async def session_of(installation: Installation, viewer: Viewer) -> Proof:
    return Proof(session=await installation.token(viewer))


async def test_a_stream_ends_with_the_session_that_opened_it_and_no_other_does(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner = await installation.owner_with_password()
        ended, other = await session_of(installation, owner), await session_of(installation, owner)
        page, elsewhere = await watched(installation, owner, ended), await watched(installation, owner, other)
        assert (await installation.browser(ended.session).post("/sign-out")).status_code == 303
        assert await page.rest() == []
        await installation.play.say()
        assert len(await elsewhere.take(2)) == 2


async def end_the_session(installation: Installation, owner: Viewer, _: str) -> None:
    other = await installation.signed_in(owner)
    listed = (await other.get("/api/v1/sessions")).json()["items"]
    for item in listed:
        if not item["is_current"]:
            assert (await other.delete(f"/api/v1/sessions/{item['id']}")).status_code == 204


async def sign_out_everywhere(installation: Installation, owner: Viewer, _: str) -> None:
    assert (await (await installation.signed_in(owner)).delete("/api/v1/sessions")).json() == {"revoked": 1}


async def sign_in_again(installation: Installation, _: Viewer, token: str) -> None:
    body = {"login": "olga", "password": PASSWORD}
    assert (await installation.browser(token).post("/api/v1/sessions", json=body)).status_code == 201


async def change_the_password(installation: Installation, owner: Viewer, _: str) -> None:
    body = {"current_password": PASSWORD, "new_password": "another good one"}
    assert (await (await installation.signed_in(owner)).post("/api/v1/me/password", json=body)).status_code == 204


async def reset_the_password(installation: Installation, owner: Viewer, _: str) -> None:
    await reset_password(installation.runtime, owner.user_id, "another good one")


async def close_the_account(installation: Installation, owner: Viewer, _: str) -> None:
    admin = await installation.signed_in(await installation.add("Ada", "administrator"))
    closed = await admin.patch(f"/api/v1/users/{owner.user_id}", json={"status": "inactive"})
    assert closed.status_code == 200


async def delete_the_space(installation: Installation, owner: Viewer, _: str) -> None:
    async with installation.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, installation.play.conversation_id)).space_id
    browser = await installation.signed_in(owner)
    assert (await browser.delete(f"/api/v1/spaces/{space_id}")).is_success


async def delete_the_conversation(installation: Installation, owner: Viewer, _: str) -> None:
    async with installation.runtime.database.read() as session:
        space_id = (await session.get_one(Conversation, installation.play.conversation_id)).space_id
    browser = await installation.signed_in(owner)
    assert (await browser.post(f"/api/v1/spaces/{space_id}/conversations", json={})).status_code == 201
    assert (await browser.delete(f"/api/v1/conversations/{installation.play.conversation_id}")).is_success


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
    database_url: str, tmp_path: Path, end: Callable[[Installation, Viewer, str], Awaitable[None]]
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner = await installation.owner_with_password()
        token = await installation.token(owner)
        page = await watched(installation, owner, Proof(session=token))
        await end(installation, owner, token)
        await page.rest()


async def test_a_stream_that_a_key_opened_ends_when_the_key_is_revoked(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner = await installation.owner_with_password()
        browser = await installation.signed_in(owner)
        made = (await browser.post("/api/v1/api_keys", json={"name": "reader"})).json()
        page = await watched(installation, owner, Proof(api_key=made["key"]))
        assert (await browser.delete(f"/api/v1/api_keys/{made['id']}")).status_code == 204
        assert await page.rest() == []


async def test_a_stream_of_somebody_who_is_no_administrator_any_more_ends(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner, ada = await installation.owner_with_password(), await installation.add("Ada", "administrator")
        page = await watched(installation, ada, await session_of(installation, ada))
        await change_user(installation.runtime, owner, ada.user_id, role="member")
        assert await page.rest() == []


async def test_the_first_password_ends_the_streams_of_who_has_not_signed_in(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        page = await watched(installation, installation.play.viewer, Proof())
        await create_administrator(installation.runtime, name="Olga", email=None, password=PASSWORD)
        assert await page.rest() == []


async def test_a_stream_ends_for_who_is_taken_out_of_the_space(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner, guest = await installation.owner_with_password(), await installation.add("Greta")
        opened = await create_space(installation.runtime, owner, kind="discussion")
        installation.play.conversation_id = opened.conversation.id
        assert await missing(installation, guest)
        member = await add_member(installation.runtime, owner, opened.space.id, user_id=guest.user_id)
        assert not await missing(installation, guest)
        page = await watched(installation, guest, await session_of(installation, guest))
        await remove_member(installation.runtime, owner, member.id)
        await page.rest()
        assert await missing(installation, guest)


async def test_a_stream_ends_when_the_conversation_is_closed_to_others(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner, passer_by = await installation.owner_with_password(), await installation.add("Pavel")
        conversation_id = installation.play.conversation_id
        change = await change_conversation(
            installation.runtime, owner, conversation_id, settings_version=0, visibility="public"
        )
        page = await watched(installation, passer_by, await session_of(installation, passer_by))
        await change_conversation(
            installation.runtime, owner, conversation_id, settings_version=change.settings_version, visibility="private"
        )
        await page.rest()


async def test_a_stream_ends_after_a_while_where_nothing_was_announced(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner = await installation.owner_with_password()
        page = await watched(installation, owner, await session_of(installation, owner), keep_alive=SOON)
        async with installation.runtime.database.write() as session:
            (await session.get_one(User, owner.user_id)).status = "inactive"
        await page.rest()


async def test_a_session_that_ends_while_its_stream_is_opened_gets_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        owner = await installation.owner_with_password()
        token = await installation.token(owner)
        allowed = access_check(
            installation.runtime, owner, Proof(session=token), owner.user_id, installation.play.conversation_id
        )
        page = Page(installation.play, may_read=allowed, keep_alive=HOUR)
        await sign_out(installation.runtime, token)
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


async def missing(installation: Installation, viewer: Viewer) -> bool:
    return isinstance(
        await outcome_of(readable_conversation(installation.runtime, viewer, installation.play.conversation_id)),
        Refused,
    )
