"""A process that sweeps until it is killed: `python -m tests.playground.sweeping_process URL FOLDER`."""

import asyncio
import sys
from pathlib import Path

from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.story.sweeping.service import sweep


async def main(url: str, folder: Path) -> None:
    async with open_runtime(AppConfig(data_dir=folder, database_url=url)) as runtime:
        while True:
            await sweep(runtime, asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
