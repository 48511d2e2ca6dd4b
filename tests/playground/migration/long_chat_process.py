"""Imports one chat that is made while it is read, and prints how many messages it has and how much memory it took."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.playground.migration.folder_chats import Folder, imported_story
from tests.playground.migration.test_long_chats import PATH, Endless, LongImport, long_lines


class EndlessFolder(Folder):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.data[PATH] = b""
        self._size = size

    def open(self, path: str) -> Any:
        return Endless(long_lines(self._size))


def peak() -> int:
    """The most memory that this program has had, in bytes; not what the one that has started it had."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


async def main(url: str, folder: Path, size: int) -> None:
    async with imported_story(url, folder) as story:
        story.folder = story.job.source = EndlessFolder(size)
        outcome = await LongImport(story).run()
        conversation = await story.conversation_of(outcome)
        print(json.dumps({"messages": conversation.messages_count, "peak": peak()}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
