"""Providers that are there from the start, and which one answers."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import Provider, SpaceMembership
from tavernkit.playground.runtime import Runtime

__all__ = ["ensure_providers", "provider_for"]

EMBEDDED_NAME = "SmolLM2 135M"
ENVIRONMENT_NAME = "From the environment"
# The small model reads about two hundred tokens a second: a longer prompt would be a longer silence.
EMBEDDED_CONTEXT_TOKENS = 2048
EMBEDDED_RESPONSE_TOKENS = 256


async def ensure_providers(runtime: Runtime) -> None:
    """See that the embedded model is there, and the one that the environment names, which then is the default."""
    settings, now = runtime.settings, runtime.clock()
    async with runtime.database.write() as session:
        embedded = await _named(session, EMBEDDED_NAME)
        if embedded is None:
            embedded = Provider(
                id=runtime.ids(),
                name=EMBEDDED_NAME,
                kind="embedded",
                model="smollm2-135m",
                context_tokens=EMBEDDED_CONTEXT_TOKENS,
                response_tokens=EMBEDDED_RESPONSE_TOKENS,
                created_at=now,
            )
            session.add(embedded)
        chosen = embedded
        if settings.openai_base_url:
            chosen = await _named(session, ENVIRONMENT_NAME) or Provider(
                id=runtime.ids(), name=ENVIRONMENT_NAME, kind="openai", created_at=now
            )
            session.add(chosen)
            chosen.base_url = settings.openai_base_url
            chosen.model = settings.openai_model
            chosen.context_tokens = settings.context_tokens
            chosen.response_tokens = settings.response_tokens
            secret = settings.openai_api_key.get_secret_value()
            chosen.api_key = runtime.keys.encrypt(secret, chosen.id) if secret else None
        await session.flush()
        await session.execute(update(Provider).values(is_default=False))
        chosen.is_default = True


async def provider_for(session: AsyncSession, speaker: SpaceMembership) -> Provider | None:
    """The member's own provider, or the default one."""
    wanted = Provider.id == speaker.provider_id if speaker.provider_id else Provider.is_default
    found: Provider | None = await session.scalar(select(Provider).where(wanted, ~Provider.disabled))
    return found


async def _named(session: AsyncSession, name: str) -> Provider | None:
    found: Provider | None = await session.scalar(select(Provider).where(Provider.name == name))
    return found
