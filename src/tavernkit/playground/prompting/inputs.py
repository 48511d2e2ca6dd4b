"""From rows to the library's inputs: the only bridge between the application and the prompt."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

import tavernkit
from tavernkit import BudgetPreset, Message, Plan, User, characters
from tavernkit.playground.database import models
from tavernkit.values import Value

__all__ = ["HISTORY_WINDOW", "PromptInputs", "build_plan", "greeting_of", "library_character", "load_inputs"]

HISTORY_WINDOW = 200


class PromptInputs(Value, frozen=True, kw_only=True):
    """Everything a prompt is built from, already read."""

    character: tavernkit.Character
    user: User
    history: tuple[Message, ...]
    preset: BudgetPreset
    model: str


def library_character(row: models.Character) -> tavernkit.Character:
    """The stored card as the library knows it."""
    return characters.read_card(row.data)[0].character


def greeting_of(character: tavernkit.Character, user_name: str) -> str:
    """What the character says first, with the names in it."""
    return tavernkit.build(character=character, user=User(name=user_name)).greeting or ""


async def load_inputs(
    session: AsyncSession, run: models.Run, speaker: models.SpaceMembership, provider: models.Provider
) -> PromptInputs:
    """Read what the speaker needs to answer in the run's conversation: its card, the person, the last messages."""
    card = await session.get_one(models.Character, speaker.character_id)
    return PromptInputs(
        character=library_character(card),
        user=await _person(session, speaker.space_id),
        history=await _history(session, run.conversation_id),
        preset=BudgetPreset(
            context_window_tokens=provider.context_tokens, reserved_response_tokens=provider.response_tokens
        ),
        model=provider.model,
    )


def build_plan(inputs: PromptInputs) -> Plan:
    """Build the prompt with the plain pipeline."""
    return tavernkit.build(
        character=inputs.character,
        user=inputs.user,
        history=inputs.history,
        preset=inputs.preset,
        model=inputs.model,
    )


async def _person(session: AsyncSession, space_id: UUID) -> User:
    found = await session.scalars(
        select(models.SpaceMembership)
        .where(models.SpaceMembership.space_id == space_id, models.SpaceMembership.kind == "human")
        .order_by(models.SpaceMembership.position)
        .limit(1)
    )
    member = found.one()
    return User(name=member.cached_display_name, persona=member.persona)


async def _history(session: AsyncSession, conversation_id: UUID) -> tuple[Message, ...]:
    rows = await session.execute(
        select(models.Message.role, models.TextContent.content, models.SpaceMembership.cached_display_name)
        .join(models.TextContent, models.TextContent.id == models.Message.text_id)
        .join(models.SpaceMembership, models.SpaceMembership.id == models.Message.membership_id)
        .where(models.Message.conversation_id == conversation_id, models.Message.visibility == "normal")
        .order_by(models.Message.seq.desc())
        .limit(HISTORY_WINDOW)
    )
    newest_first = [Message(role=role, content=content, name=name) for role, content, name in rows]
    return tuple(reversed(newest_first))
