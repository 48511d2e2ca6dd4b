"""Importing RisuAI's backups: which code imports which part."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.migration.files import FileKind
from tavernkit.playground.story.migration.items import ItemHandler
from tavernkit.playground.story.migration.risuai_characters import RisuCharacterHandler
from tavernkit.playground.story.migration.risuai_chats import RisuChatHandler
from tavernkit.playground.story.migration.risuai_library import (
    AssetHandler,
    PersonaHandler,
    RisuPresetHandler,
    RootHandler,
)

HANDLERS: Mapping[FileKind, ItemHandler] = {
    "risuai_root": RootHandler(),
    "risuai_asset": AssetHandler(),
    "risuai_module": RisuPresetHandler(),
    "risuai_preset": RisuPresetHandler(),
    "risuai_persona": PersonaHandler(),
    "risuai_character": RisuCharacterHandler(),
    "risuai_chat": RisuChatHandler(),
}
