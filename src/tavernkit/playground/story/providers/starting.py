"""Providers that are there from the start, and whether this process can open their API keys."""

from __future__ import annotations

import logging
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Provider, SiteSetting
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.llm.kinds.embedded import (
    EMBEDDED,
    EMBEDDED_CONTEXT_TOKENS,
    EMBEDDED_MODEL,
    EMBEDDED_NAME,
    EMBEDDED_RESPONSE_TOKENS,
)
from tavernkit.playground.base.llm.kinds.openai import OPENAI
from tavernkit.playground.base.llm.secrets import KEY_FILE, KeyBox
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.queries import default_provider, provider_named, use_as_default

ENVIRONMENT_NAME = "From the environment"


async def ensure_providers(runtime: Runtime) -> None:
    """See that the embedded model is there if it is installed, and the one that the environment names.

    The latter is the default from when it is named for as long as it is, unless an administrator chooses another one.
    """
    async with runtime.database.write() as session:
        embedded = await _embedded(runtime, session)
        named = await provider_named(session, ENVIRONMENT_NAME)
        if not runtime.settings.openai_base_url:
            if named is not None and named.is_default and embedded is not None:
                await use_as_default(session, embedded)
        else:
            written = _from_environment(runtime, named)
            if named is None:
                session.add(written)
                await use_as_default(session, written)
        if await default_provider(session) is None:
            usable = embedded or await _oldest(session)
            if usable is not None:
                await use_as_default(session, usable)


async def _embedded(runtime: Runtime, session: AsyncSession) -> Provider | None:
    """The embedded model; where it is not installed, nobody can choose it until it is."""
    found: Provider | None = await session.scalar(select(Provider).where(Provider.kind == EMBEDDED.id))
    if not runtime.models.has_embedded:
        if found is not None:
            found.is_default, found.disabled = False, True
            await session.flush()
        return None
    if found is not None:
        return found
    embedded = Provider(
        id=runtime.ids(),
        name=EMBEDDED_NAME,
        kind=EMBEDDED.id,
        model=EMBEDDED_MODEL,
        context_tokens=EMBEDDED_CONTEXT_TOKENS,
        response_tokens=EMBEDDED_RESPONSE_TOKENS,
        created_at=runtime.clock(),
    )
    session.add(embedded)
    return embedded


async def _oldest(session: AsyncSession) -> Provider | None:
    """The provider that has been there longest, of those that can be used."""
    usable = select(Provider).where(~Provider.disabled).order_by(Provider.created_at, Provider.id).limit(1)
    return await session.scalar(usable)


def _from_environment(runtime: Runtime, named: Provider | None) -> Provider:
    settings = runtime.settings
    row = named or Provider(id=runtime.ids(), name=ENVIRONMENT_NAME, kind=OPENAI.id, created_at=runtime.clock())
    row.base_url = settings.openai_base_url
    row.model = settings.openai_model
    row.context_tokens = settings.context_tokens
    row.response_tokens = settings.response_tokens
    secret = settings.openai_api_key.get_secret_value()
    row.api_key = runtime.keys.encrypt(secret, row.id) if secret else None
    return row


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
