"""Discussions: invitations by link, roles, handing over, what each person sees on the page."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio

API = "/api/v1"


class Club:
    """A discussion of Olga's, and somebody who is not in it."""

    def __init__(self, installation: Installation, olga: httpx2.AsyncClient, mia: httpx2.AsyncClient) -> None:
        self.installation = installation
        self.olga = olga
        self.mia = mia
        self.space_id = self.conversation_id = ""

    @property
    def panel(self) -> str:
        return f"/conversations/{self.conversation_id}/panel/members"

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What Olga's request gave; it must succeed."""
        answer = await self.olga.request(method, API + path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def invite(self, **fields: Any) -> str:
        return str((await self.ask("POST", f"/spaces/{self.space_id}/invitations", fields))["code"])

    async def join(self, code: str, client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        return await (client or self.mia).post(f"{API}/space_invitations/accept", json={"code": code})

    async def member(self, name: str) -> dict[str, Any]:
        listed = (await self.ask("GET", f"/spaces/{self.space_id}/members?removed=true"))["items"]
        return next(member for member in listed if member["name"] == name)


async def open_club(installation: Installation) -> Club:
    olga = await installation.signed_in(await installation.owner_with_password())
    mia = await installation.signed_in(await installation.add("Mia"))
    club = Club(installation, olga, mia)
    opened = await club.ask("POST", "/spaces", {"kind": "discussion", "name": "Club"})
    club.space_id, club.conversation_id = opened["space"]["id"], opened["conversation"]["id"]
    return club


async def test_a_link_lets_so_many_people_join_until_it_expires_or_is_revoked(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        club = await open_club(installation)
        ben, eve = [await installation.signed_in(await installation.add(name)) for name in ("Ben", "Eve")]
        code = await club.invite(role="observer")
        joined = await club.join(code)
        assert (joined.json()["role"], joined.json()["participation"]) == ("member", "observer")
        # Who is there already uses nothing up, and changes nothing; nobody else can use it.
        assert (await club.join(code)).status_code == 200
        assert (await club.join(code, ben)).status_code == 409
        revoked, expired = await club.invite(role="moderator", max_uses=3), await club.invite(days=1)
        assert (await club.join(revoked, ben)).json()["role"] == "moderator"
        listed = await club.ask("GET", f"/spaces/{club.space_id}/invitations")
        assert [(one["role"], one["uses_count"], one["max_uses"]) for one in listed] == [
            ("member", 0, 1),
            ("moderator", 1, 3),
        ]
        await club.ask("DELETE", f"/space_invitations/{listed[1]['id']}")
        installation.play.skipped += timedelta(days=1)
        assert [(await club.join(one, eve)).status_code for one in (revoked, expired, "no-such-code")] == [404] * 3
        assert (await club.member("Ben"))["status"] == "active"


async def test_who_was_removed_cannot_come_back_by_a_link_but_who_left_can(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        code = await club.invite(max_uses=20)
        assert (await club.join(code)).status_code == 200
        mia = await club.member("Mia")
        assert (await club.mia.delete(f"{API}/members/{mia['id']}")).status_code == 200
        assert (await club.mia.get(f"{API}/spaces/{club.space_id}")).status_code == 404
        assert (await club.join(code)).json()["id"] == mia["id"]
        await club.ask("DELETE", f"/members/{mia['id']}")
        assert (await club.join(code)).status_code == 403


async def test_an_invitation_of_somebody_who_is_not_in_charge_any_more_is_worth_nothing(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        assert (await club.join(await club.invite())).status_code == 200
        owner = await club.member("Mia")
        await club.ask("PUT", f"/spaces/{club.space_id}/owner", {"settings_version": 0, "member_id": owner["id"]})
        made = await club.mia.post(f"{API}/spaces/{club.space_id}/invitations", json={})
        back = {"settings_version": 1, "member_id": (await club.member("Olga"))["id"]}
        assert (await club.mia.put(f"{API}/spaces/{club.space_id}/owner", json=back)).status_code == 200
        ben = await installation.signed_in(await installation.add("Ben"))
        assert (await club.join(made.json()["code"], ben)).status_code == 404


async def test_a_space_is_handed_over_without_the_private_conversations_of_its_owner(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        club = await open_club(installation)
        await club.join(await club.invite())
        mia = await club.member("Mia")
        body = {"settings_version": 0, "member_id": mia["id"]}
        private = await club.ask("POST", f"/spaces/{club.space_id}/conversations", {"visibility": "private"})
        refused = await club.olga.put(f"{API}/spaces/{club.space_id}/owner", json=body)
        assert (refused.status_code, "1 private conversation" in refused.text) == (409, True)
        await club.ask("DELETE", f"/conversations/{private['id']}")
        # Its next owner could restore it.
        refused = await club.olga.put(f"{API}/spaces/{club.space_id}/owner", json=body)
        assert (refused.status_code, "The trash has 1 private conversation" in refused.text) == (409, True)
        await club.ask("DELETE", f"/trash/conversation/{private['id']}")
        assert (await club.mia.put(f"{API}/spaces/{club.space_id}/owner", json=body)).status_code == 403
        handed = await club.ask("PUT", f"/spaces/{club.space_id}/owner", body)
        assert handed["owner_id"] == mia["user_id"]
        roles = [(await club.member(name))["role"] for name in ("Mia", "Olga")]
        assert roles == ["owner", "moderator"]
        stale = await club.mia.put(f"{API}/spaces/{club.space_id}/owner", json=body)
        assert stale.status_code == 409
        renamed = await club.mia.patch(f"{API}/spaces/{club.space_id}", json={"settings_version": 1, "name": "Ours"})
        assert renamed.is_success


async def test_the_page_of_an_invitation_is_for_people_with_an_account(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        address = f"/join/{await club.invite()}"
        stranger = installation.stranger()
        sent = await stranger.get(address)
        assert sent.headers["location"] == f"/sign-in?next={address.replace('/', '%2F')}"
        form = await stranger.get(sent.headers["location"])
        [link] = re.findall(r'href="(/sign-up[^"]+)"', form.text)
        assert f'name="next" value="{address}"' in (await stranger.get(link)).text
        shown = await club.mia.get(address)
        assert "Join Club" in shown.text
        assert "Olga" in shown.text
        assert (await club.mia.post(address)).headers["location"] == f"/spaces/{club.space_id}"
        assert (await club.mia.get(address)).headers["location"] == f"/spaces/{club.space_id}"


async def test_signing_up_leads_back_to_the_invitation_to_the_space(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        address = f"/join/{await club.invite()}"
        code = (await club.ask("POST", "/invitations", {}))["code"]
        account = {"code": code, "name": "Hugo", "password": "three brown owls", "next": address}
        joined = await installation.stranger().post("/sign-up", data=account)
        assert joined.headers["location"] == address
        elsewhere = {**account, "name": "Ivo", "next": "//example.org"}
        elsewhere["code"] = (await club.ask("POST", "/invitations", {}))["code"]
        assert (await installation.stranger().post("/sign-up", data=elsewhere)).headers["location"] == "/"


async def test_the_panel_of_a_discussion_offers_each_person_what_they_may_do(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        made = await club.olga.post(f"{club.panel}/invitations", data={"role": "member", "max_uses": "2", "days": "3"})
        [link] = re.findall(r'id="invitation_link"[^>]*value="([^"]+)"', made.text)
        assert link.startswith("http://127.0.0.1/join/")
        wrong = await club.olga.post(f"{club.panel}/invitations", data={"days": "1000"})
        assert (wrong.status_code, "Days must be a whole number from 1 to 90." in wrong.text) == (422, True)
        await club.mia.post(link.removeprefix("http://127.0.0.1"))
        mia = await club.member("Mia")
        seen = (await club.olga.get(club.panel)).text
        assert all(words in seen for words in ("Hand over Mia", "Mute Mia", "Invite people", "Who can read"))
        hers = (await club.mia.get(club.panel)).text
        assert "Your name here" in hers
        assert not any(words in hers for words in ("Hand over", "Invite people", 'name="visibility"'))
        change = {"settings_version": "0", "name_override": "Countess", "persona": "Tall, in grey."}
        assert (await club.mia.post(f"{club.panel}/{mia['id']}", data=change)).status_code == 303
        mia = await club.member("Countess")
        assert mia["persona"] == "Tall, in grey."
        # The role is one list on the page; a muted member stays muted in another role.
        for role, was, expected in [
            ("moderator", "member", ("moderator", "active")),
            ("observer", "moderator", ("member", "observer")),
            ("member", "observer", ("member", "active")),
        ]:
            data = {"settings_version": str(mia["settings_version"]), "role": role, "role_was": was}
            assert (await club.olga.post(f"{club.panel}/{mia['id']}", data=data)).status_code == 303
            mia = await club.member("Countess")
            assert (mia["role"], mia["participation"]) == expected


async def test_a_moderator_mutes_and_unmutes_members_and_nobody_above_them(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        club = await open_club(installation)
        ben, eve = [await installation.signed_in(await installation.add(name)) for name in ("Ben", "Eve")]
        await club.join(await club.invite(role="moderator", max_uses=2))
        await club.join(await club.invite(role="moderator"), eve)
        await club.join(await club.invite(), ben)
        ids = {name: (await club.member(name))["id"] for name in ("Olga", "Mia", "Eve", "Ben")}

        async def change(client: httpx2.AsyncClient, name: str, **changes: Any) -> int:
            version = (await club.member(name))["settings_version"]
            answer = await client.patch(f"{API}/members/{ids[name]}", json={"settings_version": version, **changes})
            return answer.status_code

        async def press(words: str, participation: str) -> str:
            """Press a button for Ben on the panel, as Mia; how Ben takes part then."""
            assert f'aria-label="{words}"' in (await club.mia.get(club.panel)).text
            ben_now = {"settings_version": (await club.member("Ben"))["settings_version"]}
            data = {**ben_now, "participation": participation}
            assert (await club.mia.post(f"{club.panel}/{ids['Ben']}", data=data)).status_code == 303
            return str((await club.member("Ben"))["participation"])

        assert await press("Mute Ben", "muted") == "muted"
        said = await ben.post(f"{API}/conversations/{club.conversation_id}/messages", json={"content": "Hello?"})
        assert said.status_code == 403
        assert await press("Unmute Ben", "active") == "active"
        shown = (await club.mia.get(club.panel)).text
        assert not any(f"Mute {name}" in shown for name in ("Olga", "Mia", "Eve"))
        assert "Mute" not in (await ben.get(club.panel)).text
        assert [await change(club.mia, name, participation="muted") for name in ids] == [403, 403, 403, 200]
        assert [await change(ben, name, participation="active") for name in ids] == [403] * 4
        # To mute is all: no other field, not with others, and not an observer who would speak again.
        others: list[dict[str, Any]] = [{"role": "moderator"}, {"participation": "observer"}, {"name_override": "B"}]
        for changes in (*others, {"participation": "active", "name_override": "B"}):
            assert await change(club.mia, "Ben", **changes) == 403
        assert await change(club.olga, "Ben", participation="observer") == 200
        assert await change(club.mia, "Ben", participation="active") == 403
        stale = await club.mia.patch(
            f"{API}/members/{ids['Ben']}", json={"settings_version": 0, "participation": "muted"}
        )
        assert stale.status_code == 403


async def test_visibility_is_the_owners_choice_and_shuts_out_who_may_not_read(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        await club.join(await club.invite())
        stranger = await installation.signed_in(await installation.add("Ben"))
        address = f"/conversations/{club.conversation_id}"

        async def choose(visibility: str, version: int) -> list[int]:
            data = {"settings_version": str(version), "visibility": visibility}
            assert (await club.olga.post(f"{club.panel}/visibility", data=data)).status_code == 303
            return [(await client.get(address)).status_code for client in (club.olga, club.mia, stranger)]

        assert await choose("private", 0) == [200, 404, 404]
        assert await choose("public", 1) == [200, 200, 200]
        assert (await stranger.get(club.panel)).status_code == 404
        assert await choose("shared", 2) == [200, 200, 404]
        stale = await club.olga.post(f"{club.panel}/visibility", data={"settings_version": "0", "visibility": "public"})
        assert stale.status_code == 409


async def test_public_conversations_are_found_by_everybody_and_no_others(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        club = await open_club(installation)
        made = {
            visibility: await club.ask(
                "POST",
                f"/spaces/{club.space_id}/conversations",
                {"title": f"{visibility} talk", "visibility": visibility},
            )
            for visibility in ("shared", "private", "public")
        }
        talk = f"/conversations/{made['public']['id']}"
        await club.ask("POST", f"{talk}/messages", {"content": "Read *this*.", "role": "system"})

        async def found() -> list[list[str]]:
            lists = [(await client.get(f"{API}/public_conversations")).json() for client in (club.olga, club.mia)]
            return [[item["title"] for item in one["items"]] for one in lists]

        assert await found() == [["public talk"], ["public talk"]]
        [item] = (await club.mia.get(f"{API}/public_conversations")).json()["items"]
        assert (item["space_name"], item["owner_name"], item["last_text"]) == ("Club", "Olga", "Read *this*.")
        page = (await club.mia.get("/public")).text
        assert all(words in page for words in (f'href="{talk}"', "public talk", "Club by Olga", "Read this."))
        assert not any(words in page for words in ("shared talk", "private talk"))
        assert (await club.mia.get(talk)).status_code == 200
        # One page after the other, the last that changed first.
        await club.ask("POST", f"/spaces/{club.space_id}/conversations", {"title": "Second", "visibility": "public"})
        first = (await club.mia.get(f"{API}/public_conversations?limit=1")).json()
        second = (await club.mia.get(f"{API}/public_conversations?limit=1&after={first['next']}")).json()
        assert [[item["title"] for item in one["items"]] for one in (first, second)] == [["Second"], ["public talk"]]
        assert second["next"] is None
        assert (await club.mia.get("/public?after=x")).status_code == 422
        await club.ask("DELETE", f"/conversations/{first['items'][0]['id']}")
        assert await found() == [["public talk"], ["public talk"]]
        version = (await club.ask("GET", f"/spaces/{club.space_id}"))["settings_version"]
        await club.ask("PATCH", f"/spaces/{club.space_id}", {"settings_version": version, "archived": True})
        assert await found() == [[], []]
        assert "No conversations are public." in (await club.mia.get("/public")).text


async def test_the_chat_says_why_a_muted_member_or_an_observer_cannot_write(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        await club.join(await club.invite())
        page, typing = f"/conversations/{club.conversation_id}", f"/conversations/{club.conversation_id}/typing"
        assert 'id="composer"' in (await club.mia.get(page)).text
        assert (await club.mia.post(typing)).status_code == 204
        for version, participation, sentence in [(0, "muted", "You are muted here"), (1, "observer", "an observer")]:
            mia = await club.member("Mia")
            change = {"settings_version": version, "participation": participation}
            await club.ask("PATCH", f"/members/{mia['id']}", change)
            html = (await club.mia.get(page)).text
            assert sentence in html
            assert 'id="composer"' not in html
            assert (await club.mia.post(typing)).status_code == 403


async def test_a_typing_hint_writes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        with counted_statements(installation.runtime.database) as statements:
            assert (await club.olga.post(f"/conversations/{club.conversation_id}/typing")).status_code == 204
        assert not [one for one in statements if one.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))]


async def test_a_new_story_is_for_one_person_or_for_several(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        character = (await club.ask("GET", "/characters?scope=own"))["items"][:1] or (
            await club.ask("GET", "/characters?scope=shared")
        )["items"][:1]
        for kind in ("playground", "discussion"):
            form = {"character_id": character[0]["id"], "kind": kind}
            made = await club.olga.post("/spaces/new", data=form)
            conversation_id = UUID(made.headers["location"].rpartition("/")[2])
            space_id = (await club.ask("GET", f"/conversations/{conversation_id}"))["space_id"]
            assert (await club.ask("GET", f"/spaces/{space_id}"))["kind"] == kind


async def test_nobody_is_invited_to_a_playground(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        club = await open_club(installation)
        opened = await club.ask("POST", "/spaces", {"name": "Mine"})
        refused = await club.olga.post(f"{API}/spaces/{opened['space']['id']}/invitations", json={})
        assert (refused.status_code, "for one person" in refused.text) == (409, True)
        assert (
            "Invite people"
            not in (await club.olga.get(f"/conversations/{opened['conversation']['id']}/panel/members")).text
        )
