"""Pictures of messages: uploaded into a draft, sent with a message or put into one that is there, and read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, NamedTuple
from uuid import UUID

from anyio import to_thread
from pydantic import Field
from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError, read_upload
from tavernkit.playground.base.blobs.store import store
from tavernkit.playground.base.database.models import Blob, CharacterAsset, Message, MessagePicture
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.values import Value

MAX_PICTURES = 10
"""How many pictures one message has at most."""
MAX_PICTURE_BYTES = 16 * 1024 * 1024
MAX_TITLE_CHARACTERS = 500
MAX_UNSENT = 200
"""How many pictures somebody may have uploaded without sending them."""
MOST_READ = 1_000
"""How many of the newest pictures of a chat a prompt looks at."""


class PictureIn(StrictModel):
    """A picture of a message: one that was uploaded, or that the message has already."""

    id: UUID
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS)] | None = Field(
        default=None, description="What it shows, for those who do not see it; null leaves it as it is."
    )


async def upload_picture(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, data: bytes, *, title: str = ""
) -> MessagePicture:
    """Store a picture that is going to be sent in a conversation; it is the person's alone until then."""
    try:
        picture = await to_thread.run_sync(read_upload, data)
    except PictureError as error:
        raise Refused("invalid", sentence_of(error)) from None
    async with runtime.database.write() as session:
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART)
        require_in_use(conversation)
        unsent = select(func.count()).where(
            MessagePicture.owner_id == viewer.user_id, MessagePicture.swipe_id.is_(None)
        )
        if (await session.scalar(unsent) or 0) >= MAX_UNSENT:
            raise Refused(
                "conflict",
                _("You have {limit} pictures in drafts. Send or remove some of them first.", limit=MAX_UNSENT),
            )
        await store(session, [picture.blob], runtime.clock())
        row = MessagePicture(
            id=runtime.ids(),
            owner_id=viewer.user_id,
            sha256=picture.blob.sha256,
            width=picture.width,
            height=picture.height,
            title=titled(title, "", limit=MAX_TITLE_CHARACTERS),
            created_at=runtime.clock(),
        )
        session.add(row)
        await session.flush()
        return row


async def discard_picture(runtime: Runtime, viewer: Viewer, picture_id: UUID) -> None:
    """Remove a picture that was uploaded and not sent; one that was sent is removed from its message."""
    async with runtime.database.write() as session:
        gone = delete(MessagePicture).where(
            MessagePicture.id == picture_id,
            MessagePicture.owner_id == viewer.user_id,
            MessagePicture.swipe_id.is_(None),
        )
        if (await session.scalars(gone.returning(MessagePicture.id))).one_or_none() is None:
            raise not_found(_("picture"))


def check_pictures(pictures: Sequence[PictureIn]) -> None:
    """Refuse more than a message may have."""
    if len(pictures) > MAX_PICTURES:
        raise Refused("too_long", _("A message has at most {limit} pictures. Remove some.", limit=MAX_PICTURES))


async def set_pictures(
    session: AsyncSession, runtime: Runtime, viewer: Viewer, swipe_id: UUID, pictures: Sequence[PictureIn]
) -> None:
    """Let a swipe have exactly these pictures, in this order.

    An uploaded picture becomes the swipe's own. One that was sent elsewhere meanwhile, from another window, is copied.
    """
    before = {row.id: row for row in (await pictures_of_swipes(session, [swipe_id]))[swipe_id]}
    new = [picture.id for picture in pictures if picture.id not in before]
    uploaded = {
        row.id: row
        for row in await session.scalars(
            select(MessagePicture).where(
                MessagePicture.id.in_(new),
                MessagePicture.owner_id == viewer.user_id,
                MessagePicture.kind == "attached",
            )
        )
    }
    wanted: list[MessagePicture] = []
    for picture in {picture.id: picture for picture in pictures}.values():
        row = before.get(picture.id) or uploaded.get(picture.id)
        if row is None:
            raise Refused("invalid", _("A picture of the message is not there any more. Remove it and add it again."))
        if row.swipe_id not in (None, swipe_id):
            row = _copy(row, runtime)
            session.add(row)
        row.swipe_id, row.position, row.title = swipe_id, len(wanted), _title(picture, row)
        wanted.append(row)
    kept = {row.id for row in wanted}
    for row in before.values():
        if row.id not in kept:
            await session.delete(row)
    await session.flush()


def are_changed(before: Sequence[MessagePicture], pictures: Sequence[PictureIn]) -> bool:
    """Whether a swipe that has the pictures `before` would get others by these, or others of their titles."""
    rows = {row.id: row for row in before}
    return [row.id for row in before] != [picture.id for picture in pictures] or any(
        _title(picture, rows[picture.id]) != rows[picture.id].title for picture in pictures
    )


def _title(picture: PictureIn, row: MessagePicture) -> str:
    return row.title if picture.title is None else titled(picture.title, "", limit=MAX_TITLE_CHARACTERS)


def _copy(row: MessagePicture, runtime: Runtime) -> MessagePicture:
    return MessagePicture(
        id=runtime.ids(),
        owner_id=row.owner_id,
        sha256=row.sha256,
        width=row.width,
        height=row.height,
        title=row.title,
        created_at=runtime.clock(),
    )


class Expression(Value, frozen=True, kw_only=True):
    """The emotion that a swipe shows, and the hash of the character's picture of it."""

    name: str
    sha256: str


async def set_expression(session: AsyncSession, runtime: Runtime, swipe_id: UUID, expression: Expression) -> None:
    """Let a swipe keep the face that goes with it, whatever becomes of the card; none if the file is gone by now."""
    known = select(Blob.sha256).where(Blob.sha256 == expression.sha256).with_for_update(read=True, key_share=True)
    if await session.scalar(known) is None:
        return
    session.add(
        MessagePicture(
            id=runtime.ids(),
            swipe_id=swipe_id,
            kind="expression",
            sha256=expression.sha256,
            width=0,
            height=0,
            title=expression.name[:MAX_TITLE_CHARACTERS],
            created_at=runtime.clock(),
        )
    )
    await session.flush()


class SentPicture(NamedTuple):
    """A picture of a message that models may be sent."""

    message_id: UUID
    role: str
    sha256: str
    media_type: str
    size: int
    width: int
    height: int
    title: str


async def newest_pictures(session: AsyncSession, conversation_id: UUID, *, until: int) -> list[SentPicture]:
    """The pictures of the messages that are for prompts, numbered up to `until`: those of the newest message first."""
    rows = await session.execute(
        select(
            Message.id,
            Message.role,
            MessagePicture.sha256,
            Blob.media_type,
            Blob.size,
            MessagePicture.width,
            MessagePicture.height,
            MessagePicture.title,
        )
        .join(Message, Message.active_swipe_id == MessagePicture.swipe_id)
        .join(Blob, Blob.sha256 == MessagePicture.sha256)
        .where(
            Message.conversation_id == conversation_id,
            Message.visibility == "normal",
            Message.seq <= until,
            MessagePicture.kind == "attached",
        )
        .order_by(Message.seq.desc(), MessagePicture.position, MessagePicture.id)
        .limit(MOST_READ)
    )
    return [SentPicture(*row) for row in rows]


async def picture_data(session: AsyncSession, names: Collection[str]) -> dict[str, bytes]:
    """The bytes of stored pictures, by their hashes."""
    return dict(iter(await session.execute(select(Blob.sha256, Blob.data).where(Blob.sha256.in_(names)))))


async def pictures_of_swipes(
    session: AsyncSession, swipe_ids: Collection[UUID | None], *, kinds: Sequence[str] = ("attached",)
) -> Mapping[UUID | None, list[MessagePicture]]:
    """The pictures of each of some swipes, in their order."""
    found: defaultdict[UUID | None, list[MessagePicture]] = defaultdict(list)
    rows = await session.scalars(
        select(MessagePicture)
        .where(MessagePicture.swipe_id.in_(swipe_ids), MessagePicture.kind.in_(kinds))
        .order_by(MessagePicture.position, MessagePicture.id)
    )
    for row in rows:
        found[row.swipe_id].append(row)
    return found


MOST_EMOTIONS = 200
EMOTION = "emotion"
"""The kind of the assets that show a character's emotions."""
_ENDING = re.compile(r"(\.(png|jpe?g|webp|gif|avif))?([-_. ]\d+)?$", re.IGNORECASE)


async def emotions_of(session: AsyncSession, character_id: UUID | None) -> dict[str, str]:
    """The emotions that a character has pictures of, by what they are called, and the hash of each picture."""
    rows = await session.execute(
        select(CharacterAsset.name, CharacterAsset.sha256)
        .where(CharacterAsset.character_id == character_id, CharacterAsset.kind == EMOTION)
        .order_by(CharacterAsset.name)
        .limit(MOST_EMOTIONS)
    )
    found: dict[str, str] = {}
    for name, sha256 in rows:
        found.setdefault(emotion_called(name), sha256)
    return found


def emotion_called(name: str) -> str:
    """What an emotion is called, whatever its file is: `Joy-2.png` is one of the pictures of joy."""
    return _ENDING.sub("", name.strip()).lower()
