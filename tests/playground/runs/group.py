"""A space with several characters, whose turns a test looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.characters.importing import import_character
from tavernkit.playground.database.models import (
    Conversation,
    Message,
    Round,
    RoundSlot,
    Run,
    SpaceMembership,
    User,
)
from tavernkit.playground.llm.base import ModelClient
from tavernkit.playground.llm.scripted import ScriptedModel
from tavernkit.playground.outcome import Refused
from tavernkit.playground.runs.service import Claim, claim_run, finish_run
from tavernkit.playground.spaces.service import create_space
from tavernkit.values import Json
from tests.playground.playing import Play, playing

__all__ = ["Group", "gathered"]


class Group(Play):
    """The same as Play, in a conversation with the characters that were asked for and without greetings."""

    members: dict[str, UUID]

    async def claim(self) -> Claim:
        claim = await claim_run(self.runtime, "test")
        assert claim is not None
        return claim

    async def speak(self, text: str = "So be it.") -> str:
        """Let whoever is due reply; gives their name."""
        claim = await self.claim()
        assert await finish_run(self.runtime, claim, text) is not None
        return self.name(claim.speaker_id)

    async def speak_all(self) -> list[str]:
        """Let everybody reply who is due, one after the other."""
        names = []
        while (claim := await claim_run(self.runtime, "test")) is not None:
            assert await finish_run(self.runtime, claim, "So be it.") is not None
            names.append(self.name(claim.speaker_id))
        return names

    def name(self, member_id: UUID) -> str:
        return next(name for name, id in self.members.items() if id == member_id)

    async def told(self) -> list[tuple[str, str]]:
        """Who said what, hidden messages left out."""
        async with self.runtime.database.read() as session:
            rows = await session.scalars(
                select(Message)
                .where(Message.conversation_id == self.conversation_id, Message.visibility != "hidden")
                .order_by(Message.seq)
            )
            return [(self.name(row.membership_id), row.content) for row in rows]

    async def conversation(self) -> Conversation:
        async with self.runtime.database.read() as session:
            return await session.get_one(Conversation, self.conversation_id)

    async def rounds(self) -> list[Round]:
        """All rounds, the oldest first."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Round).where(Round.conversation_id == self.conversation_id).order_by(Round.created_at)
            )
            return list(found)

    async def slots(self, round: Round) -> list[RoundSlot]:
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(RoundSlot).where(RoundSlot.round_id == round.id).order_by(RoundSlot.position)
            )
            return list(found)

    async def runs(self) -> list[Run]:
        """All runs, the oldest first."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Run).where(Run.conversation_id == self.conversation_id).order_by(Run.created_at, Run.id)
            )
            return list(found)

    async def member(self, name: str) -> SpaceMembership:
        async with self.runtime.database.read() as session:
            return await session.get_one(SpaceMembership, self.members[name])


@asynccontextmanager
async def gathered(
    url: str,
    folder: Path,
    *names: str,
    model: ModelClient | None = None,
    talkativeness: float = 0.5,
    settings: dict[str, object] | None = None,
    **rules: Json,
) -> AsyncIterator[Group]:
    """A conversation between the owner, who is called Owner, and characters with these names."""
    async with playing(url, folder, model or ScriptedModel(), **(settings or {})) as play:
        async with play.runtime.database.read() as session:
            owner = await session.get_one(User, play.user_id)
        ids = []
        for name in names:
            card = '{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "%s", "extensions": {%s}}}'
            content = card % (name, f'"talkativeness": {talkativeness}')
            ids.append((await import_character(play.runtime, owner, content.encode())).id)
        opened = await create_space(play.runtime, play.viewer, character_ids=ids, name_override="Owner")
        assert not isinstance(opened, Refused)
        group = Group(play.runtime, play.user_id, opened.conversation.id)
        async with play.runtime.database.read() as session:
            members = await session.scalars(select(SpaceMembership).where(SpaceMembership.space_id == opened.space.id))
            group.members = {member.cached_display_name: member.id for member in members}
        if rules:
            await group.change_space(**rules)
        yield group
