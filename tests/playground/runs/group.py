"""A space with several characters, whose turns a test looks at."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Message,
    MessageSwipe,
    Round,
    RoundSlot,
    Run,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.llm.base import ModelClient
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.members.service import change_member, remove_member
from tavernkit.playground.story.runs.service import Claim, fail_run, finish_run
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.values import Json
from tests.playground.stories import Story, claim_run, open_story
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import eventually

BROKEN = {"code": "http_error", "message": "The provider is away. Try again later."}


async def code(action: Awaitable[object]) -> str:
    """Why a service refuses, which is to say so in a sentence."""
    refused = await refusal_of(action)
    assert refused.sentence.endswith(".")
    return refused.code


def seeded_ids(seed: int) -> Callable[[], UUID]:
    """Ids that are the same ones every time."""
    drawn = random.Random(seed)
    return lambda: UUID(int=drawn.getrandbits(128), version=4)


class Group(Story):
    """The same as Story, in a conversation with the characters that were asked for and without greetings."""

    def __init__(self, play: Story, conversation_id: UUID, members: Mapping[str, UUID]) -> None:
        super().__init__(play.runtime, play.user_id, conversation_id)
        self.members = members

    def wait(self, **time: float) -> None:
        """Move the clock on."""
        self.skipped += timedelta(**time)

    def in_conversation(self, conversation_id: UUID) -> Group:
        """The same people in another conversation of the space."""
        return Group(self, conversation_id, self.members)

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

    async def quiet(self) -> None:
        """Wait until nothing is being said any more, and nothing waits to be."""

        async def is_quiet() -> bool:
            return not any(run.status in ("queued", "running") for run in await self.runs())

        await eventually(is_quiet)

    async def fail(self, text: str = "") -> str:
        """Let the reply of whoever is due go wrong; gives their name."""
        claim = await self.claim()
        assert await fail_run(self.runtime, claim, text, BROKEN)
        return self.name(claim.speaker_id)

    def name(self, member_id: UUID) -> str:
        return next(name for name, id in self.members.items() if id == member_id)

    async def change(self, name: str, **changes: Json) -> None:
        """Change how somebody takes part."""
        version = (await self.member(name)).settings_version
        await change_member(self.runtime, self.viewer, self.members[name], settings_version=version, changes=changes)

    async def mute(self, name: str) -> None:
        await self.change(name, participation="muted")

    async def remove(self, name: str) -> None:
        await remove_member(self.runtime, self.viewer, self.members[name])

    async def told(self) -> list[tuple[str, str]]:
        """Who said what, hidden messages left out."""
        return [(self.name(row.membership_id), row.content) for row in await self.all_messages()]

    async def all_messages(self, *, hidden: bool = False) -> list[Message]:
        """What was said, the oldest first."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Message)
                .where(
                    Message.conversation_id == self.conversation_id,
                    Message.visibility != ("" if hidden else "hidden"),
                )
                .order_by(Message.seq)
            )
            return list(found)

    async def last(self) -> Message:
        return (await self.all_messages())[-1]

    async def swipe_texts(self, message_id: UUID) -> list[str]:
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(MessageSwipe).where(MessageSwipe.message_id == message_id).order_by(MessageSwipe.position)
            )
            return [swipe.content for swipe in found]

    async def rounds(self) -> list[Round]:
        """All rounds, the oldest first."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Round).where(Round.conversation_id == self.conversation_id).order_by(Round.created_at)
            )
            return list(found)

    async def round(self) -> Round | None:
        """The round that goes on."""
        return next((round for round in await self.rounds() if round.status == "active"), None)

    async def state(self) -> tuple[str | None, int] | None:
        """How the round that goes on does so, and at which place."""
        round = await self.round()
        return None if round is None else (round.scheduling_state, round.current_position)

    async def slots(self, round: Round | None = None) -> list[RoundSlot]:
        """The turns of a round, or of the newest one."""
        async with self.runtime.database.read() as session:
            round = round or (await self.rounds())[-1]
            found = await session.scalars(
                select(RoundSlot).where(RoundSlot.round_id == round.id).order_by(RoundSlot.position)
            )
            return list(found)

    async def places(self) -> list[tuple[str, str]]:
        """Whose turn each is in the newest round, and what became of it."""
        return [(self.name(slot.membership_id), slot.status) for slot in await self.slots()]

    async def runs(self) -> list[Run]:
        """All runs, the oldest first."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Run).where(Run.conversation_id == self.conversation_id).order_by(Run.created_at, Run.id)
            )
            return list(found)

    async def ends(self) -> list[tuple[str, str]]:
        """Whose each run is and what became of it, the oldest first."""
        return [(self.name(run.speaker_membership_id), run.status) for run in await self.runs()]

    async def run_of(self, claim: Claim) -> Run:
        async with self.runtime.database.read() as session:
            return await session.get_one(Run, claim.run_id)

    async def queued(self) -> Run | None:
        return next((run for run in await self.runs() if run.status == "queued"), None)

    async def due(self) -> str | None:
        """Who speaks next."""
        run = await self.queued()
        return None if run is None else self.name(run.speaker_membership_id)

    async def member(self, name: str) -> SpaceMembership:
        async with self.runtime.database.read() as session:
            return await session.get_one(SpaceMembership, self.members[name])

    async def check(self) -> None:
        """What holds whatever happened, in every conversation."""
        async with self.runtime.database.read() as session:
            runs = list(await session.scalars(select(Run).where(Run.status.in_(("queued", "running")))))
            rounds = list(await session.scalars(select(Round).where(Round.status == "active")))
            swipes = await session.execute(
                select(func.count(), func.max(MessageSwipe.position)).group_by(MessageSwipe.message_id)
            )
            assert all(count == last + 1 for count, last in swipes)
            assert all(swipe.content.strip() for swipe in await session.scalars(select(MessageSwipe)))
        for rows in ([(run.conversation_id, run.status) for run in runs], [round.conversation_id for round in rounds]):
            assert len(rows) == len(set(rows))
        going_on = {round.conversation_id: round for round in rounds}
        for run in runs:
            if run.status == "queued" and run.round_id is not None:
                assert going_on[run.conversation_id].id == run.round_id
        for round in rounds:
            if round.scheduling_state == "ai_generating":
                assert [run for run in runs if (run.round_id, run.round_position) == (round.id, round.current_position)]


@asynccontextmanager
async def group_story(
    url: str,
    folder: Path,
    *names: str,
    model: ModelClient | None = None,
    talkativeness: float | Mapping[str, float] = 0.5,
    settings: dict[str, object] | None = None,
    ids: Callable[[], UUID] = uuid4,
    **rules: Json,
) -> AsyncIterator[Group]:
    """A conversation between the owner, who is called Owner, and characters with these names.

    Whatever a test does with them, at its end what always holds still does.
    """
    async with open_story(url, folder, model or ScriptedModel(), ids=ids, **(settings or {})) as play:
        async with play.runtime.database.read() as session:
            owner = await session.get_one(User, play.user_id)
        characters = []
        for name in names:
            level = talkativeness if isinstance(talkativeness, (int, float)) else talkativeness[name]
            data = {"name": name, "extensions": {"talkativeness": level}}
            card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
            characters.append(
                (await import_file(play.runtime, Viewer(user_id=owner.id), json.dumps(card).encode())).character.id
            )
        opened = await create_space(play.runtime, play.viewer, character_ids=characters, name_override="Owner")
        async with play.runtime.database.read() as session:
            found = await session.scalars(select(SpaceMembership).where(SpaceMembership.space_id == opened.space.id))
            members = {member.cached_display_name: member.id for member in found}
        group = Group(play, opened.conversation.id, members)
        if rules:
            await group.change_space(**rules)
        yield group
        await group.check()


# What folders call it that have not been renamed yet.
