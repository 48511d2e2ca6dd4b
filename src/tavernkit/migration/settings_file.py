"""SillyTavern's settings.json: what means something elsewhere as typed values, and changes written back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from tavernkit.errors import ParseError
from tavernkit.migration.json_edit import JsonPath, edit_json
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern import AuthorsNote, CharacterNote, NotePlacement, PersonaPlace, PersonaPosition, UserSettings
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionPosition, extension_place, extension_role
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.sillytavern.regex_scripts import RegexScript
from tavernkit.sillytavern.regex_scripts.script import read_script
from tavernkit.sillytavern.settings import macro_engine
from tavernkit.sillytavern.world_info import WorldInfoSettings, read_settings
from tavernkit.values import Json, JsonObject, Value

_WHAT = "The settings file"
_DESCRIPTION_OF_OLD = 1


class SettingsPersonaConnection(Value, frozen=True, kw_only=True):
    """What selects a persona: a character by the file of its card, or a group by its id."""

    kind: Literal["character", "group"]
    id: str


class SettingsPersona(Value, frozen=True, kw_only=True):
    """A persona, by the file of its picture. `lorebook` is the name of a file of World Info."""

    file: str
    name: str = ""
    description: str = ""
    place: PersonaPlace = PersonaPlace()
    lorebook: str = ""
    title: str = ""
    connections: tuple[SettingsPersonaConnection, ...] = ()


class SettingsTag(Value, frozen=True, kw_only=True):
    """A tag. `is_folder` says that what has it is shown as one; `fields` is all that the file says."""

    id: str
    name: str
    is_folder: bool = False
    color: str = ""
    fields: JsonObject = {}


class QuickReplyChoice(Value, frozen=True, kw_only=True):
    """A set of quick replies in use."""

    name: str
    is_visible: bool = True


class DataBankFile(Value, frozen=True, kw_only=True):
    """A file of the user's data bank; the address is a path below the user's folder, with a slash before it."""

    url: str
    name: str = ""


ReferenceKind: TypeAlias = Literal[
    "character", "character_stem", "group", "world", "persona_picture", "preset", "quick_replies", "background", "file"
]


class SettingsReference(Value, frozen=True, kw_only=True):
    """Something in the settings that names another file: where it stands, what it names, and under which name. Of a
    preset, `detail` is the kind."""

    path: str
    kind: ReferenceKind
    name: str
    detail: str = ""


class UserSettingsFile(Value, frozen=True, kw_only=True):
    """What of settings.json has a counterpart elsewhere, or names another file.

    Characters are named by the file of their card (`Anna.png`), or by its stem in `extra_books` and `character_notes`.
    `tag_map` has the ids of tags by such a file or by the id of a group. `allowed_characters` and `allowed_presets` are
    those whose scripts the user has allowed to run there. `presets` are the selected ones by kind, `live` what is set
    beside them. What is None is not in the file. `references` are all names of other files.
    """

    version: str = ""
    user_name: str = ""
    user_avatar: str = ""
    main_api: str = ""
    macros: EngineName | None = None
    personas: tuple[SettingsPersona, ...] = ()
    default_persona: str = ""
    tags: tuple[SettingsTag, ...] = ()
    tag_map: Mapping[str, tuple[str, ...]] = {}
    world_info: WorldInfoSettings | None = None
    global_books: tuple[str, ...] = ()
    extra_books: Mapping[str, tuple[str, ...]] = {}
    regex_scripts: tuple[RegexScript, ...] = ()
    allowed_characters: tuple[str, ...] = ()
    allowed_presets: Mapping[str, tuple[str, ...]] = {}
    note: AuthorsNote | None = None
    character_notes: Mapping[str, CharacterNote] = {}
    quick_replies: tuple[QuickReplyChoice, ...] = ()
    character_quick_replies: Mapping[str, tuple[QuickReplyChoice, ...]] = {}
    variables: JsonObject = {}
    background: str = ""
    presets: Mapping[str, str] = {}
    live: UserSettings = UserSettings()
    attachments: tuple[DataBankFile, ...] = ()
    character_attachments: Mapping[str, tuple[DataBankFile, ...]] = {}
    disabled_attachments: tuple[str, ...] = ()
    connection_profiles: tuple[str, ...] = ()
    references: tuple[SettingsReference, ...] = ()
    report: ImportReport = ImportReport(format="settings")


def read_user_settings_file(data: bytes) -> UserSettingsFile:
    """Read settings.json; raises ParseError for what is none. A value that is damaged is left out, and noted."""
    document = parse_json(data, what=_WHAT)
    if not isinstance(document, dict) or not {"power_user", "main_api", "username"} & document.keys():
        raise ParseError("The file is not a settings.json of SillyTavern. Expected the one in the folder of its user.")
    report = ReportBuilder()
    source = LooseObject(document, report)
    power_user, extensions = source.nested("power_user"), source.nested("extension_settings")
    world_info = source.nested("world_info_settings")
    books = world_info.nested("world_info")
    quick_replies, note = extensions.nested("quickReplyV2"), extensions.nested("note")
    settings = UserSettingsFile(
        version=source.text("currentVersion"),
        user_name=source.text("username"),
        user_avatar=source.text("user_avatar"),
        main_api=source.text("main_api"),
        macros=macro_engine(source),
        personas=tuple(_personas(power_user)),
        default_persona=power_user.text("default_persona"),
        tags=tuple(_tag(tag) for tag in source.objects("tags")),
        tag_map=_texts_by_name(source.nested("tag_map")),
        world_info=read_settings(world_info) if world_info.source else None,
        global_books=_texts(books, "globalSelect"),
        extra_books={item.text("name"): _texts(item, "extraBooks") for item in books.objects("charLore")},
        regex_scripts=tuple(map(read_script, extensions.objects("regex"))),
        allowed_characters=_texts(extensions, "character_allowed_regex"),
        allowed_presets=_texts_by_name(extensions.nested("preset_allowed_regex")),
        note=read_note(note) if note.source else None,
        character_notes=read_character_notes(note),
        quick_replies=_quick_replies(quick_replies.nested("config")),
        character_quick_replies={
            avatar: _quick_replies(config) for avatar, config in _nested(quick_replies.nested("characterConfigs"))
        },
        variables=extensions.nested("variables").object("global"),
        background=source.nested("background").text("name"),
        presets=_presets(source, power_user),
        live=decode(UserSettings, power_user.source, report, power_user.path),
        attachments=_attachments(extensions, "attachments"),
        character_attachments=_character_attachments(extensions.nested("character_attachments")),
        disabled_attachments=_texts(extensions, "disabled_attachments"),
        connection_profiles=tuple(
            profile.text("name") for profile in extensions.nested("connectionManager").objects("profiles")
        ),
    )
    references = tuple(reference for reference in _references(settings, extensions) if reference.name)
    return settings.with_(references=references, report=report.build("settings"))


def merged_settings(original: bytes, changes: Mapping[JsonPath, Json]) -> bytes:
    """settings.json with other values at some paths, such as `("power_user", "personas", "sam.png")`, and every other
    byte as it was. `edit_json` says what becomes of what is missing there."""
    return edit_json(original, changes, what=_WHAT)


def read_note(source: LooseObject) -> AuthorsNote:
    """The author's note of new chats."""
    usual = AuthorsNote()
    return AuthorsNote(
        text=source.text("default"),
        position=extension_place(source.one_of("defaultPosition", tuple(ExtensionPosition), default=1)),
        depth=source.integer("defaultDepth", default=usual.depth),
        role=extension_role(source.one_of("defaultRole", range(len(ROLES)))),
        interval=source.integer("defaultInterval", default=usual.interval),
        scan=source.flag("allowWIScan"),
    )


def read_character_notes(source: LooseObject) -> dict[str, CharacterNote]:
    """The notes of characters that are in use, by the stem of the card's file."""
    notes: dict[str, CharacterNote] = {}
    for item in source.objects("chara"):
        place = item.one_of("position", tuple(NotePlacement))
        if item.flag("useChara"):
            notes[item.text("name")] = CharacterNote(
                text=item.text("prompt"),
                placement=NotePlacement(place) if place in set(NotePlacement) else NotePlacement.REPLACE,
            )
    return notes


def _personas(source: LooseObject) -> Iterator[SettingsPersona]:
    names, descriptions = source.nested("personas"), source.nested("persona_descriptions")
    for file in dict.fromkeys((*names.source, *descriptions.source)):
        fields = descriptions.nested(file)
        position = fields.one_of("position", (*PersonaPosition, _DESCRIPTION_OF_OLD))
        yield SettingsPersona(
            file=file,
            name=names.text(file),
            description=fields.text("description"),
            place=PersonaPlace(
                position=PersonaPosition(position) if position in set(PersonaPosition) else PersonaPosition.IN_PROMPT,
                depth=fields.integer("depth", default=PersonaPlace().depth),
                role=extension_role(fields.one_of("role", range(len(ROLES)))),
            ),
            lorebook=fields.text("lorebook"),
            title=fields.text("title"),
            connections=tuple(_connections(fields)),
        )


def _connections(source: LooseObject) -> Iterator[SettingsPersonaConnection]:
    for item in source.objects("connections"):
        match item.text("type"):
            case "character":
                yield SettingsPersonaConnection(kind="character", id=item.text("id"))
            case "group":
                yield SettingsPersonaConnection(kind="group", id=item.text("id"))
            case kind:
                source.report.broken(item.path, f"a connection of the unknown type {kind[:40]!r}")


def _tag(source: LooseObject) -> SettingsTag:
    return SettingsTag(
        id=source.text("id"),
        name=source.text("name"),
        is_folder=source.text("folder_type", default="NONE") not in ("NONE", ""),
        color=source.text("color"),
        fields=source.source,
    )


def _quick_replies(source: LooseObject) -> tuple[QuickReplyChoice, ...]:
    return tuple(
        QuickReplyChoice(name=item.text("set"), is_visible=item.flag("isVisible", default=True))
        for item in source.objects("setList")
    )


def _presets(source: LooseObject, power_user: LooseObject) -> dict[str, str]:
    selected = {
        "openai": source.nested("oai_settings").text("preset_settings_openai"),
        "textgenerationwebui": source.nested("textgenerationwebui_settings").text("preset"),
        "kobold": source.nested("kai_settings").text("preset_settings"),
        "novel": source.nested("nai_settings").text("preset_settings_novel"),
        "instruct": power_user.nested("instruct").text("preset"),
        "context": power_user.nested("context").text("preset"),
        "sysprompt": power_user.nested("sysprompt").text("name"),
        "reasoning": power_user.nested("reasoning").text("name"),
    }
    return {kind: name for kind, name in selected.items() if name}


def _attachments(source: LooseObject, key: str) -> tuple[DataBankFile, ...]:
    return tuple(DataBankFile(url=item.text("url"), name=item.text("name")) for item in source.objects(key))


def _character_attachments(source: LooseObject) -> dict[str, tuple[DataBankFile, ...]]:
    return {avatar: _attachments(source, avatar) for avatar in source.source}


def _texts(source: LooseObject, key: str) -> tuple[str, ...]:
    """The texts of a list; numbers are ids of old groups."""
    found: list[str] = []
    for place, item in enumerate(source.items(key)):
        if isinstance(item, str | int) and not isinstance(item, bool):
            found.append(str(item))
        else:
            source.report.broken(f"{source.at(key)}[{place}]", "expected a text")
    return tuple(found)


def _texts_by_name(source: LooseObject) -> dict[str, tuple[str, ...]]:
    return {name: _texts(source, name) for name in source.source}


def _nested(source: LooseObject) -> Iterator[tuple[str, LooseObject]]:
    for name in source.source:
        yield name, source.nested(name)


def _references(settings: UserSettingsFile, extensions: LooseObject) -> Iterator[SettingsReference]:
    """Every name of another file. Where a value says only in part what is there, the file itself is looked at."""
    yield _to("user_avatar", "persona_picture", settings.user_avatar)
    yield _to("power_user.default_persona", "persona_picture", settings.default_persona)
    for persona in settings.personas:
        at = f"power_user.persona_descriptions.{persona.file}"
        yield _to(f"power_user.personas.{persona.file}", "persona_picture", persona.file)
        yield _to(f"{at}.lorebook", "world", persona.lorebook)
        for place, connection in enumerate(persona.connections):
            yield _to(f"{at}.connections[{place}]", connection.kind, connection.id)
    for name in settings.tag_map:
        yield _to(f"tag_map.{name}", _character_or_group(name), name)
    for book in settings.global_books:
        yield _to("world_info_settings.world_info.globalSelect", "world", book)
    for stem, books in settings.extra_books.items():
        yield _to("world_info_settings.world_info.charLore", "character_stem", stem)
        for book in books:
            yield _to(f"world_info_settings.world_info.charLore.{stem}", "world", book)
    for kind, preset in settings.presets.items():
        yield _to("selected preset", "preset", preset, kind)
    yield _to("background", "background", settings.background)
    yield from _references_of_extensions(settings, extensions)


def _references_of_extensions(settings: UserSettingsFile, extensions: LooseObject) -> Iterator[SettingsReference]:
    at = extensions.path
    for avatar in settings.allowed_characters:
        yield _to(f"{at}.character_allowed_regex", "character", avatar)
    for kind, presets in settings.allowed_presets.items():
        for preset in presets:
            yield _to(f"{at}.preset_allowed_regex.{kind}", "preset", preset, kind)
    for stem in settings.character_notes:
        yield _to(f"{at}.note.chara", "character_stem", stem)
    for choice in settings.quick_replies:
        yield _to(f"{at}.quickReplyV2.config.setList", "quick_replies", choice.name)
    for avatar, choices in settings.character_quick_replies.items():
        yield _to(f"{at}.quickReplyV2.characterConfigs", "character", avatar)
        for choice in choices:
            yield _to(f"{at}.quickReplyV2.characterConfigs.{avatar}", "quick_replies", choice.name)
    for attachment in settings.attachments:
        yield _to(f"{at}.attachments", "file", attachment.url)
    for avatar, attachments in settings.character_attachments.items():
        yield _to(f"{at}.character_attachments", "character", avatar)
        for attachment in attachments:
            yield _to(f"{at}.character_attachments.{avatar}", "file", attachment.url)
    for url in settings.disabled_attachments:
        yield _to(f"{at}.disabled_attachments", "file", url)
    for avatar in extensions.nested("gallery").nested("folders").source:
        yield _to(f"{at}.gallery.folders", "character", avatar)
    for item in extensions.objects("expressionOverrides"):
        yield _to(f"{at}.expressionOverrides", "character_stem", item.text("name"))
    for stem in extensions.nested("sd").nested("character_prompts").source:
        yield _to(f"{at}.sd.character_prompts", "character_stem", stem)


def _to(path: str, kind: ReferenceKind, name: str, detail: str = "") -> SettingsReference:
    return SettingsReference(path=path, kind=kind, name=name, detail=detail)


def _character_or_group(name: str) -> ReferenceKind:
    """Ids of groups have no extension; files of cards do."""
    return "character" if name.lower().endswith((".png", ".webp")) else "group"
