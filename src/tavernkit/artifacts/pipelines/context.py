"""What a run is about, fixed before it begins, and where it reads what is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from datetime import datetime
from typing import TypeAlias

from tavernkit.artifacts.artifact import Artifact, Session
from tavernkit.artifacts.pipelines.profile import PipelineTrigger, Profile
from tavernkit.artifacts.store import ArtifactStore
from tavernkit.artifacts.view import SessionArtifacts, SwipePath, session_artifacts
from tavernkit.characters.character import Character, User
from tavernkit.prompt.context import IdSource
from tavernkit.prompt.message import Message
from tavernkit.values import Value


class ChatInfo(Value, frozen=True, kw_only=True):
    """`chat` in templates."""

    id: str
    title: str = ""
    branch_id: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class RunContext(Value, frozen=True, kw_only=True):
    """`turn` counts the user's turns from 1, and a regeneration has the turn of the reply it replaces; its messages end
    before that reply. `messages` are what is said, the user's current message included. `values` are further variables
    for templates, such as the texts of the card with their macros expanded; they win over what is taken from the card.
    `pipelines` limits a run to some of the profile's.
    """

    run_id: str
    idempotency_key: str
    trigger: PipelineTrigger
    profile: Profile
    session: Session
    turn: int
    now: datetime
    seed: str
    turn_id: str | None = None
    variant_id: str | None = None
    path: SwipePath | None = None
    character: Character | None = None
    user: User | None = None
    chat: ChatInfo | None = None
    messages: tuple[Message, ...] = ()
    values: Mapping[str, object] = {}
    pipelines: frozenset[str] | None = None

    @property
    def before_turn(self) -> int | None:
        """A regeneration reads what the turn has read the first time."""
        return self.turn if self.trigger == "regenerate" else None

    @property
    def user_message(self) -> str:
        """What the user has typed last."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")


def idempotency_key(trigger: PipelineTrigger, about: str, request: str) -> str:
    """The key of a request: `about` is the branch of a message, or the message that is regenerated, and `request` what
    the client has made up for it."""
    return f"{trigger}:{about}:{request}"


SessionReader: TypeAlias = Callable[[RunContext], Awaitable[SessionArtifacts]]
"""Reads the session as a run sees it: as it is now, or for a regeneration as it was before the turn. It is asked once
for each hook."""


def read_from(store: ArtifactStore) -> SessionReader:
    """Read everything that a store has, and look back where the run does."""

    async def read(context: RunContext) -> SessionArtifacts:
        looks_back = context.before_turn is not None or context.path is not None
        return session_artifacts(
            await store.load(context.session),
            now=context.now,
            turn=context.turn,
            before_turn=context.before_turn,
            path=context.path,
            archives=await store.archives(context.session) if looks_back else (),
        )

    return read


async def reserve_tags(
    profile: Profile, session: Session, *, store: ArtifactStore, ids: IdSource, skipped: Container[str] = ()
) -> tuple[Artifact, ...]:
    """Reserve every persisted tag for its pipeline; ArtifactPolicyError if one belongs to another. A profile that was
    edited is reserved again, and keeps what there is. The tags in `skipped` are left alone."""
    return tuple(
        [
            await store.reserve(made.in_session(session, id=ids()), pipeline.id)
            for pipeline in profile.pipelines
            for step in pipeline.steps
            for made in step.artifacts
            if made.access == "persisted" and made.tag not in skipped
        ]
    )
