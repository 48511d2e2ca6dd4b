"""What SillyTavern knows about a chat beside the character, the user, the history and the preset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from enum import IntEnum

from tavernkit.lore.book import Book
from tavernkit.prompt.parts import joined
from tavernkit.sillytavern.extension_prompts import ExtensionPlace, ExtensionPrompt, ExtensionRole
from tavernkit.sillytavern.groups import StoryGroup
from tavernkit.sillytavern.layout import Layout, LayoutState
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.world_info import SHIPPED_SETTINGS, TimedState, WorldInfoSettings
from tavernkit.values import CheckedValue, check_choice


class AuthorsNote(CheckedValue, frozen=True, kw_only=True):
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
        super().__post_init__()
        check_choice("The position of an author's note", self.position, ExtensionPlace)
        check_choice("The role of an author's note", self.role, ExtensionRole)


class NotePlacement(IntEnum):
    """Where a character's own note stands against the chat's."""

    REPLACE = 0
    BEFORE = 1
    AFTER = 2


class CharacterNote(CheckedValue, frozen=True, kw_only=True):
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
            return joined("\n", (character_note.text, note.text))
        case NotePlacement.AFTER:
            return joined("\n", (note.text, character_note.text))
        case NotePlacement.REPLACE:
            return character_note.text


class PersonaPosition(IntEnum):
    """The five places, with the numbers that files give them."""

    IN_PROMPT = 0
    TOP_OF_NOTE = 2
    BOTTOM_OF_NOTE = 3
    AT_DEPTH = 4
    NONE = 9


class PersonaPlace(CheckedValue, frozen=True, kw_only=True):
    """Around the author's note the persona is there only when the note is due; depth and role are for `AT_DEPTH`."""

    position: PersonaPosition = PersonaPosition.IN_PROMPT
    depth: int = 2
    role: ExtensionRole = "system"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("The role of a persona", self.role, ExtensionRole)


class QuietPrompt(CheckedValue, frozen=True, kw_only=True):
    """An instruction behind everything else, for a generation of the type `quiet`.

    In a text prompt `loud` asks for an answer in the character's voice; `name` is whose words they shall be.
    `skip_depth_lore` leaves out the World Info that would stand in the chat.
    """

    text: str
    loud: bool = False
    name: str = ""
    skip_depth_lore: bool = False


class BiasEntry(CheckedValue, frozen=True, kw_only=True):
    """One line of a logit-bias preset: a text, or token numbers as `[1, 2]`, and how likely they shall be."""

    text: str
    value: float


class Story(CheckedValue, frozen=True, kw_only=True):
    """One chat's circumstances; every field has SillyTavern's own default.

    `books` of a build are the global ones; those that belong to the character, the chat or the persona stand here. The
    card's own book is always one of the character's. `timed` is what the last build's lore result gave back. In a
    group, `speaker` is the avatar of the member who answers; the build's character is that member. `scenario`,
    `examples` and `system_prompt` stand in for the card's. `chat_id` decides what `{{pick}}` picks. `character_file` is
    the card's file name without its ending, and `character_tags` are the tags the user has given the character; lore
    can be limited to both. One of `instruct_templates` takes the place of the settings' own when its activation pattern
    is found in the name of the model.
    With the `layout` `stable`, what changes stands behind the chat; with `freeze_lore`, an entry stays in the chat
    where it was first activated. `layout_state` is what the last build's result gave back.
    """

    settings: UserSettings = UserSettings()
    world_info: WorldInfoSettings = SHIPPED_SETTINGS
    macros: EngineName = "1.19"
    persona: PersonaPlace = PersonaPlace()
    note: AuthorsNote = AuthorsNote()
    character_note: CharacterNote | None = None
    group: StoryGroup | None = None
    speaker: str | None = None
    character_books: tuple[Book, ...] = ()
    chat_books: tuple[Book, ...] = ()
    persona_books: tuple[Book, ...] = ()
    timed: TimedState = TimedState()
    forced_lore: frozenset[str] = frozenset()
    extension_prompts: tuple[ExtensionPrompt, ...] = ()
    regex_scripts: RegexScripts = RegexScripts()
    instruct_templates: tuple[Instruct, ...] = ()
    quiet: QuietPrompt | None = None
    scenario: str = ""
    examples: str = ""
    system_prompt: str = ""
    bias_presets: Mapping[str, tuple[BiasEntry, ...]] = {}
    character_file: str | None = None
    character_tags: tuple[str, ...] = ()
    layout: Layout = "sillytavern"
    freeze_lore: bool = False
    layout_state: LayoutState = LayoutState()
    chat_id: str = ""
    zone: tzinfo = UTC
    locale: str = "en-US"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("The macro engine of a story", self.macros, EngineName)
        check_choice("The layout of a story", self.layout, Layout)

    @property
    def is_stable(self) -> bool:
        """Whether the beginning of the prompt is to stay from turn to turn."""
        return self.layout == "stable"
