"""Tokenizer files of providers: prompts are counted as their models count."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import MAX_BLOB_BYTES, NewBlob, remove_unused, store
from tavernkit.playground.base.database.models import Blob, Provider
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.queries import provider_to_manage
from tavernkit.prompt.tokens import CountCache, TokenEstimator, TokenPiece, default_estimator
from tavernkit.prompt.tokens.encoding import EncodingUnavailable, TokenizerFile, load_tokenizer_file

log = logging.getLogger(__name__)

MAX_FILE_BYTES = MAX_BLOB_BYTES
MOST_LOADED = 8

_counting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tokenizer")
"""The one thread that reads tokenizers and counts with them: where several did, kitoken ended the process."""


class FileTokenizer:
    """Counts with a tokenizer file, in the thread for it, and remembers what it has counted."""

    def __init__(self, file: TokenizerFile) -> None:
        self.name, self.source = file.name, "tokenizer file"
        self._file, self._cache = file, CountCache()

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the same for all models
        return self._cache.count(self, text)

    def count(self, text: str) -> int:
        return _counting.submit(self._file.count, text).result()

    def tokenize(self, text: str) -> list[TokenPiece]:
        return _counting.submit(self._file.tokenize, text).result()


_loaded: dict[str, FileTokenizer] = {}
"""The tokenizers that were read last in this process, by the hash of their files."""


async def estimator_for(session: AsyncSession, provider: Provider) -> TokenEstimator:
    """Who counts for a provider: its own tokenizer, or else what is known of its model."""
    sha256 = provider.tokenizer_sha256
    if sha256 is None:
        return default_estimator()
    if (known := _loaded.get(sha256)) is not None:
        return known
    data = await session.scalar(select(Blob.data).where(Blob.sha256 == sha256))
    return default_estimator() if data is None else await estimator_of_file(sha256, data)


async def estimator_of_file(sha256: str, data: bytes) -> TokenEstimator:
    """Who counts by this file, or, where it cannot be used, by what is known of models."""
    try:
        return _loaded.get(sha256) or await _load(sha256, data)
    except EncodingUnavailable as error:
        log.warning("The tokenizer %s is not used: %s", sha256[:8], error)
        return default_estimator()


async def set_tokenizer(runtime: Runtime, viewer: Viewer, provider_id: UUID, file: bytes) -> Provider:
    """Count with this `tokenizer.json` from now on."""
    async with runtime.database.read() as session:
        await provider_to_manage(session, viewer, provider_id)
    blob = await asyncio.to_thread(NewBlob.of, file)
    try:
        await _load(blob.sha256, file)
    except EncodingUnavailable as error:
        raise Refused(
            "invalid",
            _(
                "This tokenizer.json cannot be used ({reason}). Use the file next to the model's weights.",
                reason=str(error.__cause__),
            ),
        ) from None
    async with runtime.database.write() as session:
        await store(session, [blob], runtime.clock())
        return await _change(session, viewer, provider_id, blob.sha256)


async def remove_tokenizer(runtime: Runtime, viewer: Viewer, provider_id: UUID) -> Provider:
    """Count by what is known of the model."""
    async with runtime.database.write() as session:
        return await _change(session, viewer, provider_id, None)


async def _change(session: AsyncSession, viewer: Viewer, provider_id: UUID, sha256: str | None) -> Provider:
    row = await provider_to_manage(session, viewer, provider_id, lock=True)
    before, row.tokenizer_sha256 = row.tokenizer_sha256, sha256
    if before != sha256:
        await remove_unused(session, [before])
    return row


async def _load(sha256: str, data: bytes) -> FileTokenizer:
    """Raises EncodingUnavailable."""
    return await asyncio.get_running_loop().run_in_executor(_counting, _read, sha256, data)


def _read(sha256: str, data: bytes) -> FileTokenizer:
    """The library reads tokenizers from files alone. What was read longest ago goes in the thread that has read it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_bytes(data)
        file = load_tokenizer_file(path)
    while len(_loaded) >= MOST_LOADED:
        del _loaded[next(iter(_loaded))]
    tokenizer = _loaded[sha256] = FileTokenizer(file)
    return tokenizer
