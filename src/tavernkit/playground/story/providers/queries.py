"""Reading providers, of which one is the default and can be used; and where models usually are: programs on one's own
machine, and companies.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import and_, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import Conversation, Provider, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.kinds.anthropic import ANTHROPIC
from tavernkit.playground.base.llm.kinds.google import GOOGLE
from tavernkit.playground.base.llm.kinds.openai import OPENAI
from tavernkit.playground.base.refused import existing
from tavernkit.values import Value


class UsualServer(Value, frozen=True, kw_only=True):
    """What is known of a server by its name alone; `is_local` ones need no key."""

    slug: str
    name: str
    address: str
    kind: str = OPENAI.id
    is_local: bool = False
    advice: str = ""


USUAL = (
    UsualServer(slug="ollama", name="Ollama", address="http://127.0.0.1:11434/v1", is_local=True,
                advice=_("Download a model first with “ollama pull”.")),
    UsualServer(slug="lm-studio", name="LM Studio", address="http://127.0.0.1:1234/v1", is_local=True,
                advice=_("Start its server in the Developer tab.")),
    UsualServer(slug="llama-cpp", name="llama.cpp", address="http://127.0.0.1:8080/v1", is_local=True,
                advice=_("Start llama-server. It serves one model, so any model name works.")),
    UsualServer(slug="koboldcpp", name="KoboldCpp", address="http://127.0.0.1:5001/v1", is_local=True,
                advice=_("It serves one model, so any model name works.")),
    UsualServer(slug="openrouter", name="OpenRouter", address="https://openrouter.ai/api/v1"),
    UsualServer(slug="openai", name="OpenAI", address=OPENAI.home),
    UsualServer(slug="anthropic", name="Anthropic", address=ANTHROPIC.home, kind=ANTHROPIC.id),
    UsualServer(slug="gemini", name="Google Gemini", address=GOOGLE.home, kind=GOOGLE.id),
    UsualServer(slug="deepseek", name="DeepSeek", address="https://api.deepseek.com/v1"),
    UsualServer(slug="mistral", name="Mistral", address="https://api.mistral.ai/v1"),
    UsualServer(slug="xai", name="xAI", address="https://api.x.ai/v1"),
)  # fmt: skip


def usual_server(slug: str) -> UsualServer | None:
    """The server of that name in an address."""
    return next((server for server in USUAL if server.slug == slug), None)


async def provider_for(session: AsyncSession, speaker: SpaceMembership) -> Provider | None:
    """Who answers for a member: its own provider, its space's, or the default one; None if that one is disabled."""
    of_space = select(Space.provider_id).where(Space.id == speaker.space_id).scalar_subquery()
    otherwise = or_(Provider.id == of_space, and_(of_space.is_(None), Provider.is_default))
    wanted = Provider.id == speaker.provider_id if speaker.provider_id else otherwise
    return await session.scalar(select(Provider).where(wanted, ~Provider.disabled).limit(1))


async def provider_in(session: AsyncSession, conversation_id: UUID) -> Provider | None:
    """Who answers in a conversation for members without a provider of their own."""
    of_space = (
        select(Space.provider_id)
        .join(Conversation, Conversation.space_id == Space.id)
        .where(Conversation.id == conversation_id)
        .scalar_subquery()
    )
    chosen = or_(Provider.id == of_space, and_(of_space.is_(None), Provider.is_default))
    return await session.scalar(select(Provider).where(chosen).limit(1))


async def default_provider(session: AsyncSession) -> Provider | None:
    """Who answers where nobody has chosen."""
    return await session.scalar(select(Provider).where(Provider.is_default, ~Provider.disabled))


async def provider_to_manage(
    session: AsyncSession, viewer: Viewer, provider_id: UUID, *, lock: bool = False
) -> Provider:
    """A provider, for an administrator in person."""
    require_administrator(viewer)
    query = select(Provider).where(Provider.id == provider_id)
    return existing(await session.scalar(query.with_for_update() if lock else query), _("provider"))


async def providers_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[Provider]:
    """The providers by name; those that are disabled only for administrators."""
    query = select(Provider)
    if not viewer.is_administrator:
        query = query.where(~Provider.disabled)
    if behind is not None:
        query = query.where(tuple_(Provider.name, Provider.id) > behind)
    return list(await session.scalars(query.order_by(Provider.name, Provider.id).limit(limit)))


async def provider_named(session: AsyncSession, name: str) -> Provider | None:
    return await session.scalar(select(Provider).where(Provider.name == name))


async def is_name_taken(session: AsyncSession, name: str) -> bool:
    return await provider_named(session, name) is not None


async def use_as_default(session: AsyncSession, provider: Provider) -> None:
    """Let it be the default, enabled, in place of the one before."""
    provider.disabled = False
    await session.flush()
    # Locked in one order, so that two who do this at once wait for each other.
    await session.execute(select(Provider.id).order_by(Provider.id).with_for_update())
    await session.execute(update(Provider).values(is_default=Provider.id == provider.id))
    await session.refresh(provider)
