"""ZIP archives that are sent while they are written, so that nobody has to hold them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo


class _Written:
    """What was written and not yet sent. It cannot be rewound, which tells `zipfile` to write sizes behind the data."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def flush(self) -> None:
        """Everything is there already."""

    def take(self) -> bytes:
        taken = bytes(self._data)
        self._data.clear()
        return taken


async def zipped(files: AsyncIterator[tuple[str, AsyncIterator[bytes]]], now: datetime) -> AsyncIterator[bytes]:
    """An archive of files, each with its name and its pieces."""
    written = _Written()
    archive = ZipFile(written, "w", ZIP_DEFLATED)  # type: ignore[call-overload]  # any object that takes bytes will do
    async for name, pieces in files:
        entry = ZipInfo(name, (now.year, now.month, now.day, now.hour, now.minute, now.second))
        entry.compress_type = ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        with archive.open(entry, "w") as target:
            async for piece in pieces:
                await asyncio.to_thread(target.write, piece)
                if data := written.take():
                    yield data
    archive.close()
    yield written.take()
