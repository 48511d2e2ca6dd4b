"""From rows to what the pages show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.conversations.queries import (
    find_conversation,
    has_turns_behind,
    human_member,
    last_run,
    messages_before,
    recent_conversations,
    speaking_member,
)
from tavernkit.playground.database.models import Character, Message, Provider, Run, Space, SpaceMembership
from tavernkit.playground.prompting.cards import library_character
from tavernkit.playground.providers.service import provider_for
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.web.markdown import render_markdown
from tavernkit.playground.web.views import (
    CharacterView,
    ConversationCard,
    ConversationView,
    HomeView,
    MessageView,
    OlderView,
    RunView,
)

ShownStatus: TypeAlias = Literal["queued", "running", "failed", "canceled"]

__all__ = ["conversation_view", "home_view", "message_view", "older_view", "run_view"]

SHOWN: Mapping[str, ShownStatus] = {
    "queued": "queued",
    "running": "running",
    "failed": "failed",
    "canceled": "canceled",
}
MESSAGES_PER_PAGE = 50
RECENT_CONVERSATIONS = 20
TAGLINE_CHARACTERS = 140


async def home_view(runtime: Runtime, user_id: UUID) -> HomeView:
    """The first page: what was talked about last, and who is there to talk to."""
    async with runtime.database.read() as session:
        rows = await recent_conversations(session, user_id, limit=RECENT_CONVERSATIONS)
        characters = await session.scalars(
            select(Character)
            .where(Character.owner_id == user_id, Character.status == "ready")
            .order_by(Character.name)
            .limit(RECENT_CONVERSATIONS)
        )
        model = await _default_model(session)
        return HomeView(
            conversations=tuple(
                ConversationCard(
                    id=str(conversation.id),
                    title=conversation.title,
                    space_name=space.name,
                    character=_character_view(character),
                    last_line=_one_line(render_markdown(last_words or "").striptags()),
                    last_at=conversation.updated_at,
                )
                for conversation, space, _, character, last_words in rows
            ),
            characters=tuple(_character_view(character) for character in characters),
            model_name=_model_name(model),
            model_is_embedded=model is not None and model.kind == "embedded",
        )


async def conversation_view(runtime: Runtime, conversation_id: UUID, user_id: UUID) -> ConversationView | None:
    """The chat page, with the newest messages; None for a conversation that is not this person's."""
    async with runtime.database.read() as session:
        conversation = await find_conversation(session, conversation_id, user_id)
        if conversation is None:
            return None
        space = await session.get_one(Space, conversation.space_id)
        human = await human_member(session, space.id, user_id)
        speaker = await speaking_member(session, space.id)
        character = await session.get(Character, speaker.character_id) if speaker else None
        messages, older_before = await _page(session, conversation_id, before=None)
        run = await last_run(session, conversation_id)
        model = await _default_model(session)
        return ConversationView(
            id=str(conversation.id),
            title=conversation.title,
            space_name=space.name,
            character=_character_view(character) if character else _nobody(),
            messages=messages,
            older_before=older_before,
            run=await _run_view(runtime, session, run),
            last_event=conversation.last_event,
            model_name=_model_name(model),
            model_is_embedded=model is not None and model.kind == "embedded",
            persona_name=human.cached_display_name,
        )


async def older_view(runtime: Runtime, conversation_id: UUID, user_id: UUID, *, before: int) -> OlderView | None:
    """The page of messages above the one numbered `before`."""
    async with runtime.database.read() as session:
        if await find_conversation(session, conversation_id, user_id) is None:
            return None
        messages, older_before = await _page(session, conversation_id, before=before)
        return OlderView(
            conversation_id=str(conversation_id), before=before, messages=messages, older_before=older_before
        )


async def message_view(session: AsyncSession, message_id: UUID) -> MessageView | None:
    """One message, ready to be shown."""
    row = (
        await session.execute(
            select(Message, SpaceMembership)
            .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
            .where(Message.id == message_id, Message.visibility != "hidden")
        )
    ).one_or_none()
    return None if row is None else _message_view(row[0], row[1])


async def run_view(runtime: Runtime, session: AsyncSession, conversation_id: UUID) -> RunView | None:
    """What the page shows below the messages: a reply in the making, or one that was cut short."""
    return await _run_view(runtime, session, await last_run(session, conversation_id))


async def _run_view(runtime: Runtime, session: AsyncSession, run: Run | None) -> RunView | None:
    if run is None or run.dismissed:
        return None
    status = SHOWN.get(run.status)
    if status is None:
        return None
    speaker = await session.get_one(SpaceMembership, run.speaker_membership_id)
    provider = await provider_for(session, speaker)
    text = runtime.live_text.get(run.id, run.text)
    return RunView(
        id=str(run.id),
        status=status,
        speaker=speaker.cached_display_name,
        text=text,
        error=run.error["message"] if run.error else None,
        preparing=status == "running" and provider is not None and not runtime.models.is_ready(provider),
        can_skip=status in ("failed", "canceled") and await has_turns_behind(session, run),
    )


async def _page(
    session: AsyncSession, conversation_id: UUID, *, before: int | None
) -> tuple[tuple[MessageView, ...], int | None]:
    rows = await messages_before(session, conversation_id, before=before, limit=MESSAGES_PER_PAGE + 1)
    has_older = len(rows) > MESSAGES_PER_PAGE
    shown = rows[1:] if has_older else rows
    views = tuple(_message_view(message, author) for message, author in shown)
    return views, views[0].seq if has_older else None


def _message_view(message: Message, author: SpaceMembership) -> MessageView:
    return MessageView(
        id=str(message.id),
        seq=message.seq,
        role="assistant" if message.role == "assistant" else "user" if message.role == "user" else "system",
        author=author.cached_display_name,
        is_own=author.kind == "human",
        html=render_markdown(message.content),
        created_at=message.created_at,
    )


def _character_view(row: Character) -> CharacterView:
    card = library_character(row)
    return CharacterView(
        id=str(row.id),
        name=card.display_name,
        tagline=_one_line(card.creator_notes or card.scenario or card.description),
        initials=_initials(card.display_name),
    )


def _nobody() -> CharacterView:
    return CharacterView(id="", name="Nobody", tagline="", initials="?")


def _initials(name: str) -> str:
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper() or "?"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TAGLINE_CHARACTERS else line[: TAGLINE_CHARACTERS - 1].rstrip() + "…"


def _model_name(provider: Provider | None) -> str:
    if provider is None:
        return "Nobody"
    return provider.name if provider.kind == "embedded" else provider.model


async def _default_model(session: AsyncSession) -> Provider | None:
    found: Provider | None = await session.scalar(select(Provider).where(Provider.is_default, ~Provider.disabled))
    return found
