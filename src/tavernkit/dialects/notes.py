"""Developer notes: what is told to the model beside the conversation, at a place in it that must be kept.

Providers know system, user and assistant. A note becomes a system message where it stands. Where a provider takes
system messages only at the beginning, a note further down is labelled and joined to the user's message beside it; it is
never moved up, since a note about the last message would then be about everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET

from tavernkit.dialects.speakers import prefix_once
from tavernkit.dialects.wire import WireMessage, join
from tavernkit.values import Value

NoteRole: TypeAlias = Literal["system", "folded_into_user", "user"]
NOTE_LABEL = "[Developer note]\n"
"""What stands before a note that is joined to the words of a user."""

DEVELOPER = "developer"


class NoteMapping(Value, frozen=True, kw_only=True):
    """What a developer note became: `index` is its place among the messages that were given."""

    index: int
    role: NoteRole


def map_notes(
    messages: Sequence[WireMessage], *, system_anywhere: bool
) -> tuple[list[WireMessage], tuple[NoteMapping, ...]]:
    """Give every developer note a role that providers know, and say which."""
    if not any(message.role == DEVELOPER for message in messages):
        return list(messages), ()
    mapped: list[WireMessage] = []
    mappings: list[NoteMapping] = []
    waiting: list[WireMessage] = []
    leading = True
    for index, message in enumerate(messages):
        leading = leading and message.role in ("system", DEVELOPER)
        if message.role != DEVELOPER:
            if waiting and message.role == "user":
                message = _behind_notes(waiting, message)
            else:
                mapped.extend(waiting)
            waiting = []
            mapped.append(message)
            continue
        role: NoteRole
        if system_anywhere or leading:
            role = "system"
            mapped.append(message.with_(role="system"))
        else:
            note = _labelled(message)
            follows_user = not waiting and mapped[-1].role == "user"
            role = "folded_into_user" if follows_user or _is_user_next(messages, index) else "user"
            if follows_user:
                mapped[-1] = mapped[-1].with_(content=join(mapped[-1].body, note.body))
            else:
                waiting.append(note)
        mappings.append(NoteMapping(index=index, role=role))
    mapped.extend(waiting)
    return mapped, tuple(mappings)


def _labelled(note: WireMessage) -> WireMessage:
    label = {"type": "text", "text": NOTE_LABEL.rstrip()}
    content = (label, *note.body) if isinstance(note.body, tuple) else NOTE_LABEL + (note.body or "")
    return note.with_(role="user", content=content, name=UNSET)


def _behind_notes(notes: Sequence[WireMessage], message: WireMessage) -> WireMessage:
    """A user's message with notes before it. The speaker is named first, or the notes would seem to be spoken too."""
    content = prefix_once(message.body, message.speaker) if message.speaker else message.body
    for note in reversed(notes):
        content = join(note.body, content)
    return message.with_(content=content, name=UNSET)


def _is_user_next(messages: Sequence[WireMessage], index: int) -> bool:
    following = (message.role for message in messages[index + 1 :] if message.role != DEVELOPER)
    return next(following, "") == "user"
