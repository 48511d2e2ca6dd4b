"""SillyTavern's settings file: what its user has set for all chats."""

from __future__ import annotations

from pathlib import Path

from tavernkit.cli.errors import about, display_name
from tavernkit.cli.files import read_input
from tavernkit.errors import ParseError
from tavernkit.migration.settings_file import read_character_notes, read_note
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern import (
    BiasEntry,
    CharacterNote,
    PersonaPlace,
    PersonaPosition,
    Story,
    UserSettings,
)
from tavernkit.sillytavern.extension_prompts import ROLES, extension_role
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.regex_scripts.script import read_script
from tavernkit.sillytavern.settings import macro_engine
from tavernkit.sillytavern.world_info import SHIPPED_SETTINGS, read_settings
from tavernkit.values import Json, Value

TEXT_SETTINGS = {
    "textgenerationwebui": "textgenerationwebui_settings",
    "kobold": "kai_settings",
    "koboldhorde": "kai_settings",
    "novel": "nai_settings",
}
"""Where the settings of each `main_api` for text completion are."""


class SettingsFile(Value, frozen=True, kw_only=True):
    """The story that the settings alone make, and the preset in use, None where the file does not say.

    `character_notes` are the notes that the user has written for characters, by the name of the card's file.
    """

    story: Story = Story()
    user_name: str = ""
    persona: str = ""
    persona_book: str = ""
    preset: ChatPreset | TextPreset | None = None
    character_notes: dict[str, CharacterNote] = {}
    variables: dict[str, Json] = {}
    report: ImportReport = ImportReport(format="settings")


def read_settings_file(file: Path) -> SettingsFile:
    """Read settings.json, or a file that holds its `power_user` object alone."""
    data = read_input(file)
    report = ReportBuilder()
    with about(file):
        match parse_json(data, what="The settings file"):
            case dict() as document if isinstance(document.get("power_user"), dict):
                settings = _whole(LooseObject(document, report))
            case dict() as document if document.keys() & set(UserSettings.__struct_fields__):
                settings = _power_user(LooseObject(document, report))
            case _:
                raise ParseError(
                    "This is not a settings file of SillyTavern. Use its settings.json, or a file with its power_user"
                    " object."
                )
    return settings.with_(report=report.build("settings", file=display_name(file)))


def _power_user(source: LooseObject) -> SettingsFile:
    place = source.one_of("persona_description_position", tuple(PersonaPosition))
    return SettingsFile(
        story=Story(
            settings=decode(UserSettings, source.source, source.report, source.path),
            persona=PersonaPlace(
                position=PersonaPosition(place) if place in set(PersonaPosition) else PersonaPosition.IN_PROMPT,
                depth=source.integer("persona_description_depth", default=PersonaPlace().depth),
                role=extension_role(source.one_of("persona_description_role", range(len(ROLES)))),
            ),
        ),
        persona=source.text("persona_description"),
        persona_book=source.text("persona_description_lorebook"),
    )


def _whole(source: LooseObject) -> SettingsFile:
    settings = _power_user(source.nested("power_user"))
    extensions = source.nested("extension_settings")
    note = extensions.nested("note")
    lore = source.nested("world_info_settings")
    return settings.with_(
        story=settings.story.with_(
            world_info=read_settings(lore) if lore.source else SHIPPED_SETTINGS,
            note=read_note(note),
            regex_scripts=RegexScripts(global_=tuple(map(read_script, extensions.objects("regex")))),
            bias_presets=_bias_presets(source.nested("oai_settings").nested("bias_presets")),
            macros=macro_engine(source) or settings.story.macros,
        ),
        user_name=source.text("username"),
        preset=_preset(source),
        character_notes=read_character_notes(note),
        variables=extensions.nested("variables").object("global"),
    )


def _bias_presets(source: LooseObject) -> dict[str, tuple[BiasEntry, ...]]:
    return {
        name: tuple(BiasEntry(text=item.text("text"), value=item.number("value")) for item in source.objects(name))
        for name in source.source
    }


def _preset(source: LooseObject) -> ChatPreset | TextPreset | None:
    """The preset that the application is set to, None where the file does not say."""
    api = source.text("main_api", default="openai")
    if api in TEXT_SETTINGS:
        fields = source.nested(TEXT_SETTINGS[api])
        text = decode(TextPreset, fields.source, source.report, fields.path)
        return text.with_(
            genamt=source.optional_integer("amount_gen"), max_length=source.optional_integer("max_context")
        )
    if api != "openai":
        source.report.broken("main_api", f"{api[:40]!r} is unknown: read as chat completion")
    if not source.has("oai_settings"):
        return None
    return decode(ChatPreset, source.object("oai_settings"), source.report, "oai_settings")
