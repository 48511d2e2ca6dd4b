"""When everything was deleted and the period has passed, a sweep leaves accounts and settings, and nothing else."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import TABLES, Job, PromptSnapshot
from tavernkit.playground.base.llm.base import TextDelta
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.story.paths.state import set_beginning
from tavernkit.playground.story.prompting.replies import StoredReply
from tavernkit.playground.story.prompting.streams_kept import keep_stream, stream_record
from tavernkit.playground.story.retention import RetentionPeriods
from tavernkit.playground.story.sweeping.service import UNSENT_FOR, sweep
from tests.playground.api.world import Things, World, a_file, open_world
from tests.playground.characters.builders import picture
from tests.playground.support.jobs import running_job_worker
from tests.playground.support.prompts import make_older
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

STAY = {
    "users", "user_sessions", "invitations", "api_keys", "known_browsers", "sign_in_tries",
    "password_resets", "llm_providers", "site_settings", "model_prices", "own_model_prices", "usage_entries",
    "alembic_version",
}  # fmt: skip
"""The tables of accounts, with how much each has used, and of settings.

All others are empty in the end: a new table must be swept, or named here."""

MADE_BY_NAME = (
    "conversation_id", "message_id", "picture_id", "swipe_id", "name", "key", "injection", "global_name",
    "character_id", "number", "asset_id", "holder_id", "lorebook_id", "entry_id", "link_id", "preset_id",
    "imported_id", "profile_id", "pipeline_run_id", "tag", "persona_id", "connection_id", "set_id", "job_id",
    "import_id", "suggestions_id", "embedded_book_id", "round_id", "run_id",
    "share_id", "shared_link_id", "space_invitation_id",
)  # fmt: skip

LISTS = (
    "/spaces", "/spaces?status=archived", "/characters", "/lorebooks", "/presets", "/personas", "/quick_replies",
    "/pipeline_profiles", "/imports",
)  # fmt: skip


async def filled_tables(runtime: Runtime) -> set[str]:
    async with runtime.database.read() as session:
        counts = {name: await session.scalar(select(func.count()).select_from(table)) for name, table in TABLES.items()}
    return {name for name, count in counts.items() if count}


async def jobs_are_over(runtime: Runtime) -> bool:
    async with runtime.database.read() as session:
        return await session.scalar(select(Job.id).where(Job.status.in_(("queued", "running"))).limit(1)) is None


async def import_a_folder(world: World) -> None:
    made = await world.owner("POST", "/imports", json={"name": "default-user"})
    book = {"entries": {"0": {"uid": 0, "key": ["sea"], "content": "The sea is cold."}}}
    for path, content in (("worlds/Sea.json", json.dumps(book)), ("themes/Dark.json", '{"name": "Dark"}')):
        await world.owner("PUT", f"/imports/{made['id']}/files?path={path}", content=content.encode())
    await world.owner("POST", f"/imports/{made['id']}/scan")
    await eventually(lambda: jobs_are_over(world.installation.runtime))
    await world.owner("POST", f"/imports/{made['id']}/start", json={})
    await eventually(lambda: jobs_are_over(world.installation.runtime))


async def fill(world: World) -> None:
    """Rows in every table, made by a person who does everything once."""
    things, runtime = Things(world), world.installation.runtime
    async with running_job_worker(runtime):
        for name in MADE_BY_NAME:
            await things.get(name)
            await eventually(lambda: jobs_are_over(runtime))
        await import_a_folder(world)
    space_id, conversation_id = await things.get("space_id"), await things.get("conversation_id")
    client = await world.client("owner")
    await world.owner("PUT", await things.filled("/quick_replies/{set_id}/places"), json={"space_id": space_id})
    await world.owner("POST", f"/scripts/space/{space_id}", json={"data": {"scriptName": "Tidy"}})
    await client.post(f"/spaces/{space_id}/background", files=a_file(picture(), "sea.png"))
    sent = {"content": "Look.", "role": "system", "pictures": [{"id": await things.get("picture_id")}]}
    await world.owner("POST", f"/conversations/{conversation_id}/messages", json=sent)
    await world.owner("POST", f"/conversations/{conversation_id}/artifacts/reset", json={"tags": ["mood"]})
    await world.owner("PUT", f"/spaces/{space_id}/pin")
    await world.owner("PUT", f"/spaces/{space_id}/tags", json={"tags": ["noir"]})
    await world.owner("PUT", f"/conversations/{conversation_id}/read_position", json={"seq": 1})
    for place in ({"space_id": space_id}, {"conversation_id": conversation_id}):
        await world.owner("PUT", "/budgets", json={**place, "period": "day", "tokens": 10_000_000})
    async with runtime.database.write() as session:
        await set_beginning(session, UUID(conversation_id), {"variables.gold": 1})
        first = (await session.scalars(select(PromptSnapshot.run_id).order_by(PromptSnapshot.run_id).limit(1))).one()
        stream = stream_record([TextDelta(text="Well, I")], StoredReply(text="Well, I"))
        await keep_stream(session, first, stream, runtime.clock())
    await make_older(runtime, first)


async def delete_all(client: httpx2.AsyncClient) -> None:
    async def ask(method: str, path: str, **body: Any) -> Any:
        answer = await client.request(method, API_PREFIX + path, **body)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    for path in LISTS:
        for item in (await ask("GET", path))["items"]:
            if path == "/spaces" or item.get("owner_id", "mine") is not None:
                await ask("DELETE", f"{path.partition('?')[0]}/{item.get('id') or item['space']['id']}")
    for name in (await ask("GET", "/variables"))["variables"]:
        await ask("DELETE", f"/variables/{name}")


async def test_after_everything_was_deleted_a_sweep_leaves_accounts_and_settings(
    database_url: str, tmp_path: Path
) -> None:
    async with open_world(database_url, tmp_path) as world:
        runtime = world.installation.runtime
        await fill(world)
        missing = set(TABLES) - STAY - await filled_tables(runtime)
        assert not missing, f"This test puts nothing into {missing}."
        for person in ("key", "administrator"):
            await delete_all(await world.client(person))
        later = runtime.clock() + max(timedelta(days=RetentionPeriods().trash_days), UNSENT_FOR) + timedelta(days=1)
        runtime.clock = lambda: later
        removed = await sweep(runtime, asyncio.Event())
        assert await filled_tables(runtime) <= STAY, removed
        uploads = runtime.settings.imports_dir
        assert [file for file in uploads.rglob("*") if file.is_file()] == []
        assert removed["spaces"] == 2


async def test_what_is_in_the_trash_stays_whole_until_the_period_is_over(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        runtime, client = world.installation.runtime, await world.client("key")
        await fill(world)
        before = await rows(runtime)
        await delete_all(client)
        trash = (await client.get(f"{API_PREFIX}/trash?limit=200")).json()["items"]
        await sweep(runtime, asyncio.Event())
        for item in trash:
            answer = await client.post(f"{API_PREFIX}/trash/{item['kind']}/{item['id']}/restore")
            assert answer.status_code == 204, answer.text
        after = await rows(runtime)
        for table in ("spaces", "conversations", "messages", "message_swipes", "text_contents", "characters"):
            assert before[table] == after[table], table
        for table in ("personas", "persona_connections", "quick_reply_sets", "quick_reply_links", "pipeline_profiles"):
            assert before[table] == after[table], table
        for table in ("lorebooks", "lorebook_entries", "presets", "character_assets", "prompt_snapshots", "blobs"):
            assert before[table] == after[table], table
        assert (await client.get(f"{API_PREFIX}/trash")).json()["items"] == []


async def rows(runtime: Runtime) -> dict[str, int]:
    async with runtime.database.read() as session:
        return {
            name: await session.scalar(select(func.count()).select_from(table)) or 0 for name, table in TABLES.items()
        }
