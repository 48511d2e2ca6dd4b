"""What kinds, states and verdicts of an import are called."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.playground.base.languages import gettext as _

KINDS: Mapping[str, str] = {
    "character": _("Characters"),
    "chat": _("Chats"),
    "group": _("Groups"),
    "group_chat": _("Group chats"),
    "world": _("Lorebooks"),
    "persona_picture": _("Persona pictures"),
    "preset": _("Presets"),
    "quick_replies": _("Quick replies"),
    "settings": _("Settings"),
    "sprite": _("Expressions"),
    "chat_media": _("Chat pictures and files"),
    "background": _("Backgrounds"),
    "risuai_character": _("Characters"),
    "risuai_chat": _("Chats"),
    "risuai_module": _("Modules"),
    "risuai_preset": _("Presets"),
    "risuai_persona": _("Personas"),
    "risuai_root": _("Settings"),
    "risuai_asset": _("Pictures and assets"),
    "kept": _("Other files"),
    "derived": _("Caches and backups"),
    "extension": _("Extensions"),
    "secret": _("Secrets"),
}
"""In the order in which they are listed."""

BECOMES: Mapping[str, str] = {
    "character": _("characters"),
    "chat": _("conversations, branches and checkpoints"),
    "group": _("spaces with members"),
    "group_chat": _("conversations of these spaces"),
    "world": _("lorebooks"),
    "persona_picture": _("pictures of personas"),
    "preset": _("presets"),
    "quick_replies": _("quick replies"),
    "settings": _("personas, tags, links, scripts and settings"),
    "sprite": _("emotions of characters"),
    "chat_media": _("pictures of messages"),
    "background": _("backgrounds"),
    "risuai_character": _("characters and spaces"),
    "risuai_chat": _("conversations and branches"),
    "risuai_module": _("modules"),
    "risuai_preset": _("presets"),
    "risuai_persona": _("personas"),
    "risuai_root": _("settings, scripts and lorebooks"),
    "risuai_asset": _("pictures and assets of characters"),
    "kept": _("kept for export"),
    "derived": _("kept for export"),
    "extension": _("not imported: program code"),
    "secret": _("never read"),
}

NEVER_IMPORTED: frozenset[str] = frozenset({"extension", "secret"})

STATES: Mapping[str, str] = {
    "new": _("New"),
    "changed": _("Changed"),
    "same": _("Already here"),
    "duplicate": _("Duplicate"),
    "refused": _("Refused"),
}

VERDICTS: Mapping[str, str] = {
    "exact": _("Exact"),
    "converted": _("Converted"),
    "kept": _("Kept"),
    "unchanged": _("Unchanged"),
    "duplicate": _("Duplicate"),
    "skipped": _("Skipped"),
    "refused": _("Refused"),
}

MEANINGS: Mapping[str, str] = {
    "exact": _("Imported. An export writes the same bytes, as long as it is not changed here."),
    "converted": _("Imported in another form; the notes say how. The original is kept for export."),
    "kept": _("Not used here. Kept, and written back by an export."),
    "unchanged": _("Imported before, and not changed since."),
    "duplicate": _("The same content is already here."),
    "skipped": _("Left out by your choice."),
    "refused": _("Not imported; the notes say why and what to do."),
}

APPLICATIONS: Mapping[str, str] = {"sillytavern": "SillyTavern", "risuai": "RisuAI"}

EXPORT_VERDICTS: Mapping[str, str] = {
    "exact": _("Exact"),
    "converted": _("Converted"),
    "left_out": _("Left out"),
}

EXPORT_MEANINGS: Mapping[str, str] = {
    "exact": _("The bytes that were imported."),
    "converted": _("Written from what is here; the notes say what is different."),
    "left_out": _("Not exported; the notes say why."),
}
