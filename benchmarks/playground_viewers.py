"""Many readers of one conversation: a reply reaches all of them, word by word, beside one reader alone.

`BENCH_VIEWERS` and `BENCH_WORDS` in the environment change the sizes.
"""

import asyncio
import json
import os
import re
import resource
import tempfile
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cached_property, partial
from uuid import uuid4

import httpx2

from tavernkit.benchmarks import Benchmark, started

VIEWERS = int(os.environ.get("BENCH_VIEWERS", "1000"))
WORDS = int(os.environ.get("BENCH_WORDS", "200"))
WORD_SECONDS = 0.02
ARRIVING_AT_ONCE = 50
PATIENCE_SECONDS = 120
WHOLE = " ".join(f"word{number}" for number in range(1, WORDS + 1))


class Viewer:
    """One connection to the events of a conversation."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._heard = bytearray()

    @classmethod
    async def arrive(cls, address: str, conversation_id: str) -> "Viewer":
        host, port = address.removeprefix("http://").split(":")
        viewer = cls(*await asyncio.open_connection(host, int(port)))
        request = f"GET /events?watch={conversation_id} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
        viewer._writer.write(request.encode())
        await viewer.listen(b"event: hello")
        return viewer

    async def listen(self, mark: bytes) -> float:
        """Listen until something has been said; when that was."""
        start = 0
        while self._heard.find(mark, start) < 0:
            start = max(0, len(self._heard) - len(mark))
            piece = await self._reader.read(1 << 16)
            if not piece:
                raise RuntimeError("the stream ended early")
            self._heard += piece
        return time.perf_counter()

    def text(self) -> str:
        """The reply as it was heard, word by word; what is missing or double or in the wrong place is an error."""
        text = ""
        for data in re.findall(rb"event: text\nid: .*\ndata: (.*)\n", self._heard):
            piece = json.loads(data)
            if piece["offset"] != len(text):
                raise RuntimeError(f"heard {piece} behind {len(text)} characters")
            text += piece["text"]
        return text

    def leave(self) -> None:
        self._writer.transport.abort()


class Stage:
    """A real server on an SQLite file, and a provider that takes its time; there when somebody first asks."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def close(self) -> None:
        self._opened.close()

    def perform(self, viewers: int) -> float:
        """From the moment that the message is sent until the last reader has the whole reply."""
        return asyncio.run(self._perform(self._address, viewers))

    async def _perform(self, address: str, count: int) -> float:
        async with httpx2.AsyncClient(
            base_url=address, headers={"Origin": address}, timeout=PATIENCE_SECONDS, trust_env=False
        ) as client:
            characters = (await client.get("/api/v1/characters")).raise_for_status().json()["items"]
            opened = await client.post("/api/v1/spaces", json={"character_ids": [characters[0]["id"]]})
            conversation_id = opened.raise_for_status().json()["conversation"]["id"]
            door = asyncio.Semaphore(ARRIVING_AT_ONCE)

            async def arrive() -> Viewer:
                async with door:
                    return await Viewer.arrive(address, conversation_id)

            async with asyncio.timeout(PATIENCE_SECONDS):
                viewers = await asyncio.gather(*(arrive() for _ in range(count)))
                try:
                    # Only in the message that is stored at the end do words stand side by side.
                    mark = WHOLE[-20:].encode()
                    listening = [asyncio.ensure_future(viewer.listen(mark)) for viewer in viewers]
                    began = time.perf_counter()
                    form = {"id": str(uuid4()), "content": f"[[slow: {WORDS}]]"}
                    await client.post(f"/conversations/{conversation_id}/messages", data=form)
                    ended = max(await asyncio.gather(*listening))
                finally:
                    for viewer in viewers:
                        viewer.leave()
        if any(viewer.text() != WHOLE for viewer in viewers):
            raise RuntimeError("a reader did not hear everything")
        return ended - began

    @cached_property
    def _address(self) -> str:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        provider = started("scripted-provider", "--port", "0", "--delay", str(WORD_SECONDS))
        settings = {
            "TAVERNKIT_DATA_DIR": folder,
            "TAVERNKIT_DATABASE_URL": "",
            "TAVERNKIT_OPENAI_BASE_URL": f"{self._opened.enter_context(provider)}/v1",
            "TAVERNKIT_OPENAI_MODEL": "scripted",
        }
        return self._opened.enter_context(started("serve", "--port", "0", **settings))


def benchmarks() -> Iterator[Benchmark]:
    with closing(Stage()) as stage:
        yield Benchmark(
            name=f"a reply of {WORDS} words to {VIEWERS:,} readers",
            ours=partial(stage.perform, VIEWERS),
            baseline=partial(stage.perform, 1),
            note="the same with one reader",
            rounds=3,
            times_itself=True,
        )
