"""Bytes of imported files are kept once, in pieces, as long as something refers to them."""

import hashlib
import zlib
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select

from tavernkit.playground.base.database.models import ImportedFile, KeptFile, KeptPiece
from tavernkit.playground.story.migration.kept import PIECE_BYTES, KeptBytes, hold, keep, kept_bytes, write_pieces
from tavernkit.playground.story.sweeping import KEPT_FOR
from tests.playground.migration.support import count, imported, migrating_story, swept, world, write_folder
from tests.playground.stories import open_story

pytestmark = pytest.mark.anyio

FILES = {"worlds/A.json": world("A"), "themes/One.json": b"same", "themes/Two.json": b"same"}


async def test_unused_bytes_are_removed_after_a_day_and_others_stay(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", FILES)
    async with migrating_story(database_url, tmp_path) as story:
        await imported(story, folder)
        assert await count(story, KeptFile) == 2
        left = KeptBytes.of(b"left behind by somebody who was killed")
        async with story.runtime.database.write() as session:
            await keep(session, left, story.runtime.clock(), is_known=False)
            await session.execute(
                delete(ImportedFile).where(ImportedFile.path.in_(["worlds/A.json", "themes/One.json"]))
            )
        await swept(story)
        assert await count(story, KeptFile) == 3
        story.skipped += KEPT_FOR - timedelta(hours=1)
        async with story.runtime.database.write() as session:
            await hold(session, left.sha256, left.size, story.runtime.clock())
        story.skipped += timedelta(hours=2)
        await swept(story)
        async with story.runtime.database.read() as session:
            names = set(await session.scalars(select(KeptFile.sha256)))
            assert names == {left.sha256, hashlib.sha256(b"same").hexdigest()}
            assert set(await session.scalars(select(KeptPiece.sha256))) == names
        story.skipped += KEPT_FOR
        await swept(story)
        assert await count(story, KeptFile) == 1


async def test_pieces_that_nothing_refers_to_are_written_anew(database_url: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * (PIECE_BYTES // 128) + b"end"
    kept = KeptBytes.of(data)
    async with open_story(database_url, tmp_path) as story:
        async with story.runtime.database.write() as session:
            await hold(session, kept.sha256, kept.size, story.runtime.clock())
            garbage = [(False, b"of a file that changed while it was read")] * 9
            await write_pieces(session, kept.sha256, enumerate(garbage))
        async with story.runtime.database.write() as session:
            await keep(session, kept, story.runtime.clock(), is_known=False)
        async with story.runtime.database.read() as session:
            assert await kept_bytes(session, kept.sha256) == data


@given(
    size=st.integers(0, 3) | st.integers(PIECE_BYTES - 1, PIECE_BYTES + 1) | st.integers(0, 3 * PIECE_BYTES),
    seed=st.binary(max_size=40),
)
def test_pieces_are_the_bytes(size: int, seed: bytes) -> None:
    data = (hashlib.shake_256(seed).digest(size // 2) + b"\0" * size)[:size]
    kept = KeptBytes.of(data)
    pieces = [zlib.decompress(piece) if compressed else piece for compressed, piece in kept.pieces]
    assert b"".join(pieces) == data
    assert all(len(piece) == PIECE_BYTES for piece in pieces[:-1])
    assert (kept.sha256, kept.size) == (hashlib.sha256(data).hexdigest(), size)
