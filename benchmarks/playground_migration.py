"""Importing a folder of characters and chats, beside a bare loop that parses the same JSON and inserts the same rows.

`TAVERNKIT_MOVED=5000,20000` imports so many characters and chats. The most memory that the process has used is printed.
"""

import asyncio
import base64
import hashlib
import io
import json
import os
import resource
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

from PIL import Image
from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.users import ensure_owner
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    Conversation,
    ImportedFile,
    ImportSource,
    KeptFile,
    KeptPiece,
    Message,
    MessageSwipe,
    Space,
    SpaceMembership,
    TextContent,
    User,
)
from tavernkit.playground.base.jobs.service import claim_job, finish_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.background import HANDLERS
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.service import import_from_path, start_import

CHARACTERS, CHATS = map(int, os.environ.get("TAVERNKIT_MOVED", "50,200").split(","))
MESSAGES = 200
ROUNDS = 3 if CHATS < 1000 else 1
AT_ONCE = 8
"""So many chats the bare loop inserts in one transaction."""
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
LINE = (
    "Line {}" + ' of a story that has been going on for a long time, with *fog over the harbour* and "words" in it.' * 3
)
SIZE = (400, 600)
SMALL = (192, 288)


def write_folder(folder: Path) -> Path:
    """A folder of SillyTavern with characters and their chats."""
    (folder / "characters").mkdir()
    image = io.BytesIO()
    Image.radial_gradient("L").resize(SIZE).convert("RGB").save(image, "PNG")
    picture = image.getvalue()
    for number in range(CHARACTERS):
        (folder / f"characters/{name_of(number)}.png").write_bytes(picture[:-12] + card(number) + picture[-12:])
        (folder / f"chats/{name_of(number)}").mkdir(parents=True)
    for number in range(CHATS):
        name = name_of(number % CHARACTERS)
        (folder / f"chats/{name}/{name} - {number:06}.jsonl").write_bytes(chat(name, number))
    return folder


def name_of(number: int) -> str:
    return f"Character {number:05}"


def card(number: int) -> bytes:
    """The chunk of a picture that has a card."""
    data = {"name": name_of(number), "description": LINE.format(number) * 10, "first_mes": "Hello.", "tags": ["a", "b"]}
    text = base64.b64encode(json.dumps({"spec": "chara_card_v3", "spec_version": "3.0", "data": data}).encode())
    content = b"tEXtccv3\x00" + text
    return (len(content) - 4).to_bytes(4) + content + zlib.crc32(content).to_bytes(4)


def chat(name: str, number: int) -> bytes:
    lines: list[dict[str, Any]] = [{"user_name": "unused", "character_name": "unused", "chat_metadata": {}}]
    for place in range(MESSAGES):
        text, date = LINE.format(f"{number}.{place}"), f"2024-01-01T{place // 60:02}:{place % 60:02}:00.000Z"
        is_user = place % 2 == 1
        line: dict[str, Any] = {
            "name": "Sam" if is_user else name,
            "is_user": is_user,
            "is_system": False,
            "send_date": date,
            "mes": text,
            "extra": {"api": "openai", "model": "a-model", "token_count": 80},
        }
        if place % 4 == 2:
            line |= {"swipe_id": 0, "swipes": [text, f"Or: {text}"], "swipe_info": [{"send_date": date}] * 2}
        lines.append(line)
    return b"\n".join(json.dumps(line).encode() for line in lines)


class Movers:
    """A folder, and databases that it is imported into."""

    def __init__(self, place: str) -> None:
        self._place = Path(place)

    @cached_property
    def _folder(self) -> Path:
        folder = self._place / "folder"
        folder.mkdir()
        return write_folder(folder)

    def scan(self) -> float:
        return asyncio.run(self._on_new_database(self._scan))

    def read(self) -> float:
        """Walk through the folder and hash every file."""
        folder = self._folder
        began = perf_counter()
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("chats/*/*")):
            for line in path.read_bytes().splitlines():
                json.loads(line)
        return perf_counter() - began

    def move(self) -> float:
        seconds = asyncio.run(self._on_new_database(self._import))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        files = (CHARACTERS + CHATS) / seconds
        print(f"{files:.0f} files a second; most memory so far: {peak} MB", file=sys.stderr)
        return seconds

    def insert(self) -> float:
        return asyncio.run(self._on_new_database(self._insert))

    async def _on_new_database(self, measure: Callable[[Runtime, User], Any]) -> float:
        with tempfile.TemporaryDirectory(dir=self._place) as folder:
            async with open_runtime(AppConfig(data_dir=Path(folder), database_url="")) as runtime:
                seconds: float = await measure(runtime, await ensure_owner(runtime, "Somebody"))
                return seconds

    async def _scan(self, runtime: Runtime, owner: User) -> float:
        await import_from_path(runtime, Viewer(user_id=owner.id), self._folder)
        return await do_job(runtime)

    async def _import(self, runtime: Runtime, owner: User) -> float:
        viewer = Viewer(user_id=owner.id)
        row = await import_from_path(runtime, viewer, self._folder)
        await do_job(runtime)
        await start_import(runtime, viewer, row.id, ImportChoices())
        return await do_job(runtime)

    async def _insert(self, runtime: Runtime, owner: User) -> float:
        cards, chats = (iter(sorted(self._folder.glob(pattern))) for pattern in ("characters/*", "chats/*/*"))
        began = perf_counter()
        source_id = uuid4()
        async with runtime.database.write() as session:
            session.add(
                ImportSource(
                    id=source_id,
                    owner_id=owner.id,
                    application="sillytavern",
                    name="",
                    created_at=BEGAN,
                    updated_at=BEGAN,
                )
            )
        loop = BareLoop(runtime, owner, source_id)
        while paths := list(islice(cards, AT_ONCE)):
            await loop.insert_cards(paths)
        while paths := list(islice(chats, AT_ONCE)):
            await loop.insert_chats(paths)
        return perf_counter() - began


async def do_job(runtime: Runtime) -> float:
    """Do the job that waits, as a worker does; the seconds that it took."""
    claim = await claim_job(runtime, "benchmark", HANDLERS.keys())
    if claim is None:
        raise RuntimeError("there is nothing to do")
    began = perf_counter()
    result = await HANDLERS[claim.kind](JobWork(runtime, claim))
    seconds = perf_counter() - began
    await finish_job(runtime, claim, result)
    if result.get("verdicts", {}).get("refused"):
        raise RuntimeError("files were refused")
    return seconds


class BareLoop:
    """Reads files and inserts rows, and does nothing else."""

    def __init__(self, runtime: Runtime, owner: User, source_id: UUID) -> None:
        self._runtime = runtime
        self._owner = owner
        self._source_id = source_id
        self._homes: dict[str, tuple[UUID, UUID, UUID]] = {}

    async def insert_cards(self, paths: list[Path]) -> None:
        rows: dict[type, list[dict[str, Any]]] = {Blob: [], Character: []}
        for path in paths:
            data = path.read_bytes()
            start = data.index(b"tEXtccv3\x00")
            length = int.from_bytes(data[start - 4 : start])
            document = json.loads(base64.b64decode(data[start + 9 : start + 4 + length]))
            small = io.BytesIO()
            Image.open(io.BytesIO(data)).convert("RGB").resize(SMALL).save(small, "WEBP")
            pictures = []
            for content in (data[: start - 4] + data[-12:] + path.name.encode(), small.getvalue() + path.name.encode()):
                sha256 = hashlib.sha256(content).hexdigest()
                pictures.append(sha256)
                row = {"sha256": sha256, "media_type": "image/png", "size": len(content), "data": content}
                rows[Blob].append({**row, "created_at": BEGAN})
            character = {"id": uuid4(), "owner_id": self._owner.id, "name": document["data"]["name"], "data": document}
            shown = {"avatar_sha256": pictures[0], "thumbnail_sha256": pictures[1]}
            rows[Character].append({**character, **shown, "created_at": BEGAN, "updated_at": BEGAN})
            self._keep(rows, path, data)
        await self._write(rows)

    async def insert_chats(self, paths: list[Path]) -> None:
        rows: dict[type, list[dict[str, Any]]] = {
            model: [] for model in (Space, SpaceMembership, Conversation, TextContent, Message, MessageSwipe)
        }
        for path in paths:
            data = path.read_bytes()
            lines = [json.loads(line) for line in data.splitlines()]
            space_id, *members = self._home(rows, path.parent.name)
            conversation_id = uuid4()
            dated = {"created_at": BEGAN, "updated_at": BEGAN}
            rows[Conversation].append({"id": conversation_id, "space_id": space_id, "title": path.stem, **dated})
            for seq, line in enumerate(lines[1:], start=1):
                swipes = line.get("swipes") or [line["mes"]]
                texts = [uuid4() for _ in swipes]
                ids = [uuid4() for _ in swipes]
                message_id, metadata = uuid4(), {key: line[key] for key in ("name", "send_date", "extra")}
                rows[TextContent] += [{"id": id, "content": text} for id, text in zip(texts, swipes, strict=True)]
                rows[Message].append(
                    {"id": message_id, "conversation_id": conversation_id, "membership_id": members[line["is_user"]],
                     "seq": seq, "role": "user" if line["is_user"] else "assistant", "text_id": texts[0],
                     "active_swipe_id": ids[0], "swipes_count": len(ids), "metadata_": metadata, "created_at": BEGAN}
                )  # fmt: skip
                rows[MessageSwipe] += [
                    {"id": id, "message_id": message_id, "position": position, "text_id": text_id,
                     "metadata_": metadata, "created_at": BEGAN}
                    for position, (id, text_id) in enumerate(zip(ids, texts, strict=True))
                ]  # fmt: skip
            self._keep(rows, path, data)
        await self._write(rows)

    def _home(self, rows: dict[type, list[dict[str, Any]]], name: str) -> tuple[UUID, UUID, UUID]:
        if name not in self._homes:
            home = self._homes[name] = (uuid4(), uuid4(), uuid4())
            space = {"id": home[0], "owner_id": self._owner.id, "name": name}
            rows[Space].append({**space, "created_at": BEGAN, "updated_at": BEGAN})
            for id, kind in zip(home[1:], ("character", "human"), strict=True):
                member = {"id": id, "space_id": home[0], "kind": kind, "cached_display_name": name, "status": "removed"}
                user_id = self._owner.id if kind == "human" else None
                rows[SpaceMembership].append({**member, "user_id": user_id, "created_at": BEGAN})
        return self._homes[name]

    def _keep(self, rows: dict[type, list[dict[str, Any]]], path: Path, data: bytes) -> None:
        sha256 = hashlib.sha256(data).hexdigest()
        rows.setdefault(KeptFile, []).append({"sha256": sha256, "size": len(data), "created_at": BEGAN})
        piece = {"sha256": sha256, "position": 0, "compressed": True, "data": zlib.compress(data, 1)}
        rows.setdefault(KeptPiece, []).append(piece)
        rows.setdefault(ImportedFile, []).append(
            {"source_id": self._source_id, "path": str(path), "kind": "chat", "size": len(data), "sha256": sha256,
             "kept_sha256": sha256}
        )  # fmt: skip

    async def _write(self, rows: dict[type, list[dict[str, Any]]]) -> None:
        async with self._runtime.database.write() as session:
            for model, values in rows.items():
                await insert_all(session, model, values)


async def insert_all(session: AsyncSession, model: type, values: list[dict[str, Any]]) -> None:
    if values:
        await session.execute(insert(model), values)


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as place:
        movers = Movers(place)
        yield Benchmark(
            name=f"scan {CHARACTERS:,} characters and {CHATS:,} chats of {MESSAGES} messages",
            ours=movers.scan,
            baseline=movers.read,
            note="reading and hashing the same files, and parsing the lines of the chats",
            rounds=ROUNDS,
            times_itself=True,
        )
        yield Benchmark(
            name=f"import {CHARACTERS:,} characters and {CHATS:,} chats of {MESSAGES} messages",
            ours=movers.move,
            baseline=movers.insert,
            note="parsing the same JSON and inserting as many rows",
            rounds=ROUNDS,
            times_itself=True,
        )
