"""Characters, lorebooks and presets that are shared: who reads and uses them, and what stories say without them."""

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.api.world import a_file
from tests.playground.characters.builders import json_card

pytestmark = pytest.mark.anyio

API = "/api/v1"
CARD = json_card(name="Ada", first_mes="Hello.", description="Ada is a lighthouse keeper.")


class Library:
    """Things of Ann's, and Ben, who is not her."""

    def __init__(self, installation: Installation, ann: httpx2.AsyncClient, ben: httpx2.AsyncClient) -> None:
        self.installation = installation
        self.ann = ann
        self.ben = ben
        self.character_id = self.lorebook_id = self.preset_id = ""

    @property
    def nouns(self) -> dict[str, str]:
        return {
            "character_id": self.character_id,
            "lorebook_id": self.lorebook_id,
            "preset_id": self.preset_id,
        }

    async def share(self, column: str, space_id: str | None = None) -> str:
        body = {column: self.nouns[column], "space_id": space_id}
        return str((await said(self.ann, "POST", "/shares", body))["id"])

    async def seen_by(self, client: httpx2.AsyncClient) -> list[int]:
        """What somebody is answered who asks for the three."""
        return [(await client.get(f"{API}{path}")).status_code for path in self.paths]

    @property
    def paths(self) -> list[str]:
        return [
            f"/characters/{self.character_id}",
            f"/lorebooks/{self.lorebook_id}/entries",
            f"/presets/{self.preset_id}",
        ]


async def said(client: httpx2.AsyncClient, method: str, path: str, body: Any = None, **more: Any) -> Any:
    answer = await client.request(method, API + path, json=body, **more)
    assert answer.is_success, f"{method} {path}: {answer.text}"
    return answer.json() if answer.content else None


async def open_library(installation: Installation) -> Library:
    await installation.owner_with_password()
    ann, ben = [await installation.signed_in(await installation.add(name)) for name in ("Ann", "Ben")]
    library = Library(installation, ann, ben)
    made = await ann.post(f"{API}/characters", files=a_file(CARD))
    library.character_id = made.json()["character"]["id"]
    library.lorebook_id = (await said(ann, "POST", "/lorebooks", {"name": "Coast"}))["id"]
    entry = {"data": {"key": ["sea"], "content": "The sea is grey here.", "constant": True}}
    await said(ann, "POST", f"/lorebooks/{library.lorebook_id}/entries", entry)
    prompt = {"identifier": "main", "name": "Main", "content": "Write like the tide."}
    order = {"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}
    data = {"prompts": [prompt], "prompt_order": [order]}
    library.preset_id = (await said(ann, "POST", "/presets", {"kind": "chat", "name": "Tide", "data": data}))["id"]
    return library


async def prompt_of(client: httpx2.AsyncClient, conversation_id: str) -> tuple[str, str]:
    """The text of the next prompt, and its warnings."""
    preview = await said(client, "POST", f"/conversations/{conversation_id}/preview", {})
    return str(preview["blocks"]) + str(preview["request"]), str(preview["warnings"])


async def test_what_is_shared_can_be_read_and_copied_and_is_changed_by_its_owner_alone(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        library = await open_library(installation)
        assert await library.seen_by(library.ben) == [404, 404, 404]
        shares = [await library.share(column) for column in library.nouns]
        assert await library.seen_by(library.ben) == [200, 200, 200]
        for path in (f"/characters/{library.character_id}", f"/lorebooks/{library.lorebook_id}"):
            assert (await library.ben.delete(API + path)).status_code == 403
            assert (await library.ben.post(f"{API}{path}/duplicate")).status_code == 201
        assert (await library.ben.delete(f"{API}/presets/{library.preset_id}")).status_code == 403
        edit = {"version": 1, "description": "Mine now."}
        assert (await library.ben.patch(f"{API}/characters/{library.character_id}", json=edit)).status_code == 403
        assert (await library.ben.get(f"{API}/characters/{library.character_id}/versions")).status_code == 403
        rename = {"settings_version": 0, "name": "Mine"}
        assert (await library.ben.patch(f"{API}/lorebooks/{library.lorebook_id}", json=rename)).status_code == 403
        # A preset that is not one's own is changed in a copy, as those that are everybody's.
        copy = await said(library.ben, "PATCH", f"/presets/{library.preset_id}", rename)
        assert copy["id"] != library.preset_id
        for column, id in library.nouns.items():
            assert (await library.ben.get(f"{API}/shares?{column}={id}")).status_code == 403
            assert (await library.ben.post(f"{API}/shares", json={column: id})).status_code == 403
        assert (await library.ben.delete(f"{API}/shares/{shares[0]}")).status_code == 404
        for share in shares:
            await said(library.ann, "DELETE", f"/shares/{share}")
        assert await library.seen_by(library.ben) == [404, 404, 404]


async def test_sharing_with_a_space_reaches_its_members_and_ends_when_they_leave(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        library = await open_library(installation)
        cleo = await installation.signed_in(await installation.add("Cleo"))
        space = (await said(library.ann, "POST", "/spaces", {"kind": "discussion", "name": "Club"}))["space"]["id"]
        code = (await said(library.ann, "POST", f"/spaces/{space}/invitations", {}))["code"]
        member = await said(library.ben, "POST", "/space_invitations/accept", {"code": code})
        for column in library.nouns:
            await library.share(column, space)
        assert await library.seen_by(library.ben) == [200, 200, 200]
        assert await library.seen_by(cleo) == [404, 404, 404]
        listed = (await said(library.ben, "GET", "/characters?scope=shared"))["items"]
        assert library.character_id in [one["id"] for one in listed]
        foreign = (await said(cleo, "POST", "/spaces", {"kind": "discussion", "name": "Other"}))["space"]["id"]
        body = {"character_id": library.character_id, "space_id": foreign}
        assert (await library.ann.post(f"{API}/shares", json=body)).status_code == 404
        await said(library.ben, "DELETE", f"/members/{member['id']}")
        assert await library.seen_by(library.ben) == [404, 404, 404]


async def test_a_story_without_what_is_no_longer_shared_stays_readable_and_says_what_is_missing(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        library = await open_library(installation)
        ben = library.ben
        own = await ben.post(f"{API}/characters", files=a_file(json_card(name="Bo", first_mes="Hm.")))
        bo = own.json()["character"]["id"]
        shares = {column: await library.share(column) for column in library.nouns}
        opened = await said(ben, "POST", "/spaces", {"character_ids": [bo, library.character_id]})
        space, conversation = opened["space"], opened["conversation"]["id"]
        settings = {"model": {"preset_id": library.preset_id}, "space": {"card_handling_mode": "append"}}
        await said(ben, "PATCH", f"/spaces/{space['id']}/settings", {"settings_version": 0, "settings": settings})
        await said(ben, "POST", "/lorebook_links", {"lorebook_id": library.lorebook_id, "space_id": space["id"]})
        # Where others use it is not told to its owner.
        assert await said(library.ann, "GET", f"/lorebook_links?lorebook_id={library.lorebook_id}") == []
        text, warnings = await prompt_of(ben, conversation)
        assert all(words in text for words in ("lighthouse keeper", "The sea is grey", "Write like the tide"))
        assert "not_shared" not in warnings
        for share in shares.values():
            await said(library.ann, "DELETE", f"/shares/{share}")
        text, warnings = await prompt_of(ben, conversation)
        assert not any(words in text for words in ("lighthouse keeper", "The sea is grey", "Write like the tide"))
        assert all(name in warnings for name in ("Ada", "Coast", "Tide"))
        messages = (await said(ben, "GET", f"/conversations/{conversation}/messages"))["items"]
        assert [message["content"] for message in messages] == ["Hm.", "Hello."]
        ada = next(
            member["id"]
            for member in (await said(ben, "GET", f"/spaces/{space['id']}/members"))["items"]
            if member["name"] == "Ada"
        )
        refused = await ben.post(f"{API}/conversations/{conversation}/preview", json={"speaker_id": ada})
        assert "no longer shared with this space" in refused.text


async def test_a_shared_character_does_not_bring_along_what_its_owner_keeps(sqlite_url: str, tmp_path: Path) -> None:
    """Its linked lorebooks and the pipelines that its owner follows with it are not shared with it."""
    async with open_installation(sqlite_url, tmp_path) as installation:
        library = await open_library(installation)
        link = {"lorebook_id": library.lorebook_id, "character_id": library.character_id}
        await said(library.ann, "POST", "/lorebook_links", link)
        profile = (await said(library.ann, "POST", "/pipeline_profiles", {"name": "Mine"}))["id"]
        choice = {"character_id": library.character_id, "profile_id": profile}
        await said(library.ann, "PUT", "/pipeline_choices", choice)
        await library.share("character_id")
        opened = await said(library.ben, "POST", "/spaces", {"character_ids": [library.character_id]})
        conversation = opened["conversation"]["id"]
        text, warnings = await prompt_of(library.ben, conversation)
        assert "lighthouse keeper" in text
        assert "The sea is grey" not in text
        assert "A lorebook of Ada is not shared" in warnings
        assert "Coast" not in warnings
        panel = (await library.ben.get(f"/conversations/{conversation}/panel/lore")).text
        assert "Coast" not in panel
        assert "Mine" not in (await library.ben.get(f"/conversations/{conversation}/panel/pipelines")).text


async def test_pages_of_shared_things_show_them_without_forms(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        library = await open_library(installation)
        page = await library.ann.post(f"/shares?lorebook_id={library.lorebook_id}", data={"space_id": ""})
        assert page.headers["location"] == f"/shares?lorebook_id={library.lorebook_id}"
        assert "Stop sharing with Everybody" in (await library.ann.get(page.headers["location"])).text
        await library.share("character_id")
        await library.share("preset_id")
        book = (await library.ben.get(f"/lorebooks/{library.lorebook_id}")).text
        assert "The sea is grey here." in book
        assert f'action="/lorebooks/{library.lorebook_id}"' not in book
        assert "Coast" in (await library.ben.get("/lorebooks")).text
        card = (await library.ben.get(f"/characters/{library.character_id}")).text
        assert "lighthouse keeper" in card
        assert not any(part in card for part in ("/edit", "/delete", "/shares?", "versions_heading"))
        assert "Your changes are saved to a copy." in (await library.ben.get(f"/presets/{library.preset_id}")).text
        assert (await library.ben.get(f"/shares?preset_id={library.preset_id}")).status_code == 403


async def test_a_shared_preset_in_use_elsewhere_can_be_deleted_once_it_is_not_shared(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        library = await open_library(installation)
        share = await library.share("preset_id")
        space = (await said(library.ben, "POST", "/spaces", {"name": "Mine"}))["space"]["id"]
        change = {"settings_version": 0, "settings": {"model": {"preset_id": library.preset_id}}}
        await said(library.ben, "PATCH", f"/spaces/{space}/settings", change)
        assert (await library.ann.delete(f"{API}/presets/{library.preset_id}")).status_code == 409
        await said(library.ann, "DELETE", f"/shares/{share}")
        assert (await library.ann.delete(f"{API}/presets/{library.preset_id}")).status_code == 204
        assert UUID(space)
