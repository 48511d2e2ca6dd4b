"""Reading what the endpoint needs: characters that somebody can talk to, what was said to them and how far that is what
a program sends along, and the reply."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, cast
from uuid import UUID

from sqlalchemy import Select, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    Run,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.story.access.access import Access, SpaceAccess

Role: TypeAlias = Literal["user", "assistant", "system"]


class SentMessage(NamedTuple):
    """A message as a program sends it: its text as it would be stored."""

    role: Role
    text: str


class AnsweredMessage(NamedTuple):
    """A message as it is stored.

    `role` is empty for what no program has said, such as another person's words. `sent_as` is the fingerprint of the
    text that was streamed to the program, where the stored one has been tidied up since.
    """

    id: UUID
    role: Role | Literal[""]
    text: str
    is_greeting: bool = False
    sent_as: str | None = None


class CommonPart(NamedTuple):
    """How many messages of each side are the same; greetings that only one side knows count as stored.

    `is_open`: everything that is stored is among it, so that what is stored next matters too.
    """

    asked: int
    stored: int
    is_open: bool


def common_part(stored: Sequence[AnsweredMessage], asked: Sequence[SentMessage]) -> CommonPart:
    """The longest beginning that both sides share. The program may know the greetings or some of the last of them, or
    none at all."""
    greetings = next((place for place, message in enumerate(stored) if not message.is_greeting), len(stored))
    shared = [_shared(stored, skipped, asked) for skipped in range(greetings + 1)]
    asked_in_all, skipped = max((count, skipped) for skipped, count in enumerate(shared))
    return CommonPart(
        asked=asked_in_all,
        stored=skipped + asked_in_all,
        is_open=any(skipped + count == len(stored) for skipped, count in enumerate(shared)),
    )


def fingerprint(text: str) -> str:
    """What is kept of a text to know it again."""
    return sha256(text.encode()).hexdigest()


def _shared(stored: Sequence[AnsweredMessage], skipped: int, asked: Sequence[SentMessage]) -> int:
    count = 0
    while count < len(asked) and skipped + count < len(stored) and _is_same(stored[skipped + count], asked[count]):
        count += 1
    return count


def _is_same(stored: AnsweredMessage, sent: SentMessage) -> bool:
    if stored.role != sent.role:
        return False
    return stored.text == sent.text or (stored.sent_as is not None and stored.sent_as == fingerprint(sent.text))


SHOWN_DIGITS = 8
LONGEST_SLUG = 40

_NAME = re.compile(r"(?:.*-)?([0-9a-f]{8,32})", re.DOTALL)


def model_name(character: str, member_id: UUID) -> str:
    """Such as `ada-1b4e28ba`; a name without a Latin letter or digit gives `character-…`."""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].rstrip("-")
    return f"{slug or 'character'}-{member_id.hex[:SHOWN_DIGITS]}"


def ids_between(name: str) -> tuple[UUID, UUID] | None:
    """The lowest and the highest id that a model of this name can have; None when no model is called so.

    Only the digits behind the last hyphen count: a character that was renamed is still found.
    """
    found = _NAME.fullmatch(name.lower())
    return None if found is None else (UUID(found[1].ljust(32, "0")), UUID(found[1].ljust(32, "f")))


MAX_MODELS = 1_000
SENT_AS = "sent_as"
"""Where a run notes the fingerprint of a text that was streamed otherwise than it is stored."""


class CharacterModel(NamedTuple):
    """A character in a space."""

    member: SpaceMembership
    space: Space

    @property
    def name(self) -> str:
        return model_name(self.member.cached_display_name, self.member.id)


async def list_models(session: AsyncSession, viewer: Viewer) -> list[CharacterModel]:
    """The characters that this person can talk to, those that joined last first."""
    query = _models(viewer).order_by(SpaceMembership.created_at.desc(), SpaceMembership.id).limit(MAX_MODELS)
    return [CharacterModel(*row) for row in await session.execute(query)]


async def find_model(session: AsyncSession, viewer: Viewer, name: str) -> CharacterModel | None:
    """The character of this name; None also when there are several."""
    between = ids_between(name)
    if between is None:
        return None
    query = _models(viewer).where(SpaceMembership.id.between(*between)).limit(2)
    found = [CharacterModel(*row) for row in await session.execute(query)]
    return found[0] if len(found) == 1 else None


async def recent_conversations(session: AsyncSession, access: SpaceAccess, *, limit: int) -> Sequence[Conversation]:
    """The conversations of a space that somebody can go on in, those that changed last first."""
    query = (
        select(Conversation)
        .where(
            Conversation.space_id == access.space.id, Conversation.status == "ready", Conversation.kind != "checkpoint"
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(limit)
    )
    if access.level < Access.ADMINISTER:
        query = query.where(Conversation.visibility != "private")
    return (await session.scalars(query)).all()


async def stored_messages(
    session: AsyncSession, conversation_ids: Sequence[UUID], person_id: UUID, *, after: int, until: int
) -> Mapping[UUID, list[AnsweredMessage]]:
    """The visible messages of each conversation with numbers behind `after` and up to `until`, in order.

    What people other than the member `person_id` have said has no role.
    """
    rows = await session.execute(
        select(
            Message.conversation_id,
            Message.id,
            Message.role,
            Message.membership_id,
            TextContent.content,
            MessageSwipe.metadata_,
            Run.debug,
        )
        .join(TextContent, TextContent.id == Message.text_id)
        .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
        .outerjoin(Run, Run.id == MessageSwipe.run_id)
        .where(
            Message.conversation_id.in_(conversation_ids),
            Message.seq > after,
            Message.seq <= until,
            Message.visibility != "hidden",
        )
        .order_by(Message.conversation_id, Message.seq)
    )
    stored: defaultdict[UUID, list[AnsweredMessage]] = defaultdict(list)
    for conversation_id, id, role, author_id, text, swipe, run in rows:
        is_foreign = role == "user" and author_id != person_id
        stored[conversation_id].append(
            AnsweredMessage(
                id=id,
                role="" if is_foreign else cast("Role", role),
                # As texts that programs send are compared.
                text=text.strip(),
                is_greeting="greeting" in swipe,
                sent_as=_sent_as(run),
            )
        )
    return stored


async def run_for(session: AsyncSession, message: Message, speaker_id: UUID) -> Run | None:
    """The run that was planned to answer a message which has just been sent."""
    found: Run | None = await session.scalar(
        select(Run)
        .where(
            Run.conversation_id == message.conversation_id,
            Run.speaker_membership_id == speaker_id,
            Run.created_at >= message.created_at,
        )
        .order_by(Run.created_at, Run.id)
        .limit(1)
    )
    return found


async def is_deleted(session: AsyncSession, conversation_id: UUID) -> bool:
    """Whether a conversation is gone or in the trash, alone or with its space."""
    here = select(Conversation.id).join(Space, Space.id == Conversation.space_id)
    in_use = here.where(Conversation.id == conversation_id, Conversation.status != "deleting")
    return await session.scalar(in_use.where(Space.status != "deleting")) is None


async def read_reply(session: AsyncSession, run_id: UUID) -> Message | None:
    """The message that a run has become."""
    found: Message | None = await session.scalar(select(Message).where(Message.run_id == run_id).limit(1))
    return found


def _models(viewer: Viewer) -> Select[SpaceMembership, Space]:
    """The rule of `spaces.access` for taking part, as a query; to speak, one has to be a member as well."""
    own = aliased(SpaceMembership)
    query = (
        select(SpaceMembership, Space)
        .join(Space, Space.id == SpaceMembership.space_id)
        .join(Character, Character.id == SpaceMembership.character_id)
        .join(own, own.space_id == Space.id)
        .where(
            SpaceMembership.kind == "character",
            SpaceMembership.status == "active",
            Character.status == "ready",
            Space.status == "active",
            own.user_id == viewer.user_id,
            own.status == "active",
        )
    )
    if viewer.is_administrator:
        return query
    return query.where(or_(Space.owner_id == viewer.user_id, own.role == "moderator", own.participation == "active"))


def _sent_as(run: Mapping[str, Any] | None) -> str | None:
    noted = None if run is None else run.get(SENT_AS)
    return noted if isinstance(noted, str) else None
