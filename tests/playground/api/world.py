"""A small world with several people in it, and everything that a route can name: made afresh through the API."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from uuid import UUID, uuid4
from zipfile import ZipFile

import httpx2

from tavernkit.artifacts import Artifact, ArtifactWrite, Session, Writer
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import FolderImport, ImportItem, Job, Run
from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.inputs import load_inputs
from tavernkit.playground.story.prompting.records import keep_prompt, record_of
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.artifacts.database_store import DatabaseArtifactStore
from tests.playground.characters.builders import LANDSCAPE, json_card, landscape_card, picture

__all__ = ["PEOPLE", "PIPELINES", "Person", "Things", "World", "a_file", "backup_file", "open_world"]

Person: TypeAlias = Literal["owner", "key", "moderator", "member", "other", "administrator", "anonymous"]
PEOPLE: tuple[Person, ...] = get_args(Person)

PIPELINES = {
    "pipelines": [
        {
            "id": "tides",
            "triggers": ["user_message", "manual", "api"],
            "steps": [{"id": "look", "kind": "template", "hook": "after", "template": "It rises."}],
        }
    ]
}
"""A profile whose pipelines need no model, and also run by themselves."""

Files: TypeAlias = list[tuple[str, tuple[str, bytes, str]]]


def a_file(data: bytes, name: str = "file.json", *, field: str = "file") -> Files:
    """A form with one file."""
    return [(field, (name, data, "application/octet-stream"))]


def backup_file() -> bytes:
    """A backup without tables, which nobody would restore."""
    manifest = {"format": "tavernkit-backup", "version": 1, "revision": "0001", "tables": {}}
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps({**manifest, "created_at": "2026-01-02T03:04:05+00:00"}))
    return file.getvalue()


class World:
    """The installation, the people in it, and the discussion that the owner has opened."""

    def __init__(self, installation: Installation, viewers: dict[Person, Viewer]) -> None:
        self.installation = installation
        self.viewers = viewers
        self.key = ""
        self.space_id = ""
        self.character_id = ""
        self._addresses = 0
        self._clients: dict[Person, httpx2.AsyncClient] = {}

    async def client(self, person: Person) -> httpx2.AsyncClient:
        """A browser in which this person is signed in, or the owner's program."""
        if person not in self._clients:
            self._clients[person] = await self.new_client(person)
        return self._clients[person]

    async def new_client(self, person: Person) -> httpx2.AsyncClient:
        """A browser in which this person has just signed in, for what ends sessions or begins them."""
        if person == "key":
            return self.installation.program(self.key)
        self._addresses += 1
        token = None if person == "anonymous" else await self.installation.token(self.viewers[person])
        return self.installation.browser(token, address=f"10.8.{self._addresses}.1")

    async def owner(self, method: str, path: str, **body: Any) -> Any:
        """What the owner's request gave; it must succeed. Keys are made in person, all else by the program."""
        asking = await (self.new_client("owner") if path == "/api_keys" else self.client("key"))
        answer = await asking.request(method, API_PREFIX + path, **body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def new_character(self) -> str:
        card = json_card(name=f"Ada {uuid4()}", first_mes="Hello.")
        made = await self.owner("POST", "/characters", files=a_file(card))
        return str(made["character"]["id"])

    async def new_space(self) -> str:
        """A discussion of the owner's with a character, a member and a moderator."""
        if not self.character_id:
            self.character_id = await self.new_character()
            path = f"/characters/{self.character_id}/avatar?version=1"
            await self.owner("PUT", path, files=a_file(picture(), "ada.png"))
        opened = {"kind": "discussion", "name": "Club", "character_ids": [self.character_id]}
        made = await self.owner("POST", "/spaces", json=opened)
        space_id = str(made["space"]["id"])
        await self._join(space_id, "member")
        moderator = await self._join(space_id, "moderator")
        await self.owner("PATCH", f"/members/{moderator}", json={"settings_version": 0, "role": "moderator"})
        return space_id

    async def _join(self, space_id: str, person: Person) -> str:
        user = {"user_id": str(self.viewers[person].user_id)}
        return str((await self.owner("POST", f"/spaces/{space_id}/members", json=user))["id"])


class Things:
    """Things of the owner's by the names that paths give them, each made when it is first asked for."""

    def __init__(self, world: World, *, own_space: bool = False) -> None:
        self.world = world
        self._own_space = own_space
        self._made: dict[str, str] = {}

    async def get(self, name: str) -> str:
        """The id of a thing; `member_2` is the third member of the space."""
        if name not in self._made:
            _, _, number = name.rpartition("_")
            if number.isdecimal():
                self._made[name] = (await self._members())[int(number)]["id"]
            else:
                make: Callable[[], Awaitable[str]] = getattr(self, f"_{name}")
                self._made[name] = await make()
        return self._made[name]

    def replace(self, name: str, thing: str) -> None:
        """Take another thing under this name from now on."""
        self._made[name] = thing

    async def filled(self, template: Any) -> Any:
        """The template with `{name}` replaced by the id of that thing, in texts anywhere in it."""
        if isinstance(template, str):
            for name in re.findall(r"\{(\w+)\}", template):
                template = template.replace(f"{{{name}}}", await self.get(name))
        elif isinstance(template, dict):
            return {key: await self.filled(value) for key, value in template.items()}
        elif isinstance(template, list):
            return [await self.filled(value) for value in template]
        return template

    async def _post(self, path: str, **body: Any) -> Any:
        return await self.world.owner("POST", await self.filled(path), **(await self.filled(body)))

    async def _space_id(self) -> str:
        return await self.world.new_space() if self._own_space else self.world.space_id

    async def _conversation_id(self) -> str:
        return str((await self._post("/spaces/{space_id}/conversations", json={"title": "Talk"}))["id"])

    async def _message_id(self) -> str:
        body = {"content": "The lamp went out.", "role": "system"}
        return str((await self._post("/conversations/{conversation_id}/messages", json=body))["id"])

    async def _background(self) -> str:
        """The hash of a background that a character of the space brings with it."""
        made = await self._post("/characters", files=a_file(landscape_card(name=f"Sea {uuid4()}"), "sea.charx"))
        await self._post("/spaces/{space_id}/members", json={"character_id": made["character"]["id"]})
        return sha256(LANDSCAPE).hexdigest()

    async def _picture_id(self) -> str:
        """A picture that is in a draft."""
        path = "/conversations/{conversation_id}/pictures"
        return str((await self._post(path, files=a_file(picture(), "door.png")))["id"])

    async def _reply_id(self) -> str:
        """What the character said to begin with."""
        path = await self.filled("/conversations/{conversation_id}/messages")
        return str((await self.world.owner("GET", path))["items"][0]["id"])

    async def _swipe_id(self) -> str:
        body = {"content": "The lamp is lit.", "activate": False}
        return str((await self._post("/messages/{message_id}/swipes", json=body))["id"])

    async def _member_id(self) -> str:
        return str(next(member["id"] for member in await self._members() if member["kind"] == "character"))

    async def _guest_id(self) -> str:
        """The member of the space who has no other role."""
        user_id = str(self.world.viewers["member"].user_id)
        return str(next(member["id"] for member in await self._members() if member["user_id"] == user_id))

    async def _space_invitation_id(self) -> str:
        return str((await self._post("/spaces/{space_id}/invitations", json={}))["id"])

    async def _join_code(self) -> str:
        return str((await self._post("/spaces/{space_id}/invitations", json={"max_uses": 20}))["code"])

    async def _share_id(self) -> str:
        body = {"character_id": "{character_id}", "space_id": None}
        return str((await self._post("/shares", json=body))["id"])

    async def _model_id(self) -> str:
        """The character in the space, as a model for other programs."""
        return f"ada-{UUID(await self.get('member_id')).hex[:8]}"

    async def _members(self) -> Any:
        return (await self.world.owner("GET", f"/spaces/{await self.get('space_id')}/members"))["items"]

    async def _name(self) -> str:
        path = await self.filled("/conversations/{conversation_id}/variables/mood")
        await self.world.owner("PUT", path, json={"value": "calm"})
        return "mood"

    async def _module_id(self) -> str:
        """A module of RisuAI with a toggle."""
        module = {"type": "risuModule", "module": {"name": "Tides", "id": "t", "customModuleToggle": "night=Night"}}
        made = await self._post("/presets/import", files=a_file(json.dumps(module).encode()))
        return str(made["preset"]["id"])

    async def _key(self) -> str:
        """The toggle of a module that is on."""
        path = await self.filled("/conversations/{conversation_id}/settings")
        settings = {"prompt": {"modules": [await self.get("module_id")]}}
        await self.world.owner("PATCH", path, json={"settings_version": 0, "settings": settings})
        return "night"

    async def _injection(self) -> str:
        path = await self.filled("/conversations/{conversation_id}/injections/tide")
        await self.world.owner("PUT", path, json={"content": "The tide is out."})
        return "tide"

    async def _global_name(self) -> str:
        await self.world.owner("PUT", "/variables/weather", json={"value": "rain"})
        return "weather"

    async def _character_id(self) -> str:
        return await self.world.new_character()

    async def _number(self) -> str:
        path = await self.filled("/characters/{character_id}")
        await self.world.owner("PATCH", path, json={"version": 1, "description": "Tall."})
        return "1"

    async def _pictured_id(self) -> str:
        """The character in the space, which has a picture."""
        return self.world.character_id

    async def _embedded_book_id(self) -> str:
        client = await self.world.client("owner")
        opened = await client.post(await self.filled("/characters/{character_id}/lorebook"))
        return str(opened.headers["location"].rpartition("/")[2])

    async def _asset_id(self) -> str:
        path = await self.filled("/characters/{character_id}/assets?kind=emotion")
        changed = await self.world.owner("POST", path, files={"files": ("joy.png", picture(), "image/png")})
        return str(changed["assets"][0]["id"])

    async def _sha256(self) -> str:
        return str((await self.world.owner("GET", await self.filled("/characters/{pictured_id}")))["avatar_sha256"])

    async def _thumbnail(self) -> str:
        path = await self.filled("/characters/{pictured_id}")
        return str((await self.world.owner("GET", path))["thumbnail_sha256"])

    async def _shared_link_id(self) -> str:
        return str((await self._post("/conversations/{conversation_id}/shared_links", json={}))["id"])

    async def _token(self) -> str:
        """What is in the address of a link that shows branches too."""
        link = {"with_branches": True}
        made = await self._post("/conversations/{conversation_id}/shared_links", json=link)
        return str(made["path"]).removeprefix("/shared/")

    async def _branch(self) -> str:
        """What is in the address of a branch that a link shows."""
        await self._post("/conversations/{conversation_id}/fork", json={"message_id": "{reply_id}", "kind": "thread"})
        reader = await self.world.client("anonymous")
        page = (await reader.get(await self.filled("/shared/{token}"))).text
        return re.findall(r"/branches/(\w+)", page)[0]

    async def _scope(self) -> str:
        return "character"

    async def _holder_id(self) -> str:
        """A character with a regex script."""
        holder = await self.world.new_character()
        await self.world.owner("POST", f"/scripts/character/{holder}", json={"data": {"scriptName": "Tidy"}})
        return holder

    async def _kind(self) -> str:
        return "sillytavern"

    async def _place(self) -> str:
        return "0"

    async def _mark(self) -> str:
        found = await self.world.owner("GET", await self.filled("/scripts/character/{holder_id}/sillytavern/0"))
        return str(found["mark"])

    async def _lorebook_id(self) -> str:
        return str((await self._post("/lorebooks", json={"name": f"Harbour {uuid4()}"}))["id"])

    async def _trashed_id(self) -> str:
        """A lorebook in the trash."""
        lorebook_id = await self.filled("{lorebook_id}")
        await self.world.owner("DELETE", f"/lorebooks/{lorebook_id}")
        return str(lorebook_id)

    async def _item_id(self) -> str:
        return await self.get("trashed_id")

    async def _entry_id(self) -> str:
        entry = {"data": {"key": ["harbour"], "content": "It freezes."}}
        return str((await self._post("/lorebooks/{lorebook_id}/entries", json=entry))["id"])

    async def _link_id(self) -> str:
        link = {"lorebook_id": "{lorebook_id}", "character_id": "{character_id}"}
        return str((await self._post("/lorebook_links", json=link))["id"])

    async def _preset_id(self) -> str:
        prompt = {"identifier": "main", "name": "Main", "content": "Be kind."}
        order = {"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}
        data = {"prompts": [prompt], "prompt_order": [order]}
        return str((await self._post("/presets", json={"kind": "chat", "name": f"Calm {uuid4()}", "data": data}))["id"])

    async def _imported_id(self) -> str:
        """A preset that is no longer as it was imported."""
        made = await self._post("/presets/import", files=a_file(b'{"temperature": 0.5, "prompts": []}', "wild.json"))
        address = f"/presets/{made['preset']['id']}"
        await self.world.owner("PATCH", address, json={"settings_version": 0, "data": {"temperature": 0.9}})
        return str(made["preset"]["id"])

    async def _master_id(self) -> str:
        return str((await self._post("/presets", json={"kind": "master", "name": f"Whole {uuid4()}"}))["id"])

    async def _risuai_id(self) -> str:
        return str((await self._post("/presets", json={"kind": "risuai", "name": f"Cards {uuid4()}"}))["id"])

    async def _profile_id(self) -> str:
        return str((await self._post("/pipeline_profiles", json={"name": f"Weather {uuid4()}"}))["id"])

    async def _followed_id(self) -> str:
        """A profile that is followed in the conversation, and whose pipelines also run by themselves."""
        made = await self._post("/pipeline_profiles", json={"name": f"Tides {uuid4()}", "content": PIPELINES})
        choice = await self.filled({"conversation_id": "{conversation_id}", "profile_id": str(made["id"])})
        await self.world.owner("PUT", "/pipeline_choices", json=choice)
        return str(made["id"])

    async def _pipeline_run_id(self) -> str:
        await self.get("followed_id")
        asked = {"request_id": str(uuid4())}
        return str((await self._post("/conversations/{conversation_id}/pipeline_runs", json=asked))["id"])

    async def _dry_run_id(self) -> str:
        """A profile that is being tried."""
        asked = {"conversation_id": "{conversation_id}", "content": PIPELINES}
        return str((await self._post("/pipeline_profiles/{profile_id}/dry_run", json=asked))["id"])

    async def _what_if_id(self) -> str:
        """A change that is being tried."""
        return str((await self._post("/conversations/{conversation_id}/what_if", json={"last": 1}))["id"])

    async def _tag(self) -> str:
        """An artifact that has been written once."""
        runtime = self.world.installation.runtime
        place = Session(owner_id=str(self.world.viewers["owner"].user_id), session_id=await self.get("conversation_id"))
        mood = Artifact(id=str(runtime.ids()), session=place, tag="mood", visibility="ui_only")
        await DatabaseArtifactStore(runtime.database, ids=lambda: str(runtime.ids())).write(
            ArtifactWrite(
                artifact=mood,
                content="calm",
                based_on_version=None,
                writer=Writer(pipeline="weather", step="look"),
                permissions=frozenset({"artifact_write"}),
                now=runtime.clock(),
            )
        )
        return "mood"

    async def _identifier(self) -> str:
        return "main"

    async def _persona_id(self) -> str:
        return str((await self._post("/personas", json={"name": f"Robin {uuid4()}"}))["id"])

    async def _connection_id(self) -> str:
        body = {"character_id": "{character_id}"}
        return str((await self._post("/personas/{persona_id}/connections", json=body))["id"])

    async def _set_id(self) -> str:
        made = {"name": f"Moves {uuid4()}", "buttons": [{"label": "Nod", "message": "I nod."}]}
        return str((await self._post("/quick_replies", json=made))["id"])

    async def _button_id(self) -> str:
        return "1"

    async def _job_id(self) -> str:
        card = json_card(name=f"Bo {uuid4()}")
        return str((await self._post("/characters/import", files=a_file(card, field="files")))["id"])

    async def _import_id(self) -> str:
        """An import to which a file was sent."""
        made = await self._post("/imports", json={"name": "default-user"})
        path = f"/imports/{made['id']}/files?path=worlds/Sea.json"
        await self.world.owner("PUT", path, content=b'{"entries": {}}')
        return str(made["id"])

    async def _scanned_id(self) -> str:
        """An import that has been scanned."""
        made = await self._post("/imports", json={"name": "default-user"})
        file = {"position": 1, "path": "worlds/Sea.json", "kind": "world", "size": 15, "sha256": "0" * 64}
        async with self.world.installation.runtime.database.write() as session:
            row = await session.get_one(FolderImport, UUID(made["id"]))
            row.status, row.summary = "scanned", {"scanned": {"files": 1}}
            session.add(ImportItem(import_id=row.id, **file))
        return str(made["id"])

    async def _position(self) -> str:
        return "1"

    async def _importing_id(self) -> str:
        """An import that waits for a worker."""
        scanned = await self.get("scanned_id")
        await self.world.owner("POST", f"/imports/{scanned}/start", json={})
        return scanned

    async def _export_id(self) -> str:
        """An export that waits for a worker."""
        return str((await self._post("/exports", json={}))["id"])

    async def _exported_id(self) -> str:
        """An export whose archive can be downloaded."""
        runtime = self.world.installation.runtime
        export_id = await self.get("export_id")
        async with runtime.database.write() as session:
            job = await session.get_one(Job, UUID(export_id))
            job.status, job.result = "succeeded", {"size": 2, "totals": {"exact": 1}, "lines": [], "more": 0}
        folder = runtime.settings.data_dir / "exports"
        folder.mkdir(exist_ok=True)
        (folder / f"{export_id}.zip").write_bytes(b"PK")
        (folder / f"{export_id}.json").write_text('{"lines": []}')
        return export_id

    async def _failed_export_id(self) -> str:
        """An export that has failed."""
        export_id = await self.get("export_id")
        async with self.world.installation.runtime.database.write() as session:
            (await session.get_one(Job, UUID(export_id))).status = "failed"
        return export_id

    async def _backup(self) -> str:
        """The name of a backup that the server keeps."""
        folder = self.world.installation.runtime.settings.data_dir / "backups"
        folder.mkdir(exist_ok=True)
        (folder / "manual-20260102-030405.zip").write_bytes(backup_file())
        return "manual-20260102-030405.zip"

    async def _priced(self) -> str:
        """A model that has a price."""
        price = {"model": "small/model", "prompt_price": 1, "completion_price": 2}
        administrator = await self.world.new_client("administrator")
        await administrator.put(f"{API_PREFIX}/admin/prices", json=price)
        return "small/model"

    async def _own_priced(self) -> str:
        """A model that the owner has given a price of their own."""
        price = {"model": "small/model", "prompt_price": 1, "completion_price": 2}
        await self.world.owner("PUT", "/prices", json={"items": [price]})
        return "small/model"

    async def _budget_id(self) -> str:
        """What the owner may use of everything that they own."""
        made = await self.world.owner("PUT", "/budgets", json={"period": "day", "tokens": 1_000_000})
        return str(made["id"])

    async def _reset_code(self) -> str:
        """A code that sets somebody's password."""
        administrator = await self.world.new_client("administrator")
        path = await self.filled(f"{API_PREFIX}/users/{{user_id}}/password_reset")
        return str((await administrator.post(path)).json()["code"])

    async def _suggestions_id(self) -> str:
        path = await self.filled("/conversations/{conversation_id}/candidates")
        return str((await self._post(path, json={"count": 1}))["id"])

    async def _session_id(self) -> str:
        token = await self.world.installation.token(self.world.viewers["owner"])
        listed = (await self.world.installation.browser(token).get(f"{API_PREFIX}/sessions")).json()["items"]
        return str(next(session["id"] for session in listed if session["is_current"]))

    async def _key_id(self) -> str:
        return str((await self._post("/api_keys", json={"name": "script"}))["id"])

    async def _invitation_id(self) -> str:
        return str((await self._invitation())["id"])

    async def _code(self) -> str:
        return str((await self._invitation())["code"])

    async def _invitation(self) -> Any:
        administrator = await self.world.new_client("administrator")
        return (await administrator.post(f"{API_PREFIX}/invitations", json={})).json()

    async def _provider_id(self) -> str:
        """A provider at an address where nobody answers."""
        body = {"name": f"{uuid4()}", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "none"}
        administrator = await self.world.new_client("administrator")
        return str((await administrator.post(f"{API_PREFIX}/providers", json=body)).json()["id"])

    async def _user_id(self) -> str:
        return str((await self.world.installation.add(f"Hugo {uuid4()}")).user_id)

    async def _fresh(self) -> str:
        return str(uuid4())

    async def _round_id(self) -> str:
        """A round that waits for a person."""
        path = await self.filled("/conversations/{conversation_id}/round")
        body = {"round_id": None, "member_ids": [await self.get("member_id")]}
        begun = await self.world.owner("PUT", path, json=body)
        await self.world.owner("POST", f"{path}/pause")
        return str(begun["round"]["id"])

    async def _run_id(self) -> str:
        """A reply that was cut short."""
        runtime = self.world.installation.runtime
        run = Run(
            id=runtime.ids(),
            conversation_id=UUID(await self.get("conversation_id")),
            speaker_membership_id=UUID(await self.get("member_id")),
            kind="user_turn",
            reason="user_message",
            status="failed",
            text="Well, I",
            run_after=runtime.clock(),
            created_at=runtime.clock(),
        )
        async with runtime.database.write() as session:
            session.add(run)
            await session.flush()
            prompt = build_prompt(await load_inputs(session, run.id, runtime.clock()))
            await keep_prompt(session, run.id, record_of(prompt).with_inputs(prompt, runtime.keys), runtime.clock())
        return str(run.id)


@asynccontextmanager
async def open_world(url: str, folder: Path) -> AsyncIterator[World]:
    """The people with their sessions and a key, and the owner's discussion. Nobody here is at their own machine.

    Time passes by a microsecond at a look, so that no request finds that it is time to note when a session or key was
    last used.
    """
    async with open_installation(url, folder) as installation:
        now, looks = installation.runtime.clock(), count()
        installation.runtime.clock = lambda: now + timedelta(microseconds=next(looks))
        viewers: dict[Person, Viewer] = {"administrator": await installation.owner_with_password()}
        with_account: tuple[Person, ...] = ("owner", "moderator", "member", "other")
        for person in with_account:
            viewers[person] = await installation.add(person.capitalize())
        world = World(installation, viewers)
        world.key = (await world.owner("POST", "/api_keys", json={"name": "script"}))["key"]
        world.space_id = await world.new_space()
        yield world
