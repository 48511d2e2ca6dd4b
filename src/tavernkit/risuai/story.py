"""What RisuAI knows about a chat beside the character, the user, the history and the settings."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.macros.engine import MacroEngine
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.memory import Memory
from tavernkit.risuai.module import Module
from tavernkit.risuai.scene import Screen
from tavernkit.risuai.triggers import TriggerHost
from tavernkit.values import CheckedValue


class ReplyCleanup(CheckedValue, frozen=True, kw_only=True):
    """What is taken out of a reply before RisuAI's own steps, which take it as it is.

    Thoughts at its beginning stand between prefix and suffix. It ends where the user begins to speak, or one of
    `other_speakers`, and the character's own name goes. `joint` stands between a message and what continues it.
    """

    thoughts_prefix: str = ""
    thoughts_suffix: str = ""
    other_speakers: tuple[str, ...] = ()
    joint: str = ""


class Story(CheckedValue, frozen=True, kw_only=True):
    """One chat's circumstances; every field has RisuAI's own default.

    `character` stands in for the card that a build is given, with everything that only RisuAI's own files hold.
    `modules` are those that are switched on, in their order; `toggles` are switches by name, which become the global
    variables `toggle_<name>`. `greeting` counts the alternate greetings, -1 is the first message, and None says that
    the history begins with it already. `note` is the author's note of the chat, `lore` its own lorebook. `chat_id`
    decides what `{{pick}}` picks.

    `memory` sums up what no longer fits; without one, RisuAI's own switches decide whether the summary in
    `memory_state` is used or the oldest messages are dropped. `host` is asked for what triggers want of the
    application. `macros` is a CBS with functions of your own. `cleanup` is done to replies; without one, they are
    taken as they come.
    """

    character: RisuCharacter | None = None
    modules: tuple[Module, ...] = ()
    toggles: Mapping[str, str] = {}
    greeting: int | None = -1
    note: str = ""
    lore: tuple[LoreEntry, ...] = ()
    chat_id: str = ""
    memory: Memory | None = None
    memory_state: str = ""
    host: TriggerHost | None = None
    screen: Screen = Screen()
    macros: MacroEngine | None = None
    cleanup: ReplyCleanup | None = None
