"""The author's note: when it is due, what it says, and what else appears with it."""

from __future__ import annotations

from enum import IntEnum

from tavernkit.sillytavern.extension_prompts import ExtensionPlace, ExtensionRole
from tavernkit.values import Value, check_choice


class AuthorsNote(Value, frozen=True, kw_only=True):
    """A note of the chat. Every `interval` messages of the user it is put into the prompt; 0 is never.

    World Info may look for its keys in it when `scan` is set.
    """

    text: str = ""
    position: ExtensionPlace = "chat"
    depth: int = 4
    role: ExtensionRole = "system"
    interval: int = 1
    scan: bool = False

    def __post_init__(self) -> None:
        check_choice("The position of an author's note", self.position, ExtensionPlace)
        check_choice("The role of an author's note", self.role, ExtensionRole)


class NotePlacement(IntEnum):
    """Where a character's own note stands against the chat's."""

    REPLACE = 0
    BEFORE = 1
    AFTER = 2


class CharacterNote(Value, frozen=True, kw_only=True):
    """The note that one character brings along."""

    text: str
    placement: NotePlacement = NotePlacement.REPLACE


def is_due(note: AuthorsNote, user_messages: int) -> bool:
    """Whether this turn carries the note, and with it the World Info and the persona that stand around it."""
    if note.interval == 1:
        return True
    return user_messages > 0 and note.interval > 0 and user_messages % note.interval == 0


def note_text(note: AuthorsNote, character_note: CharacterNote | None) -> str:
    """The chat's note with the character's own beside it or in its place."""
    if character_note is None:
        return note.text
    match character_note.placement:
        case NotePlacement.BEFORE:
            return f"{character_note.text}\n{note.text}"
        case NotePlacement.AFTER:
            return f"{note.text}\n{character_note.text}"
        case NotePlacement.REPLACE:
            return character_note.text
