"""Somebody who imports whole folders, and what has to be there once that is done."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import (
    Conversation,
    FolderImport,
    ImportedFile,
    ImportItem,
    Lorebook,
    Message,
    QuickReplySet,
    Space,
    User,
)
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.migration.service import import_from_path, start_import

__all__ = ["Moved", "Mover", "write_source"]

T = TypeVar("T")

LONG = 60
"""So many messages make a chat so long that it is not read as a whole, see `programs.py`."""


class Moved(NamedTuple):
    """A folder, its import, and the job that is at work on it."""

    name: str
    folder: Path
    import_id: UUID
    job: UUID | None


def write_source(folder: Path, name: str) -> Path:
    """A folder in which everything is called after `name`, so that no other folder has the same."""
    files: dict[str, Any] = {
        "settings.json": {"power_user": {"personas": {}}, "marker": name},
        f"themes/{name}.json": {"name": name},
        f"QuickReplies/{name}.json": {
            "version": 2,
            "name": name,
            "qrList": [{"id": 1, "label": name, "message": name}],
        },
        f"chats/{name}/{name} one.jsonl": _chat(name, 3),
        f"chats/{name}/{name} two.jsonl": _chat(name, 2, "Another end.", main_chat=f"{name} one"),
        f"chats/{name}/{name} long.jsonl": _chat(f"{name} long", LONG),
        **{f"worlds/{name} {number}.json": _world(f"{name} {number}") for number in range(3)},
    }
    for path, content in files.items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / name


def _world(name: str) -> dict[str, Any]:
    return {"name": name, "entries": {"0": {"uid": 0, "key": [name], "content": f"About {name}."}}}


def _chat(name: str, count: int, *more: str, main_chat: str | None = None) -> str:
    texts = [*(f"{name}, {number}: {'and so on ' * 5}" for number in range(count)), *more]
    header = {"user_name": "unused", "character_name": "unused", "chat_metadata": {"main_chat": main_chat}}
    messages = [
        {"name": name, "is_user": False, "mes": text, "send_date": f"2024-01-01T{n // 60:02}:{n % 60:02}:00.000Z"}
        for n, text in enumerate(texts)
    ]
    return "\n".join(json.dumps(line) for line in (header, *messages))


class Mover:
    """A person on the machine of the database, who imports folders by their paths."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._settings = AppConfig(data_dir=folder, database_url=database_url)
        self._folder = folder

    def begin(self, name: str) -> Moved:
        """Have a new folder scanned."""
        place = write_source(self._folder, name)
        row = self._do(lambda runtime, viewer: import_from_path(runtime, viewer, place))
        return Moved(name, place, row.id, row.job_id)

    def start(self, moved: Moved) -> Moved:
        """Import what was scanned."""
        row = self._do(lambda runtime, viewer: start_import(runtime, viewer, moved.import_id, ImportChoices()))
        return moved._replace(job=row.job_id)

    def scanned(self, moved: Moved) -> list[str]:
        """What a scan has found, without the name of the folder; an import reads nothing else."""
        return self._read(lambda session: _scanned(session, moved))

    def problems(self, moved: Moved) -> list[str]:
        """What is missing, doubled or different, in sentences."""
        return self._read(lambda session: _problems(session, moved))

    def _do(self, action: Callable[[Runtime, Viewer], Awaitable[T]]) -> T:
        async def run() -> T:
            async with open_runtime(self._settings) as runtime:
                async with runtime.database.read() as session:
                    owner = (await session.scalars(select(User.id).order_by(User.created_at).limit(1))).one()
                return await action(runtime, Viewer(user_id=owner))

        return asyncio.run(run())

    def _read(self, question: Callable[[AsyncSession], Awaitable[T]]) -> T:
        async def ask(runtime: Runtime, _viewer: Viewer) -> T:
            async with runtime.database.read() as session:
                return await question(session)

        return self._do(ask)


async def _scanned(session: AsyncSession, moved: Moved) -> list[str]:
    query = select(ImportItem).where(ImportItem.import_id == moved.import_id).order_by(ImportItem.position)
    items = await session.scalars(query)
    row = await session.get_one(FolderImport, moved.import_id)
    found = [(item.position, item.path, item.kind, item.state, item.rank, item.plan, item.verdict) for item in items]
    return [repr(line).replace(moved.name, "") for line in (row.status, row.summary["scanned"], *found)]


async def _problems(session: AsyncSession, moved: Moved) -> list[str]:
    name, found = moved.name, list[str]()
    files = {
        path.relative_to(moved.folder).as_posix(): path.read_bytes()
        for path in moved.folder.rglob("*")
        if path.is_file()
    }
    items = (await session.scalars(select(ImportItem).where(ImportItem.import_id == moved.import_id))).all()
    row = await session.get_one(FolderImport, moved.import_id)
    if sorted(item.path for item in items) != sorted(files):
        found.append(f"the report has the files {sorted(item.path for item in items)}")
    if {item.verdict for item in items} - {"exact", "converted", "kept"}:
        found.append(f"verdicts: {[(item.path, item.verdict, item.notes) for item in items]}")
    if row.summary["verdicts"] != Counter(item.verdict for item in items):
        found.append(f"counted were {row.summary['verdicts']}")
    kept = await session.scalars(select(ImportedFile).where(ImportedFile.source_id == row.source_id))
    written = {file.path: await kept_bytes(session, file.kept_sha256) for file in kept if file.kept_sha256 is not None}
    if written != files:
        found.append(
            f"kept are the bytes of {[path for path in files if written.get(path) != files[path]]} not as they are"
        )
    for what, expected, there in (
        ("lorebooks", [f"{name} {number}" for number in range(3)], select(Lorebook.name)),
        ("quick replies", [name], select(QuickReplySet.name)),
    ):
        names = sorted(one for one in await session.scalars(there) if one.startswith(name))
        if names != expected:
            found.append(f"{what} should be {expected} and are {names}")
    return [*found, *await _chat_problems(session, name)]


async def _chat_problems(session: AsyncSession, name: str) -> list[str]:
    conversations = (
        await session.scalars(
            select(Conversation)
            .join(Space, Space.id == Conversation.space_id)
            .where(Conversation.title.startswith(name), Space.status == "active")
        )
    ).all()
    expected: Mapping[str, int] = {f"{name} one": 3, f"{name} two": 3, f"{name} long": LONG}
    lengths = Counter({conversation.title: conversation.messages_count for conversation in conversations})
    if len(conversations) != len(expected) or lengths != expected:
        return [f"chats should be {expected} and are {[(one.title, one.messages_count) for one in conversations]}"]
    found: list[str] = []
    for conversation in conversations:
        seqs = await session.scalars(select(Message.seq).where(Message.conversation_id == conversation.id))
        if sorted(seqs) != list(range(1, expected[conversation.title] + 1)):
            found.append(f"{conversation.title} has messages that are missing or doubled")
    ids = {conversation.title: conversation.id for conversation in conversations}
    (branch,) = (one for one in conversations if one.title == f"{name} two")
    if branch.parent_conversation_id != ids[f"{name} one"]:
        found.append(f"{name} two is no branch of {name} one")
    return found
