"""Whether this process can open the API keys that the database holds."""

from __future__ import annotations

import logging
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Provider, SiteSetting
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.llm.secrets import KEY_FILE, KeyBox
from tavernkit.playground.base.runtime import Runtime

CHECK = "secret_key_check"
"""The setting that holds a value sealed with the key that the API keys are sealed with."""

ROW = UUID(int=0)

log = logging.getLogger(__name__)


async def check_key(runtime: Runtime) -> None:
    """Warn when this process has another key than the one that API keys in the database were stored with."""
    async with start_lock(runtime.settings.resolved_database_url), runtime.database.write() as session:
        known = await session.get(SiteSetting, CHECK)
        if known is not None and runtime.keys.decrypt(bytes.fromhex(known.value["value"]), ROW) is not None:
            return
        opens_all = await _opens_all(session, runtime.keys)
        if opens_all:
            sealed = runtime.keys.encrypt(CHECK, ROW).hex()
            await session.merge(SiteSetting(key=CHECK, value={"value": sealed}, updated_at=runtime.clock()))
    if known is not None or not opens_all:
        log.warning(
            "This process has another secret key than the one that API keys in this database were stored with. It "
            "cannot use them, and other processes cannot use those that it stores. Copy %s from the data folder of the "
            "process that stored them to %s, or set TAVERNKIT_SECRET_KEY to the same key for all processes. If that "
            "key is lost, enter the API keys again.",
            KEY_FILE,
            runtime.settings.data_dir,
        )


async def _opens_all(session: AsyncSession, keys: KeyBox) -> bool:
    stored = await session.execute(select(Provider.id, Provider.api_key))
    return all(sealed is None or keys.decrypt(sealed, id) is not None for id, sealed in stored)
