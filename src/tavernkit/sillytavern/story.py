"""What SillyTavern knows about a chat beside the character, the user, the history and the preset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo

from tavernkit.lore.book import Book
from tavernkit.sillytavern.authors_note import AuthorsNote, CharacterNote
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.groups import StoryGroup
from tavernkit.sillytavern.macros.selection import EngineName
from tavernkit.sillytavern.persona import PersonaPlace
from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.world_info import SHIPPED_SETTINGS, TimedState, WorldInfoSettings
from tavernkit.values import Value


class QuietPrompt(Value, frozen=True, kw_only=True):
    """An instruction behind everything else, for a generation of the type `quiet`.

    In a text prompt `loud` asks for an answer in the character's voice; `name` is whose words they shall be.
    `skip_depth_lore` leaves out the World Info that would stand in the chat.
    """

    text: str
    loud: bool = False
    name: str = ""
    skip_depth_lore: bool = False


class BiasEntry(Value, frozen=True, kw_only=True):
    """One line of a logit-bias preset: a text, or token numbers as `[1, 2]`, and how likely they shall be."""

    text: str
    value: float


class Story(Value, frozen=True, kw_only=True):
    """One chat's circumstances; every field has SillyTavern's own default.

    `books` of a build are the global ones; those that belong to the character, the chat or the persona stand here. The
    card's own book is always one of the character's. `timed` is what the last build's lore result gave back. In a
    group, `speaker` is the avatar of the member who answers; the build's character is that member. `scenario`,
    `examples` and `system_prompt` stand in for the card's. `chat_id` decides what `{{pick}}` picks. `character_file` is
    the card's file name without its ending, and `character_tags` are the tags the user has given the character; lore
    can be limited to both. One of `instruct_templates` takes the place of the settings' own when its activation pattern
    is found in the name of the model.
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
    chat_id: str = ""
    zone: tzinfo = UTC
    locale: str = "en-US"
