"""Work that takes the processor, beside the event loop: however long a template takes, everything else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

# Few, and no others' threads: a profile with very many costly steps keeps other steps waiting and nobody else.
_workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="steps")


async def in_thread(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """What the work comes to. Who is cancelled while waiting for it leaves it to end by itself, as its limits say."""
    return await asyncio.get_running_loop().run_in_executor(_workers, work, *arguments)
