"""Whose words are whose: the speakers of a file and the members of a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.playground.base.database.models import Character, Space, SpaceMembership
from tavernkit.playground.base.storable import titled

NOBODY = "Somebody"


class SpeakerFinder:
    """Finds the member who said something.

    What the user of a file says is the member's who brings the file in, unless another person in the space has that
    name. A speaker whom nobody knows becomes a member who has already left, so that the words keep an author; `new`
    are those that were made, and `home_id` is the space they are put into.
    """

    def __init__(
        self,
        space: Space,
        members: Sequence[tuple[SpaceMembership, Character | None]],
        *,
        home_id: UUID,
        own: SpaceMembership | None,
        user_name: str,
        ids: Callable[[], UUID],
        now: datetime,
    ) -> None:
        self.new: list[SpaceMembership] = []
        self._space = space
        self._home_id = home_id
        self._ids = ids
        self._now = now
        humans = [member for member, _ in members if member.kind == "human"]
        self._own = own or (humans[0] if humans else None)
        self._user_names = {user_name, "", "unused"}
        self._humans = {name: member for member in reversed(humans) for name in _names(member)}
        self._characters = {
            name: member
            for member, character in reversed(members)
            if member.kind == "character"
            for name in (*_names(member), *_names_of_card(character))
        }

    @classmethod
    def of_chat(
        cls,
        chat: ChatFile,
        space: Space,
        members: Sequence[tuple[SpaceMembership, Character | None]],
        *,
        own: SpaceMembership | None,
        ids: Callable[[], UUID],
        now: datetime,
        home_id: UUID | None = None,
    ) -> Self:
        """Those who speak in a chat of a file."""
        user_name = "" if chat.header is None else chat.header.user_name
        return cls(space, members, home_id=home_id or space.id, own=own, user_name=user_name, ids=ids, now=now)

    def who_said(self, message: ChatMessage) -> SpaceMembership:
        """The author of a message."""
        name = titled(message.name, NOBODY)
        if message.is_user:
            known = self._humans.get(name)
            if known is not None:
                return known
            is_own = self._space.kind == "playground" or message.name in self._user_names
            if self._own is not None and is_own:
                return self._own
        return self._characters.get(name) or self._anchor(name)

    def _anchor(self, name: str) -> SpaceMembership:
        member = SpaceMembership(
            id=self._ids(),
            space_id=self._home_id,
            kind="character",
            status="removed",
            participation="muted",
            cached_display_name=name,
            created_at=self._now,
            removed_at=self._now,
            removed_reason="Only here as the author of what an imported chat says.",
        )
        self.new.append(member)
        self._characters[name] = member
        return member


def _names(member: SpaceMembership) -> list[str]:
    return [name for name in (member.name_override, member.cached_display_name) if name]


def _names_of_card(character: Character | None) -> list[str]:
    if character is None:
        return []
    return [titled(name, NOBODY) for name in (character.name, character.nickname) if name]
