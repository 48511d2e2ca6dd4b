"""Reading bytes: only those that belong to something the person may see.

One may see the pictures and files of the characters that one may use, the pictures of one's own
personas, and those of the characters and personas in a space, or in a conversation of it, that one owns or is an active
member of. Pictures of messages are for those who may read the conversation, and for who has uploaded them; backgrounds
for those who may read anything in the space.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterAsset,
    Conversation,
    Message,
    MessagePicture,
    MessageSwipe,
    Persona,
    PersonaConnection,
    Space,
    SpaceMembership,
)
from tavernkit.playground.story.access.access import is_usable


async def find_blob(session: AsyncSession, sha256: str, viewer: Viewer) -> Blob | None:
    """The bytes of that name, if there is something this person may see that refers to them."""
    characters = visible_characters(viewer)
    refers = or_(
        exists().where(
            or_(Character.avatar_sha256 == sha256, Character.thumbnail_sha256 == sha256), Character.id.in_(characters)
        ),
        exists().where(CharacterAsset.sha256 == sha256, CharacterAsset.character_id.in_(characters)),
        exists().where(
            Persona.avatar_sha256 == sha256,
            or_(
                Persona.owner_id == viewer.user_id,
                Persona.id.in_(_personas(viewer)),
                Persona.id.in_(_locked_personas(viewer)),
            ),
        ),
        _message_picture(sha256, viewer),
        exists().where(
            Space.background_sha256 == sha256,
            Space.status != "deleting",
            or_(
                _belongs_to_space(viewer),
                exists().where(
                    Conversation.space_id == Space.id,
                    Conversation.visibility == "public",
                    Conversation.status != "deleting",
                ),
            ),
        ),
    )
    found: Blob | None = await session.scalar(select(Blob).where(Blob.sha256 == sha256, refers))
    return found


def visible_characters(viewer: Viewer) -> Select[UUID]:
    """The ids of the characters whose pictures this person may see."""
    member = SpaceMembership
    together = exists().where(member.character_id == Character.id, _shares_space(viewer))
    return select(Character.id).where(or_(is_usable(Character, viewer.user_id), together))


def _personas(viewer: Viewer) -> Select[UUID | None]:
    return select(SpaceMembership.persona_id).where(SpaceMembership.persona_id.is_not(None), _shares_space(viewer))


def _message_picture(sha256: str, viewer: Viewer) -> ColumnElement[bool]:
    own = and_(MessagePicture.swipe_id.is_(None), MessagePicture.owner_id == viewer.user_id)
    administers = or_(Space.owner_id == viewer.user_id, literal(viewer.is_administrator))
    is_shown = and_(Conversation.visibility != "private", _is_member(viewer))
    may_read = or_(Conversation.visibility == "public", administers, is_shown)
    readable = exists().where(
        MessageSwipe.id == MessagePicture.swipe_id,
        Message.id == MessageSwipe.message_id,
        Conversation.id == Message.conversation_id,
        Space.id == Conversation.space_id,
        Space.status != "deleting",
        Conversation.status != "deleting",
        may_read,
    )
    return exists().where(MessagePicture.sha256 == sha256, or_(own, readable))


def _locked_personas(viewer: Viewer) -> Select[UUID]:
    """Those that somebody is in a single conversation."""
    return (
        select(PersonaConnection.persona_id)
        .join(Conversation, Conversation.id == PersonaConnection.conversation_id)
        .join(SpaceMembership, SpaceMembership.space_id == Conversation.space_id)
        .where(
            Conversation.status != "deleting",
            SpaceMembership.user_id == PersonaConnection.owner_id,
            _shares_space(viewer),
        )
    )


def _shares_space(viewer: Viewer) -> ColumnElement[bool]:
    """True of memberships in spaces that this person owns or is in."""
    return exists().where(
        and_(
            Space.id == SpaceMembership.space_id,
            Space.status != "deleting",
            or_(Space.owner_id == viewer.user_id, _is_member(viewer)),
        )
    )


def _belongs_to_space(viewer: Viewer) -> ColumnElement[bool]:
    return or_(Space.owner_id == viewer.user_id, literal(viewer.is_administrator), _is_member(viewer))


def _is_member(viewer: Viewer) -> ColumnElement[bool]:
    """True of spaces that this person takes part in."""
    own = aliased(SpaceMembership)
    return exists().where(own.space_id == Space.id, own.user_id == viewer.user_id, own.status == "active")
