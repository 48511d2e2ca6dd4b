"""Imports a short chat and a long one, which are made while they are read, and prints how many messages the long one
has and how much memory each took."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.playground.migration.folder_chats import Folder, imported_story
from tests.playground.migration.test_long_chats import PATH, Endless, LongImport, long_lines

SHORT, SHORT_BYTES = "chats/Mira/short.jsonl", 2 * 1024 * 1024


class EndlessFolder(Folder):
    def __init__(self, size: int) -> None:
        super().__init__()
        self._sizes = {SHORT: SHORT_BYTES, PATH: size}
        self.data |= dict.fromkeys(self._sizes, b"")

    def open(self, path: str) -> Any:
        return Endless(long_lines(self._sizes[path]))


def peak() -> int:
    """The most memory that this program has had, in bytes; not what the one that has started it had."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


async def main(url: str, folder: Path, size: int) -> None:
    async with imported_story(url, folder) as story:
        story.folder = story.job.source = EndlessFolder(size)
        await LongImport(story).run(SHORT)
        before = peak()
        conversation = await story.conversation_of(await LongImport(story).run())
        print(json.dumps({"messages": conversation.messages_count, "before": before, "peak": peak()}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
